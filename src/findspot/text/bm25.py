"""BM25 over documents in memory: the one definition for everything that is not on disk.

    score(D, Q) = Σ idf(q) · tf(q, D) · (k1 + 1) / (tf(q, D) + k1 · (1 − b + b · |D| / avgdl))

What each term gives each document is worked out once, so that a query only adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
"""How soon more occurrences of a word stop counting."""

B = 0.75
"""How much the length of a document lowers the score of its words."""


def lucene_idf(documents: int, holding: int) -> float:
    """ln((N − df + 0.5) / (df + 0.5) + 1): rare words count most, and none counts against."""
    return math.log((documents - holding + 0.5) / (holding + 0.5) + 1)


class Postings(NamedTuple):
    """An index as plain arrays: term `i` gives `gains[k]` to `documents[k]`, `k` from `starts[i]` on."""

    terms: list[str]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    gains: NDArray[np.float32]
    size: int


_NO_DOCUMENTS = np.zeros(0, dtype=np.int32)


class Bm25:
    """Documents that can be scored against words."""

    def __init__(self, postings: Postings) -> None:
        self.postings = postings
        self._terms = {term: number for number, term in enumerate(postings.terms)}

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, float]]) -> Bm25:
        """Build the index from the word counts of each document."""
        return cls(_postings(list(documents)))

    def __len__(self) -> int:
        return self.postings.size

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def document_count(self, term: str) -> int:
        """Return how many documents contain a word."""
        number = self._terms.get(term)
        return 0 if number is None else int(self.postings.starts[number + 1] - self.postings.starts[number])

    def scores(self, terms: Iterable[str]) -> NDArray[np.float32]:
        """Return one score per document; a word that occurs twice in the query counts once."""
        total = np.zeros(self.postings.size, dtype=np.float32)
        for part in self._parts(terms):
            total[self.postings.documents[part]] += self.postings.gains[part]
        return total

    def weight(self, term: str) -> float:
        """Return the weight of a word: the fewer documents contain it, the more it says."""
        return lucene_idf(self.postings.size, self.document_count(term))

    def most(self, terms: Iterable[str]) -> float:
        """Return the score that no document can exceed."""
        return (K1 + 1) * sum(map(self.weight, sorted(set(terms))))

    def holders(self, term: str) -> NDArray[np.int32]:
        """Return the documents that contain a word."""
        return next((self.postings.documents[part] for part in self._parts([term])), _NO_DOCUMENTS)

    def _parts(self, terms: Iterable[str]) -> Iterator[slice]:
        for term in sorted(set(terms)):  # sorted: a sum must not depend on the order of words
            number = self._terms.get(term)
            if number is not None:
                yield slice(self.postings.starts[number], self.postings.starts[number + 1])


def _postings(documents: Sequence[Mapping[str, float]]) -> Postings:
    by_term: dict[str, tuple[list[int], list[float]]] = {}
    for number, counts in enumerate(documents):
        for term, count in counts.items():
            holders, times = by_term.setdefault(term, ([], []))
            holders.append(number)
            times.append(count)
    terms = sorted(by_term)
    held = np.fromiter((len(by_term[term][0]) for term in terms), dtype=np.int64, count=len(terms))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(held)])
    numbers = np.fromiter((n for term in terms for n in by_term[term][0]), np.int32, int(starts[-1]))
    times_ = np.fromiter((t for term in terms for t in by_term[term][1]), np.float64, int(starts[-1]))
    lengths = np.fromiter((sum(counts.values()) for counts in documents), np.float64, len(documents))
    mean = float(lengths.mean()) if len(lengths) and lengths.any() else 1.0
    damping = K1 * (1 - B + B * lengths / mean)
    weights = np.repeat([lucene_idf(len(documents), int(count)) for count in held], held)
    gains = weights * times_ * (K1 + 1) / (times_ + damping[numbers])
    return Postings(terms, starts, numbers, gains.astype(np.float32), len(documents))
