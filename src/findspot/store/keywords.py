"""Keyword search: which chunks hold a word, and which hold the words of a question best, by BM25.

Beside the word counts of each vector segment lies a file that lists the same by word: its postings. A
question adds up what its words give each chunk. Only live chunks count, so an index that was updated scores
like one that was rebuilt. The first bytes of the file
    FSPTTRM1    how many words and postings, bytes of a chunk's place, checksum; places, starts, words, counts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import release_pages
from findspot.store.array_files import map_arrays, write_arrays
from findspot.store.vector_segments import Mask, Numbers, is_allowed
from findspot.store.word_counts import (
    Column,
    Frequencies,
    LiveWords,
    WordCounts,
    hashes_of,
    places_checked,
)

ENDING = ".terms"
_MAGIC = b"FSPTTRM1"
_MAX_FREQUENCIES = 20_000
_MANY_ROWS = 10_000
"""Chunks that hold a word from which on it is worth finding out whether the word still matters."""
_ROUNDING = 1 - 1e-9
"""Sums in another order differ in their last digits."""
_FEW_CHUNKS = 1 << 16
"""Whose places take two bytes."""
_ALIGN = 8
_SORTED_WORDS = 1 << 22
"""Words that are sorted at a time: their places take some tens of megabytes."""

Hashes = NDArray[np.uint32]
Rows = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that hold each word: of word `i` those from `starts[i]` to `starts[i + 1]`."""

    rows: Rows
    """The place of a chunk in the file of word counts …"""
    starts: NDArray[np.int64]
    terms: Hashes
    counts: NDArray[np.uint8]
    """… and how often it holds the word."""

    def of(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the postings of each of these words begin, and how many it has."""
        if not self.terms.size:
            return np.zeros(hashes.size, np.int64), np.zeros(hashes.size, np.int64)
        at = np.minimum(np.searchsorted(self.terms, hashes), self.terms.size - 1)
        begins = self.starts[at]
        return begins, np.where(self.terms[at] == hashes, self.starts[at + 1] - begins, 0)


def write_postings(path: Path, words: WordCounts) -> None:
    """Write which chunks hold each word of a file of word counts, sorted in parts."""
    counts: list[NDArray[np.uint8]] = []
    terms: list[Hashes] = []
    held: list[NDArray[np.int64]] = []
    width = 2 if words.numbers.size <= _FEW_CHUNKS else 4

    def parts() -> Iterator[NDArray[Any]]:
        for places in _by_word(words.words):
            found = words.words[places]
            firsts = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
            terms.append(found[firsts])
            held.append(np.diff(np.r_[firsts, found.size]))
            counts.append(words.counts[places])
            yield (np.searchsorted(words.starts, places, side="right") - 1).astype(f"u{width}")
            release_pages(words.words)
        yield np.zeros(-words.words.size * width % _ALIGN, np.uint8)
        yield np.cumsum(np.concatenate([np.zeros(1, np.int64), *held]))
        yield from terms
        yield from counts

    write_arrays(path, _MAGIC, parts(), lambda: (sum(part.size for part in terms), words.words.size, width))


def _by_word(words: Hashes) -> Iterator[NDArray[np.intp]]:
    """Yield the places of words in the order of the words; those of one word in their own order."""
    steps = -(-words.size // _SORTED_WORDS)
    for low, high in zip(range(steps), range(1, steps + 1), strict=True):
        least, most = (low << 32) // steps, (high << 32) // steps
        blocks = range(0, words.size, _SORTED_WORDS)
        parts = ((first, words[first : first + _SORTED_WORDS]) for first in blocks)
        places = np.concatenate([np.flatnonzero((part >= least) & (part < most)) + at for at, part in parts])
        if places.size:
            yield places[np.argsort(words[places], kind="stable")]


def open_postings(path: Path, checked: set[str]) -> Postings:
    """Map a file of postings; `DerivedDamagedError` when it is missing, cut short or altered."""

    def lengths_of(terms: int, postings: int, width: int) -> tuple[int, ...]:
        return postings * width, -postings * width % _ALIGN, terms * 8 + 8, terms * 4, postings

    rows, _, starts, terms, counts = map_arrays(path, _MAGIC, 3, lengths_of, checked)
    places: Rows = rows.view(np.uint16) if rows.size < 4 * counts.size else rows.view(np.uint32)
    return Postings(places, starts.view(np.int64), terms.view(np.uint32), counts)


class KeywordReader:
    """Searches the live chunks of one corpus by their words."""

    def __init__(self, words: LiveWords, postings: Sequence[Postings]) -> None:
        self._words = words
        self._postings = postings
        self._frequencies: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many live chunks there are."""
        return self._words.size

    def document_frequency(self, term: str) -> int:
        """Return how many live chunks hold a term; looked up once, since one question asks several times."""
        known = self._frequencies.get(term)
        if known is None:
            if len(self._frequencies) >= _MAX_FREQUENCIES:
                self._frequencies.clear()
            known = self._frequencies[term] = self._count(hashes_of([term]))
        return known

    def _count(self, word: Hashes) -> int:
        total = 0
        with places_checked():
            for part, alive in zip(self._postings, self._words.alive, strict=True):
                (begin,), (width,) = part.of(word)
                total += int(np.count_nonzero(alive[part.rows[begin : begin + width]]))
        return total

    def search(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best `top` chunks for weighted terms, among `only_files` when given."""
        numbers, scores = self.best(terms, top, only_files)
        return list(zip(numbers.tolist(), scores.tolist(), strict=True))

    def best(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> tuple[Numbers, Column]:
        """Return the same as arrays."""
        frequencies = self._held(terms)
        if not frequencies or top < 1:
            return np.empty(0, np.int64), np.empty(0)
        gains = self._words.gains(terms, frequencies)
        with places_checked():
            parts = [self._candidates(at, gains, top, only_files) for at in range(len(self._postings))]
        least = _last_of_best(np.concatenate([scores for _, scores, _ in parts]), top) * _ROUNDING
        found = np.concatenate([numbers[scores + left >= least] for numbers, scores, left in parts])
        return self._words.best(*self._words.scores(np.sort(found), gains), top)

    def _candidates(
        self, at: int, gains: Mapping[str, float], top: int, only_files: Sequence[int] | None
    ) -> tuple[Numbers, Column, float]:
        """Return the chunks of a part, what each has at least, and what more each may have.

        Words that most chunks hold give least, and come last. Once the best chunks have more than these words
        could give, they bring no other chunk among the best.
        """
        postings, numbers, damped = self._postings[at], self._words.parts[at].numbers, self._words.damped[at]
        if only_files is not None:
            damped = np.where(is_allowed(numbers, _mask(only_files)), damped, np.inf)
        most = np.array(list(gains.values()))
        begins, widths = postings.of(hashes_of(gains))
        scores, left = np.zeros(numbers.size), float(most.sum())
        for term in np.lexsort((-most, widths > _MANY_ROWS)).tolist():
            if widths[term] > _MANY_ROWS and _last_of_best(scores, top) > left:
                break
            span = slice(begins[term], begins[term] + widths[term])
            rows, held = postings.rows[span], postings.counts[span].astype(np.float64)
            scores[rows] += most[term] * held / (held + damped[rows])
            left -= most[term]
        found = np.flatnonzero(scores > 0)
        return numbers[found], scores[found], left

    def scores(self, terms: Mapping[str, float], numbers: Iterable[int]) -> list[tuple[int, float]]:
        """Return the scores of those of these chunks that hold a term."""
        frequencies = self._held(terms)
        if not frequencies:
            return []
        wanted = np.array(sorted(numbers), np.int64)
        words = self._words_of(wanted)
        found, scores = words.scores(wanted, words.gains(terms, frequencies))
        return list(zip(found.tolist(), scores.tolist(), strict=True))

    def _held(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many live chunks hold each of the terms that any holds."""
        return {term: count for term in terms if (count := self.document_frequency(term))}

    def frequencies(self) -> Frequencies:
        """Count the live chunks that hold each word."""
        terms, counts = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        for part, alive in zip(self._postings, self._words.alive, strict=True):
            if part.terms.size:
                terms.append(part.terms)
                counts.append(np.add.reduceat(alive[part.rows], part.starts[:-1], dtype=np.int64))
        words, places = np.unique(np.concatenate(terms), return_inverse=True)
        held = np.bincount(places, np.concatenate(counts), words.size).astype(np.int64)
        return Frequencies(*self._words.totals, words[held > 0], held[held > 0])

    def held_terms(self, terms: Sequence[str], numbers: Numbers) -> Mask:
        """Return which of these terms each of these sorted chunks holds: a row per chunk."""
        return self._words_of(numbers).held(terms, numbers)

    def _words_of(self, numbers: Numbers) -> LiveWords:
        """Return the words of these chunks, with the statistics of all."""
        return self._words


def _mask(files: Sequence[int]) -> Mask:
    mask = np.zeros(max(files, default=0) + 1, np.bool_)
    mask[list(files)] = True
    return mask


def _last_of_best(scores: Column, top: int) -> float:
    """Return the lowest of the best scores; nothing where there are fewer."""
    found = scores[scores > 0]
    return float(np.partition(found, -top)[-top]) if found.size >= top else 0.0
