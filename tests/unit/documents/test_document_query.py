"""The query language of named indexes."""

from __future__ import annotations

import pytest

from findspot.documents.document_record import Tokenizer, parse
from findspot.serve.shapes import PARSED


def lists(query: str, tokenizer: Tokenizer | None = None) -> dict[str, list[str]]:
    return PARSED(parse(query, tokenizer or Tokenizer()))


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
        ("a +b -c", {"must": ["b"], "must_not": ["c"]}),
        ("   ", {}),
    ],
)
def test_a_query_is_read(query: str, parsed: dict[str, list[str]]) -> None:
    assert lists(query) == {"terms": [], "must": [], "must_not": [], "phrases": []} | parsed


def test_the_tokenizer_of_the_index_reads_the_query() -> None:
    assert lists("Tea to GO", Tokenizer(lowercase=False, min_length=3))["terms"] == ["Tea"]


def test_a_phrase_holds_short_words_and_they_do_not_score() -> None:
    parsed = parse('"state of the art"', Tokenizer(min_length=3))
    assert parsed.phrases[0] == ("state", "of", "the", "art")
    assert parsed.scored == ("state", "the", "art")


def test_plain_terms_that_are_too_short_are_named_in_a_warning() -> None:
    assert parse("C++ or R", Tokenizer()).warning == (
        'Too short to be searched for by themselves, so ignored: c, r. Require them as +word or "word".'
    )
    assert parse("tea +b", Tokenizer()).warning is None
