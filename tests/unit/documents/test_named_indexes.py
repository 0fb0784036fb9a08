"""Named indexes, in memory and on disk alike."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.documents.document_record import (
    Document,
    Phrase,
    SearchAnswer,
    Tokenizer,
    UnknownIndexError,
    parse,
)
from findspot.documents.named_indexes import NamedIndexes

Put = Callable[..., None]


def ids(answer: SearchAnswer) -> list[str]:
    return [found.doc_id for found in answer.results]


def test_scores_are_the_raw_sum(shelf: NamedIndexes, put: Put) -> None:
    put(a="tea tea green", b="tea black", c="coffee")
    answer = shelf.search("green tea", index_name="shelf")
    idf_tea, idf_green = math.log(3 / 3) + 1, math.log(3 / 2) + 1
    assert [(f.doc_id, f.score) for f in answer.results] == [
        ("a", pytest.approx(2 * idf_tea + idf_green)),
        ("b", pytest.approx(idf_tea)),
    ]
    assert answer.total_matches == 2


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("+green tea", ["both", "green"]),
        ("tea -green", ["tea"]),
        ('"green tea"', ["both"]),
        ('tea -"green tea"', ["tea"]),
        ('"tea green"', []),
        ("-green", []),
        ("+missing tea", []),
        ("tea green -missing", ["both", "green", "tea"]),
    ],
)
def test_operators_filter(shelf: NamedIndexes, put: Put, query: str, found: list[str]) -> None:
    put(both="a green tea", green="leaf green", tea="plain tea", none="coffee")
    answer = shelf.search(query, index_name="shelf")
    assert sorted(ids(answer)) == found
    assert answer.total_matches == len(found)


def test_a_phrase_does_not_reach_into_the_next_document(shelf: NamedIndexes, put: Put) -> None:
    put(a="ends green", b="tea begins", c="one, a two")
    assert ids(shelf.search('"green tea"', index_name="shelf")) == []
    assert ids(shelf.search('"one a two"', index_name="shelf")) == ["c"]
    assert ids(shelf.search('"one x two"', index_name="shelf")) == []
    assert ids(shelf.search('"one two"', index_name="shelf")) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("+b trip", ["b"]),
        ("trip -b", ["a", "long"]),
        ('"plan a trip"', ["a"]),
        ('"R and"', ["r"]),
        ("+C++", ["r"]),
        ('"c"', ["r"]),
        ("-b", []),
        ("R", []),
    ],
)
def test_operators_and_phrases_hold_for_short_words(
    shelf: NamedIndexes, put: Put, query: str, found: list[str]
) -> None:
    """documents A8"""
    put(a="plan a trip", b="plan b trip", long="plan long trip", r="R and C++", x="this and that")
    answer = shelf.search(query, index_name="shelf")
    assert ids(answer) == found
    assert answer.total_matches == len(found)
    assert (answer.query.warning is None) == (query != "R")


def test_a_tie_is_not_decided_by_the_last_bit_of_a_float(shelf: NamedIndexes, put: Put) -> None:
    """documents A12: sums of the same parts in another order differ by 1e-16."""
    counts = list(itertools.permutations((1, 2, 3)))
    put(**{f"d{n}": " ".join(["ab"] * a + ["cd"] * b + ["ef"] * c) for n, (a, b, c) in enumerate(counts)})
    for others in range(12):
        put(**{f"other{others}": "something else"})
        assert ids(shelf.search("ab cd ef", index_name="shelf")) == [f"d{n}" for n in range(6)]


def test_the_default_index_is_emptied_by_dropping(indexes: NamedIndexes) -> None:
    indexes.add([Document.checked("a", "tea")])
    indexes.drop("default")
    assert indexes.search("tea").total_matches == 0


def test_names_that_differ_in_case_are_two_indexes(indexes: NamedIndexes, backend: str) -> None:
    indexes.create("Docs", backend)
    indexes.create("docs", backend)
    indexes.add([Document.checked("a", "tea")], "Docs")
    assert indexes.search("tea", index_name="docs").total_matches == 0
    assert [info.name for info in indexes.listing()] == ["Docs", "default", "docs"]


@pytest.mark.parametrize("name", ["", "a b", "../up", "a/b", "ü", "x" * 65, "a.b", "a\n"])
def test_unsafe_names_are_refused_and_never_looked_up(indexes: NamedIndexes, backend: str, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^Invalid index name: "):
        indexes.create(name, backend)
    with pytest.raises(FindspotError, match=r"^Index not found: "):
        indexes.search("tea", index_name=name)


def test_tokenizer_settings(indexes: NamedIndexes, backend: str) -> None:
    indexes.create("exact", backend, {"lowercase": False, "min_length": 3})
    (added,) = indexes.add([Document.checked("a", "An API for Tea")], "exact")
    assert added.token_count == 3
    assert ids(indexes.search("API", index_name="exact")) == ["a"]
    assert ids(indexes.search("api an", index_name="exact")) == []


@pytest.mark.parametrize(
    "config", [{"min_length": 0}, {"min_length": "x"}, {"min_length": True}, {"lowercase": 1}, {"stem": True}]
)
def test_wrong_tokenizer_settings_are_named(indexes: NamedIndexes, config: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(config))):
        indexes.create("x", tokenizer_config=config)


def test_documents_are_bounded(indexes: NamedIndexes) -> None:
    for arguments, message in (
        (("a", "x" * 10_000_001), "Content is longer than 10,000,000 characters"),
        (("a" * 1_025, "x"), "doc_id is longer than 1,024"),
        (("a", "x", {"y": "z" * 1_000_000}), "metadata is longer than"),
        (("", "x"), "doc_id must be a non-empty string"),
        (("a", "  \n"), "Content must be a non-empty string"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            Document.checked(*arguments)


def test_answers_equal_a_plain_computation(shelf: NamedIndexes) -> None:
    """Random adding, replacing and removing."""
    chance, words = random.Random(3), ["ab", "cd", "ef", "gh", "x"]
    held: dict[str, str] = {}
    for _ in range(300):
        doc_id = str(chance.randrange(40))
        if chance.random() < 0.25:
            assert shelf.remove(doc_id, "shelf") == (held.pop(doc_id, None) is not None)
        else:
            held[doc_id] = " ".join(chance.choices(words, k=chance.randrange(1, 9)))
            shelf.add([Document.checked(doc_id, held[doc_id])], "shelf")
        query = chance.choice(
            ["ab cd", "+ab ef", "ab -cd", '"ab cd"', '"ab x cd" gh', "ab ab", "+x", "ab -x"]
        )
        answer = shelf.search(query, 1_000, "shelf")
        assert {f.doc_id: pytest.approx(f.score) for f in answer.results} == _plain(held, query)


def _plain(held: dict[str, str], query: str) -> dict[str, float]:
    tokenizer = Tokenizer()
    parsed = parse(query, tokenizer)
    texts = {doc_id: tokenizer.words(content) for doc_id, content in held.items()}

    def holds(places: list[str], phrase: Phrase) -> bool:
        return f" {' '.join(phrase)} " in f" {' '.join(places)} "

    scores = {}
    for doc_id, places in texts.items():
        score = 0.0
        for token, times in Counter(parsed.scored).items():
            df = sum(token in other for other in texts.values())
            score += times * places.count(token) * (math.log(len(texts) / (df + 1)) + 1)
        wanted = all(holds(places, phrase) for phrase in parsed.required)
        if (
            (score > 0 or parsed.required)
            and wanted
            and not any(holds(places, phrase) for phrase in parsed.must_not)
        ):
            scores[doc_id] = score
    return scores


def test_an_accent_is_the_same_however_it_is_written(indexes: NamedIndexes) -> None:
    composed, decomposed = "r\u00e9sum\u00e9", "re\u0301sume\u0301"
    indexes.add([Document.checked("a", f"my {decomposed}"), Document.checked("b", f"your {composed}")])
    for query in (composed, decomposed, f'"my {composed}"', f"+{decomposed}"):
        assert "a" in ids(indexes.search(query))


def test_an_unknown_index_is_an_error_that_names_those_there_are(indexes: NamedIndexes) -> None:
    indexes.create("notes")
    with pytest.raises(UnknownIndexError, match="Index not found: note") as raised:
        indexes.search("tea", index_name="note")
    assert raised.value.hint.endswith("There are: default, notes.")
