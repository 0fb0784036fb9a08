"""Keyword search: which chunks hold a word, and which hold the words of a question best, by BM25.

A question adds up what its words give each chunk. Only live chunks count, so an index that was updated scores
like one that was rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from findspot.store.vector_segments import Mask, Numbers, is_allowed, mask_of, of_lines, places_of
from findspot.store.word_counts import (
    STORED_LENGTHS,
    Counts,
    Frequencies,
    Postings,
    hashes_of,
    places_checked,
    step_of,
)
from findspot.text.bm25 import K1, B, lucene_idf

_MAX_FREQUENCIES = 20_000
_MANY_ROWS = 10_000
"""Chunks that hold a word from which on it is worth finding out whether the word still matters."""
_ROUNDING = 1 - 1e-9
"""Sums in another order differ in their last digits."""

Column = NDArray[np.float64]
Keys = Callable[[Numbers], Numbers]


class KeywordReader:
    """Searches the live chunks of one corpus by their words: BM25 with the statistics of a fresh index."""

    def __init__(
        self, parts: Sequence[Postings], live: Mask, keys: Keys, known: Frequencies | None = None
    ) -> None:
        """`live` are the files of the corpus; `keys` returns numbers that order chunks by path and line.

        `known` are the frequencies of all chunks, where `parts` have only some of them.
        """
        self._parts, self._live, self._keys, self._known = parts, live, keys, known
        self._frequencies: dict[str, int] = {}

    @cached_property
    def _alive(self) -> list[Mask]:
        """Of each part, which of its chunks are of the corpus and hold lines."""
        return [is_allowed(part.numbers, self._live) & of_lines(part.numbers) for part in self._parts]

    @cached_property
    def _totals(self) -> tuple[int, int]:
        if self._known:
            return self._known.chunks, self._known.tokens
        held = list(zip(self._parts, self._alive, strict=True))
        chunks = sum(int(np.count_nonzero(alive)) for _, alive in held)
        return chunks, sum(int(part.lengths[alive].sum(dtype=np.int64)) for part, alive in held)

    @cached_property
    def _damping(self) -> Column:
        """How much a chunk of each stored length is damped: in a long chunk, a word counts for less."""
        chunks, tokens = self._totals
        return K1 * (1 - B + B * STORED_LENGTHS / (tokens / chunks if tokens else 1.0))

    @cached_property
    def _damped(self) -> list[Column]:
        """Of each part, how much each of its chunks is damped; without end if it does not count."""
        parts = zip(self._parts, self._alive, strict=True)
        return [np.where(alive, self._damping[step_of(part.lengths)], np.inf) for part, alive in parts]

    @property
    def size(self) -> int:
        return self._totals[0]

    def document_frequency(self, term: str) -> int:
        """Return how many live chunks hold a term; looked up once, since one question asks several times."""
        if self._known:
            return self._known.of(term)
        known = self._frequencies.get(term)
        if known is None:
            if len(self._frequencies) >= _MAX_FREQUENCIES:
                self._frequencies.clear()
            known = self._frequencies[term] = self._count(term)
        return known

    def _count(self, term: str) -> int:
        total, word = 0, hashes_of([term])
        with places_checked():
            for part, alive in zip(self._parts, self._alive, strict=True):
                (begin,), (width,) = part.spans(word)
                total += int(np.count_nonzero(alive[part.rows[begin : begin + width]]))
        return total

    def _gains(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return what each term that any live chunk holds gives at most."""
        counts = {term: self.document_frequency(term) for term in weights}
        return {
            term: weights[term] * lucene_idf(self.size, count) * (K1 + 1)
            for term, count in counts.items()
            if count
        }

    def search(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best `top` chunks for weighted terms, among `only_files` when given."""
        numbers, scores = self.best(terms, top, only_files)
        return list(zip(numbers.tolist(), scores.tolist(), strict=True))

    def best(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> tuple[Numbers, Column]:
        gains = self._gains(terms)
        if not gains or top < 1:
            return np.empty(0, np.int64), np.empty(0)
        found = self._candidates({term: terms[term] for term in gains}, gains, top, only_files)
        numbers, scores = self._holding(found, gains)
        order = np.argsort(-scores, kind="stable")
        # A tie for the last place is settled by path and line.
        if order.size > top and scores[order[top - 1]] == scores[order[top]]:
            order = np.lexsort((self._keys(numbers), -scores))
        return numbers[order[:top]], scores[order[:top]]

    def _candidates(
        self,
        weights: Mapping[str, float],
        gains: Mapping[str, float],
        top: int,
        only_files: Sequence[int] | None,
    ) -> Numbers:
        """Return chunks among which the best ones are, in order."""
        with places_checked():
            parts = [self._rough(at, gains, top, only_files) for at in range(len(self._parts))]
        least = _last_of_best(np.concatenate([scores for _, scores, _ in parts]), top) * _ROUNDING
        return np.sort(np.concatenate([numbers[scores + left >= least] for numbers, scores, left in parts]))

    def _rough(
        self, at: int, gains: Mapping[str, float], top: int, only_files: Sequence[int] | None
    ) -> tuple[Numbers, Column, float]:
        """Return the chunks of a part, what each has at least, and what more each may have.

        Words that most chunks hold give least, and come last. Once the best chunks have more than these words
        could give, they bring no other chunk among the best.
        """
        part, damped = self._parts[at], self._damped[at]
        if only_files is not None:
            damped = np.where(is_allowed(part.numbers, mask_of(only_files)), damped, np.inf)
        most = np.array(list(gains.values()))
        begins, widths = part.spans(hashes_of(gains))
        scores, left = np.zeros(part.numbers.size), float(most.sum())
        for term in np.lexsort((-most, widths > _MANY_ROWS)).tolist():
            if widths[term] > _MANY_ROWS and _last_of_best(scores, top) > left:
                break
            span = slice(begins[term], begins[term] + widths[term])
            rows, held = part.rows[span], part.counts[span].astype(np.float64)
            scores[rows] += most[term] * held / (held + damped[rows])
            left -= most[term]
        found = np.flatnonzero(scores > 0)
        return part.numbers[found], scores[found], left

    def scores(self, terms: Mapping[str, float], numbers: Iterable[int]) -> tuple[Numbers, Column]:
        """Return those of these chunks that hold a term, and their scores."""
        return self._holding(np.array(sorted(numbers), np.int64), self._gains(terms))

    def held_terms(self, terms: Sequence[str], numbers: Numbers) -> Mask:
        """Return which of these terms each of these sorted chunks holds: a row per chunk."""
        held = np.zeros((numbers.size, len(terms)), np.bool_)
        for here, _, counts in self._counts(numbers, terms):
            held[here] = (counts > 0).T
        return held

    def _holding(self, wanted: Numbers, gains: Mapping[str, float]) -> tuple[Numbers, Column]:
        """Return the live ones of these sorted chunks that hold a term, and their scores."""
        wanted = wanted[is_allowed(wanted, self._live)]
        scores = np.zeros(wanted.size)
        for here, damped, counts in self._counts(wanted, gains):
            sums = np.zeros(damped.size)
            for gain, count in zip(gains.values(), counts.astype(np.float64), strict=True):
                sums += gain * count / (count + damped)
            scores[here] = sums
        return wanted[scores > 0], scores[scores > 0]

    def _counts(self, wanted: Numbers, terms: Collection[str]) -> Iterator[tuple[Mask, Column, Counts]]:
        """Yield which of these sorted chunks a part has, how much each is damped, and how often it holds each
        term.
        """
        hashes = hashes_of(terms)
        with places_checked():
            for part in self._parts_with(wanted):
                rows, here = places_of(part.numbers, wanted)
                yield here, self._damping[step_of(part.lengths[rows])], part.counts_in(rows, hashes)

    def _parts_with(self, wanted: Numbers) -> Sequence[Postings]:
        """Return parts that have these chunks, those of them that exist."""
        return self._parts

    def frequencies(self) -> Frequencies:
        """Count the live chunks that hold each word."""
        terms, counts = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        for part, alive in zip(self._parts, self._alive, strict=True):
            if part.terms.size:
                terms.append(part.terms)
                counts.append(np.add.reduceat(alive[part.rows], part.starts[:-1], dtype=np.int64))
        words, places = np.unique(np.concatenate(terms), return_inverse=True)
        held = np.bincount(places, np.concatenate(counts), words.size).astype(np.int64)
        return Frequencies(*self._totals, words[held > 0], held[held > 0])


def _last_of_best(scores: Column, top: int) -> float:
    """Return the lowest of the best scores; nothing where there are fewer."""
    found = scores[scores > 0]
    return float(np.partition(found, -top)[-top]) if found.size >= top else 0.0
