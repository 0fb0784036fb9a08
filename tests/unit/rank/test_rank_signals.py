"""The signals of a candidate, without any index."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.rank import signals
from findspot.rank.candidate_pool import SIGNALS, Candidate, Pool, add_coherence, fuse, spread_files
from findspot.rank.roles import Role
from findspot.rank.signals import coverage

scores = st.dictionaries(st.integers(0, 30), st.floats(-5, 50), max_size=20)


def pool(*candidates: Candidate) -> Pool:
    rows = sorted(candidates, key=lambda candidate: (candidate.file_id, candidate.number))
    numbers, files = (np.array([getattr(r, name) for r in rows], np.int64) for name in ("number", "file_id"))
    made = Pool(numbers, files, {each.file_id: each.path for each in rows})
    for name in SIGNALS:
        getattr(made, name)[:] = [getattr(each, name) for each in rows]
    return made


def found(words: dict[int, float], meaning: dict[int, float]) -> Pool:
    """Return a pool of what search found."""
    numbers = sorted(words.keys() | meaning.keys())
    return pool(*(one(n, words=words.get(n, nan), cosine=meaning.get(n, nan)) for n in numbers))


def by_number(pool: Pool) -> dict[int, Candidate]:
    ranking = pool.ranked()
    return {each.number: each for each in ranking.candidates(range(len(ranking.numbers)))}


def one(number: int, file_id: int = 1, path: str = "a.py", **signal: float) -> Candidate:
    return Candidate(number, file_id, path, **signal)


class TestFusion:
    @given(scores, scores, st.floats(0, 1))
    def test_scores_are_scaled_and_mixed_within_0_and_1(
        self, keyword: dict[int, float], semantic: dict[int, float], weight: float
    ) -> None:
        keyword = {number: abs(score) for number, score in keyword.items()}
        candidates = found(keyword, semantic)
        fuse(candidates, weight)
        for candidate in by_number(candidates).values():
            assert -1e-9 <= candidate.keyword <= 1 + 1e-9
            assert -1e-9 <= candidate.semantic <= 1 + 1e-9
            assert -1e-9 <= candidate.fused <= 1 + 1e-9

    @given(scores)
    def test_scaling_keeps_the_order(self, semantic: dict[int, float]) -> None:
        candidates = found({}, semantic)
        fuse(candidates, 1.0)
        by_score = sorted(semantic, key=lambda n: semantic[n])
        scaled = [by_number(candidates)[n].semantic for n in by_score]
        assert scaled == sorted(scaled)

    def test_the_weight_decides_between_words_and_meaning(self) -> None:
        for weight, better in ((0.0, 1), (1.0, 2)):
            candidates = found({1: 9.0, 2: 1.0}, {1: 0.1, 2: 0.9})
            fuse(candidates, weight)
            assert candidates.ranked().numbers[0] == better
        candidates = found({1: 3.0}, {2: nan})
        fuse(candidates, 0.5)
        assert candidates.fused.tolist() == [0.5, 0], "what one side did not find counts nothing there"


class TestDefinitions:
    def test_what_a_name_usually_means_counts_most(self) -> None:
        for kind, qualified, names in (
            ("class", "Tokenizer", ["Tokenizer"]),
            ("function", "load", ["load", "Store"]),
            ("method", "Store.load", ["load"]),
            ("method", "ns::load", ["load"]),
        ):
            assert signals.definition_worth(kind, qualified, names) == 1.0
        assert signals.definition_worth("class", "tokenizer", ["Tokenizer"]) == signals.OTHER_CASE
        assert signals.definition_worth("class", "reload", ["load"]) < 1
        for kind, worth in {"class": 1.0, "constant": 0.7, "constructor": 0.7, "property": 0.5,
                            "extension": 0.5, "test": 0.5, "field": 0.4, "impl": 0.4}.items():  # fmt: skip
            assert signals.definition_worth(kind, "Load", ["Load"]) == worth
            assert signals.definition_worth(kind, "load", ["Load"]) == pytest.approx(0.6 * worth)
        for kind in (*signals.KIND_WORTH, "class", "anything"):
            other_case, same = (signals.definition_worth(kind, name, ["X"]) for name in "xX")
            assert 0 < other_case < same <= 1

    @pytest.mark.parametrize("stem", ["CartStore", "cartStore", "cart_store", "cart-store", "cartstore"])
    def test_a_file_named_after_something(self, stem: str) -> None:
        assert signals.same_name(stem, "cartstore")
        assert not signals.same_name(stem, "cart")


class TestPaths:
    def test_the_share_of_a_path_and_of_a_heading(self) -> None:
        for query, name, folder, share in (
            ("pricing", "pricing", "orders", 1.0),
            ("orders", "pricing", "orders", 0.5),
            ("nothing", "pricing", "orders", 0.0),
            ("pricing rules", "pricing", "orders", 0.75),
            ("pricing", "pricing rules", "", 0.75),
            ("orders pricing", "pricing rules", "orders", 0.75),
            ("", "a", "b", 0.0),
            ("a", "", "b", 0.0),
        ):
            assert signals.path_share(query.split(), name.split(), folder.split()) == share
        assert signals.heading_share(["pool"], ["connection", "pool"]) == 1.0
        assert signals.heading_share(["pool", "size"], ["connection", "pool"]) == 0.5
        assert signals.heading_share([], ["a"]) == signals.heading_share(["a"], []) == 0.0

    words = st.text("abcdefg", min_size=1, max_size=9)

    @given(st.lists(words, max_size=5), st.lists(words, max_size=3), st.lists(words, max_size=3))
    def test_shares_are_between_0_and_1(self, query: list[str], name: list[str], folder: list[str]) -> None:
        assert 0 <= signals.path_share(query, name, folder) <= 1
        assert 0 <= signals.heading_share(query, name) <= 1

    @pytest.mark.parametrize(
        ("word", "other", "likeness"),
        [
            ("checks", "checker", 5 / 7), ("validates", "validator", 7 / 9), ("pass", "passwords", 4 / 9),
            ("abc", "abcdefgh", 3 / 8), ("tested", "tester", 5 / 6), ("cards", "cardo", 4 / 5),
            ("same", "same", 1), ("content", "contact", 0), ("ab", "abc", 0), ("cart", "card", 0),
            ("stores", "storage", 0),
        ],
    )  # fmt: skip
    def test_words_of_one_family_are_alike(self, word: str, other: str, likeness: float) -> None:
        assert signals.heading_share([word], [other]) == pytest.approx(likeness)
        assert signals.heading_share([other], [word]) == pytest.approx(likeness)

    @given(words, words)
    def test_likeness_is_symmetric(self, word: str, other: str) -> None:
        assert signals.heading_share([word], [other]) == signals.heading_share([other], [word])


class TestFiles:
    def test_coherence_lifts_only_the_best_chunk_of_a_file(self) -> None:
        """It counts the three next chunks, and has a limit."""
        candidates = pool(one(1, fused=0.9), one(2, fused=0.5), one(3, fused=0.4), one(9, 2, fused=0.9))
        add_coherence(candidates)
        lifted = {n: c.coherence for n, c in by_number(candidates).items() if c.coherence}
        assert lifted == {1: pytest.approx(signals.COHERENCE * 0.6)}
        for fused, coherence in ((0.3, 0.06), (1.0, signals.COHERENCE)):
            candidates = pool(*(one(number, fused=fused) for number in range(50)))
            add_coherence(candidates)
            assert candidates.coherence.tolist() == pytest.approx([coherence] + [0.0] * 49)
        assert signals.COHERENCE == 0.1

    def test_further_chunks_of_a_file_count_less(self) -> None:
        candidates = pool(
            one(1, fused=0.5), one(2, fused=0.9), one(3, fused=0.7), one(9, 2, "b.py", fused=0.6)
        )
        spread_files(candidates)
        decay = 0.8
        assert [by_number(candidates)[n].repeat for n in (2, 3, 1, 9)] == [1, decay, decay**2, 1]
        assert candidates.ranked().numbers == [2, 9, 3, 1]

    def test_ties_break_by_path_then_place(self) -> None:
        candidates = pool(one(7, 2, "b.py"), one(3, 1, "a.py"), one(2, 1, "a.py"))
        assert candidates.ranked().numbers == [2, 3, 7]

    def test_the_role_scales_everything_else(self) -> None:
        assert pool(one(1, fused=0.5, defines=0.5, role=0.5)).score.tolist() == [0.5]

        factors = {Role.SOURCE: 1.0, Role.DECLARATION: 0.7}
        factors |= dict.fromkeys((Role.DATA, Role.TRANSLATION, Role.CHANGELOG), 0.4)
        assert {role: factors.get(role, 0.5) for role in Role} == signals.ROLE_FACTOR

    def test_every_signal_raises_the_score_by_itself(self) -> None:
        names = ("fused", "defines", "stem", "path_match", "mention", "wording", "coherence")
        assert [pool(one(1, **{name: 0.25})).score.tolist() for name in names] == [[0.25]] * 7
        assert pool(one(1, **dict.fromkeys(names, 0.25), role=0.5, repeat=0.5)).score.tolist() == [0.4375]
        assert pool(one(1)).score.tolist() == [0]

    def test_why_names_only_what_had_a_say(self) -> None:
        why = {"keyword": 0.25, "fused": 0.1, "roleFactor": 0.5, "placeFactor": 1.0, "sameFileFactor": 1.0}
        assert one(1, keyword=0.25, fused=0.1, role=0.5).why() == why
        assert one(1, semantic=0.123456).why()["semantic"] == 0.1235


class TestCoverage:
    def test_it_is_by_weight(self) -> None:
        weights = {"rare": 3.0, "common": 1.0}
        assert coverage(weights, {"rare"}) == 0.75
        assert coverage(weights, {"common", "other"}) == 0.25
        assert coverage({}, {"x"}) == 0.0
        assert coverage({"x": 0.0}, {"x"}) == 0.0
