"""The query language of named indexes."""

from __future__ import annotations

import pytest

from findspot.documents.query import parse
from findspot.documents.tokenizer import Tokenizer


def lists(query: str, tokenizer: Tokenizer | None = None) -> dict[str, list[str]]:
    return parse(query, tokenizer or Tokenizer()).as_lists()


@pytest.mark.parametrize(
    ("query", "parsed"),
    [
        ("rate limiting API", {"terms": ["rate", "limiting", "api"]}),
        ("+python", {"must": ["python"]}),
        ('+python "machine learning"', {"must": ["python"], "phrases": ["machine learning"]}),
        ("-java tea", {"terms": ["tea"], "must_not": ["java"]}),
        ('-"green tea" +"black tea"', {"must": ["black tea"], "must_not": ["green tea"]}),
        ("+rate-limit", {"must": ["rate limit"]}),
        ("rate-limit", {"terms": ["rate", "limit"]}),
        ("tea tea", {"terms": ["tea", "tea"]}),
        ("--force -- + - C++", {"terms": ["force"]}),
        ('open "quote', {"terms": ["open", "quote"]}),
        ('"" + -', {}),
        ("a +b -c", {}),
        ("   ", {}),
    ],
)
def test_a_query_is_read(query: str, parsed: dict[str, list[str]]) -> None:
    assert lists(query) == {"terms": [], "must": [], "must_not": [], "phrases": []} | parsed


def test_the_tokenizer_of_the_index_reads_the_query() -> None:
    assert lists("Tea to GO", Tokenizer(lowercase=False, min_length=3))["terms"] == ["Tea"]


def test_a_phrase_counts_the_places_of_words_too_short_to_index() -> None:
    (phrase,) = parse('"state of the art"', Tokenizer(min_length=3)).phrases
    assert (phrase.tokens, phrase.offsets) == (("state", "the", "art"), (0, 2, 3))


def test_every_positive_token_scores_and_no_excluded_one() -> None:
    assert parse('tea +green "black leaf" -coffee', Tokenizer()).scored == ["tea", "green", "black", "leaf"]
