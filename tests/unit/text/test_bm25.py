"""BM25 in memory, against the formula written out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.text.bm25 import K1, B, Bm25, lucene_idf

WORDS = st.sampled_from(["read", "write", "file", "note", "city"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=8)


def by_hand(documents: list[list[str]], query: set[str], number: int) -> float:
    average = sum(map(len, documents)) / len(documents) or 1
    total = 0.0
    for word in query:
        times = documents[number].count(word)
        holding = sum(word in document for document in documents)
        idf = math.log((len(documents) - holding + 0.5) / (holding + 0.5) + 1)
        length = 1 - B + B * len(documents[number]) / average
        total += idf * times * (K1 + 1) / (times + K1 * length) if times else 0
    return total


def test_the_parameters_are_those_of_the_specification() -> None:
    assert (K1, B) == (1.2, 0.75)
    assert lucene_idf(10, 3) == math.log((10 - 3 + 0.5) / (3 + 0.5) + 1)


@given(DOCUMENTS, st.sets(WORDS))
def test_scores_are_the_formula(documents: list[list[str]], query: set[str]) -> None:
    index = Bm25.build(map(Counter, documents))
    expected = [by_hand(documents, query, number) for number in range(len(documents))]
    assert index.scores(query) == pytest.approx(np.array(expected), abs=1e-5)


def test_a_word_asked_for_twice_counts_once() -> None:
    index = Bm25.build([{"a": 2, "b": 1}, {"b": 1}])
    assert (index.scores(["a", "a"]) == index.scores(["a"])).all()


def test_which_documents_hold_a_word() -> None:
    index = Bm25.build([{"a": 2, "b": 1}, {"b": 1}, {}])
    assert [index.holders(word).tolist() for word in "abc"] == [[0], [0, 1], []]
    assert "a" in index
    assert "c" not in index


def test_no_documents_and_no_words() -> None:
    assert len(Bm25.build([])) == 0
    assert Bm25.build([]).scores(["a"]).tolist() == []
    assert Bm25.build([{}, {}]).scores(["a"]).tolist() == [0, 0]


def test_no_document_scores_more_than_the_most() -> None:
    built = Bm25.build([{"read": 90, "file": 90}, {"read": 1, "mail": 1}, {"send": 1, "mail": 1}])
    most = built.most(["read", "file"])
    assert 0.9 * most < built.scores(["read", "file"])[0] < most
    assert built.weight("file") > built.weight("read") > 0
    assert built.most(["read", "unheard"]) > most, "a word that no document holds counts most"
    assert built.most([]) == 0
