"""Modes, weights, paging, likeness and explanations, over the indexed fixture."""

from __future__ import annotations

import itertools

import pytest

from findspot import Query
from findspot.core.errors import FileNotIndexedError, InvalidArgumentError
from findspot.core.model import Corpus, Mode
from shop_project import FILES, hits, paths, shop

QUERIES = ["verify_password", "how are passwords hashed", "retry after a time-out", "order"]


@pytest.mark.parametrize("text", QUERIES)
def test_weight_zero_is_keyword_and_one_is_semantic(text: str) -> None:
    assert hits(text, semantic_weight=0.0) == hits(text, mode=Mode.KEYWORD)
    assert hits(text, semantic_weight=1.0) == hits(text, mode=Mode.SEMANTIC)
    assert hits(text, mode=Mode.KEYWORD, semantic_weight=0.9) == hits(text, mode=Mode.KEYWORD)


def test_keyword_finds_only_what_holds_a_word_and_semantic_what_holds_none() -> None:
    assert hits("zzqxy", mode=Mode.KEYWORD) == ()
    assert len(hits("zzqxy", mode=Mode.SEMANTIC)) <= 10
    assert paths("credentials", mode=Mode.KEYWORD)[0] in (
        "service/auth/login.py",
        "web/src/api/client.ts",
    )


@pytest.mark.parametrize("mode", list(Mode))
def test_the_answer_says_its_mode_and_query(mode: Mode) -> None:
    results = shop().search(Query("order", mode=mode))
    assert (results.mode, results.query) == (mode, "order")
    assert results.elapsed_ms > 0


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("corpus", list(Corpus))
def test_the_same_query_gives_the_same_answer(text: str, corpus: Corpus) -> None:
    once, again = (shop().search(Query(text, corpus=corpus, explain=True)) for _ in range(2))
    assert (once.hits, once.total, once.warning) == (again.hits, again.total, again.warning)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("text", QUERIES)
def test_total_counts_what_paging_gives(mode: Mode, text: str) -> None:
    total = shop().search(Query(text, mode=mode)).total
    everything = hits(text, mode=mode, limit=10_000)
    assert len(everything) == total
    assert hits(text, mode=mode, offset=total) == ()
    assert len({(hit.path, hit.span) for hit in everything}) == total


@pytest.mark.parametrize("text", QUERIES)
def test_scores_fall_and_stay_within_0_and_1(text: str) -> None:
    scores = [hit.score for hit in hits(text, limit=100)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_hit_is_exactly_its_lines() -> None:
    for hit in itertools.chain(hits("order", limit=100), hits("order", limit=100, corpus=Corpus.DOCS)):
        lines = (FILES / hit.path).read_text().split("\n")
        assert hit.text == "\n".join(lines[hit.span.start - 1 : hit.span.end])
        assert hit.focus is not None
        assert hit.span.start <= hit.focus <= hit.span.end


def test_the_copy_of_a_file_is_shown_once() -> None:
    found = paths("charge a card through the payment provider", limit=100)
    assert "service/payment/gateway.py" in found
    assert "legacy/payment_gateway.py" not in found


def test_explain_names_signals_and_evidence() -> None:
    (first, *_) = hits("verify_password", explain=True)
    assert first.why
    assert first.why["definition"] == 1.0
    assert {"keyword", "semantic", "fused", "roleFactor", "words", "cosine", "lead"} <= set(first.why)
    assert hits("verify_password")[0].why is None


class TestSimilar:
    def test_more_like_a_passage_without_the_passage(self) -> None:
        found = hits("", similar_to="service/orders/cart.py:22-28")
        assert found
        assert not any(
            hit.path == "service/orders/cart.py" and hit.span.start <= 25 <= hit.span.end for hit in found
        )
        assert "web/src/cart/cartStore.ts" in [hit.path for hit in found[:5]]

    def test_the_query_is_not_looked_at(self) -> None:
        place = "worker/backoff.go:14"
        assert hits("password", similar_to=place) == hits("", similar_to=place)

    def test_code_may_be_like_a_document(self) -> None:
        assert paths("", similar_to="docs/refunds.md:1-20")[0] == "service/orders/refunds.py"

    def test_filters_hold(self) -> None:
        found = paths("", similar_to="worker/backoff.go:14", languages=("python",))
        assert set(found) <= set(shop().files("**/*.py")[0])

    @pytest.mark.parametrize("place", ["nonsense", "a.py", "a.py:x", ":3", "a.py:3-", "a.py:9-3"])
    def test_what_is_no_place_is_refused(self, place: str) -> None:
        with pytest.raises(InvalidArgumentError, match="similar_to must look like 'path:start-end'"):
            hits("", similar_to=place)

    def test_a_place_that_is_not_indexed_is_an_error(self) -> None:
        with pytest.raises(FileNotIndexedError, match=r"'gone\.py'"):
            hits("", similar_to="gone.py:1-5")
        with pytest.raises(InvalidArgumentError, match="nothing at the lines 900-901"):
            hits("", similar_to="worker/backoff.go:900-901")

    def test_a_path_may_start_at_the_root(self) -> None:
        assert hits("", similar_to="./worker/backoff.go:14") == hits("", similar_to="worker/backoff.go:14")


class TestDocs:
    def test_a_heading_leads_to_its_section(self) -> None:
        (first, *_) = hits("connection pool", corpus=Corpus.DOCS)
        assert first.path == "docs/configuration.md"
        assert first.breadcrumb == "Configuration > Database > Connection pool"

    def test_a_word_of_the_heading_above_counts(self) -> None:
        assert "Database" in (hits("database", corpus=Corpus.DOCS)[0].breadcrumb or "")
