"""How often each word occurs in each chunk, by word: the postings of a part of an index.

Beside each vector segment lies a file with the postings of the same chunks.
"""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import release_pages
from findspot.core.platforms import native
from findspot.store.array_files import map_arrays, write_arrays
from findspot.store.records import DerivedDamagedError
from findspot.store.vector_segments import Mask, Numbers, is_allowed

ENDING = ".terms"
_FEW_CHUNKS = 1 << 16
"""Whose places take two bytes."""
_SORTED = 1 << 22
"""Postings that are sorted at a time: they take some tens of megabytes."""

_TIMES_AS_MANY = 64
"""Of a word that so many times more chunks hold than are asked about, these are searched for one by one."""

_MOST_OF_A_WORD = 255
_MAX_HASHES = 500_000
_EXACT_LENGTHS = 24

Hashes = NDArray[np.uint32]
Counts = NDArray[np.uint8]
Rows = NDArray[np.intp]
Counted = tuple[bytearray, bytearray, bytearray, bytearray]
"""Starts (int64), lengths (uint32), hashes of words (uint32) and their counts (uint8)."""


class _Hashes(dict[str, int]):
    """Word → its hash; computed once per word."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MAX_HASHES:
            self.clear()
        known = self[word] = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        return known


_hashes = _Hashes()


def hashes_of(words: Iterable[str]) -> Hashes:
    return np.array([_hashes[word] for word in words], np.uint32)


def count_words_in_python(texts: list[str]) -> Counted:
    """Return where the words of each text start, how many they are, and how often each of them occurs."""
    words: list[int] = []
    counts: list[int] = []
    lengths, starts = [], [0]
    for text in texts:
        counted = Counter(text.split())
        words += map(_hashes.__getitem__, counted)
        counts += counted.values()
        lengths.append(counted.total())
        starts.append(len(words))
    return (
        bytearray(np.array(starts, np.int64)),
        bytearray(np.array(lengths, np.uint32)),
        bytearray(np.array(words, np.uint32)),
        bytearray(np.minimum(np.array(counts, np.int64), _MOST_OF_A_WORD).astype(np.uint8)),
    )


_native = native()
count_words: Callable[[list[str]], Counted] = _native.count_words if _native else count_words_in_python


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that hold each word: of word `i` those from `starts[i]` to `starts[i + 1]`, in order."""

    numbers: Numbers
    """The chunks …"""
    lengths: NDArray[np.uint32]
    """… and how many words each has."""
    terms: Hashes
    starts: NDArray[np.int64]
    rows: NDArray[Any]
    """The place of a chunk among these …"""
    counts: Counts
    """… and how often it holds the word."""

    @classmethod
    def of(cls, texts: Iterable[tuple[int, str]]) -> Postings:
        ordered = sorted(texts)
        starts, lengths, words, counts = count_words([text for _, text in ordered])
        begins = np.frombuffer(starts, np.int64)
        return cls.by_word(
            np.array([number for number, _ in ordered], np.int64),
            np.frombuffer(lengths, np.uint32),
            begins[1:] - begins[:-1],
            np.frombuffer(words, np.uint32),
            np.frombuffer(counts, np.uint8),
        )

    @classmethod
    def by_word(
        cls,
        numbers: Numbers,
        lengths: NDArray[np.uint32],
        widths: NDArray[np.int64],
        words: Hashes,
        counts: Counts,
    ) -> Postings:
        """Sort the words of chunks, which are given chunk by chunk; `widths` are how many each chunk has."""
        order = np.argsort(words, kind="stable")
        terms, starts = _runs(words[order])
        rows = np.repeat(np.arange(numbers.size), widths)[order]
        return cls(numbers, lengths, terms, starts, rows, counts[order])

    def spans(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the postings of each of these words begin, and how many it has."""
        if not self.terms.size:
            return np.zeros(hashes.size, np.int64), np.zeros(hashes.size, np.int64)
        at = np.minimum(np.searchsorted(self.terms, hashes), self.terms.size - 1)
        begins = self.starts[at]
        return begins, np.where(self.terms[at] == hashes, self.starts[at + 1] - begins, 0)

    def counts_in(self, rows: Rows, hashes: Hashes) -> Counts:
        """Return how often these chunks, given in order, hold each of these words: a row per word."""
        found = np.zeros((hashes.size, rows.size), np.uint8)
        begins, widths = self.spans(hashes)
        is_wide = widths > _TIMES_AS_MANY * rows.size
        wanted = rows.astype(self.rows.dtype)
        for place in np.flatnonzero(is_wide).tolist() if rows.size else ():
            held = self.rows[begins[place] : begins[place] + widths[place]]
            at = np.minimum(np.searchsorted(held, wanted), held.size - 1)
            found[place] = self.counts[begins[place] + at] * (held[at] == wanted)
        widths[is_wide] = 0
        columns = np.full(self.numbers.size, -1)
        columns[rows] = np.arange(rows.size)
        ends = np.cumsum(widths)
        at = np.repeat(begins - (ends - widths), widths) + np.arange(int(ends[-1]) if ends.size else 0)
        of_rows = columns[self.rows[at]]
        keep = of_rows >= 0
        found[np.repeat(np.arange(hashes.size), widths)[keep], of_rows[keep]] = self.counts[at[keep]]
        return found


def _runs(words: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """Return the words of a sorted list, each once, and where each begins, with the end of the last."""
    begins = np.ones(words.size, np.bool_)
    np.not_equal(words[1:], words[:-1], out=begins[1:])
    firsts = np.flatnonzero(begins).astype(np.int64, copy=False)
    return words[firsts], np.append(firsts, words.size)


def write_postings(path: Path, parts: Sequence[Postings], live: Mask) -> None:
    """Write the postings of all chunks whose file revision is live as one file, some words at a time."""
    alive = [is_allowed(part.numbers, live) for part in parts]
    pairs = list(zip(parts, alive, strict=True))
    numbers = np.sort(np.concatenate([part.numbers[mask] for part, mask in pairs]))
    homes = [np.searchsorted(numbers, part.numbers) for part in parts]
    lengths = np.zeros(numbers.size, np.uint32)
    for (part, mask), home in zip(pairs, homes, strict=True):
        lengths[home[mask]] = part.lengths[mask]
    kind = np.uint16 if numbers.size <= _FEW_CHUNKS else np.uint32
    terms, starts, counts = [np.empty(0, np.uint32)], [np.zeros(1, np.int64)], [np.empty(0, np.uint8)]

    def rows_by_word() -> Iterator[NDArray[Any]]:
        """Yield the places of chunks, and note the words that they belong to."""
        total = 0
        for bounds in _ranges(sum(part.counts.size for part in parts)):
            found = [_within(*pair, home, bounds) for pair, home in zip(pairs, homes, strict=True)]
            words, rows, counted = (np.concatenate(column) for column in zip(*found, strict=True))
            order = np.lexsort((rows, words))
            held, begins = _runs(words[order])
            terms.append(held)
            starts.append(begins[1:] + total)
            counts.append(counted[order])
            total += words.size
            yield rows[order].astype(kind)

    arrays = {
        "rows": rows_by_word(),
        "starts": starts,
        "lengths": [lengths],
        "terms": terms,
        "counts": counts,
    }
    write_arrays(path, arrays)


def _ranges(postings: int) -> list[tuple[int, int]]:
    """Return ranges of hashes that have about as many postings each as are sorted at a time."""
    steps = max(1, -(-postings // _SORTED))
    return [((step << 32) // steps, (step + 1 << 32) // steps) for step in range(steps)]


def _within(part: Postings, alive: Mask, home: Rows, bounds: tuple[int, int]) -> tuple[Hashes, Rows, Counts]:
    """Return the words of a range that live chunks hold, with the new places of the chunks and the counts."""
    first, last = np.searchsorted(part.terms, bounds).tolist()
    span = slice(int(part.starts[first]), int(part.starts[last]))
    rows, words = part.rows[span], np.repeat(part.terms[first:last], np.diff(part.starts[first : last + 1]))
    keep = alive[rows]
    found = words[keep], home[rows[keep]], part.counts[span][keep]
    release_pages(part.rows)
    return found


def open_postings(path: Path, numbers: Numbers) -> Postings:
    """Map the postings of these chunks; `DerivedDamagedError` when they are missing, cut short or altered."""

    postings = Postings(numbers, **map_arrays(path))
    if postings.lengths.size != numbers.size:
        raise DerivedDamagedError(f"{path.name}: the words of other chunks")
    return postings


@contextlib.contextmanager
def places_checked() -> Iterator[None]:
    """Turn the errors of places that are not there into damage: the files are mapped, and may change."""
    try:
        yield
    except (IndexError, ValueError) as error:
        raise DerivedDamagedError(f"words: {error}") from error


def distinct(numbers: Numbers) -> Numbers:
    """Return numbers in order, each once; `np.unique` does the same and imports masked arrays, at 25 ms."""
    ordered = np.sort(numbers)
    first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many chunks of a corpus there are, how many words they have, and how many chunks hold each word."""

    chunks: int
    tokens: int
    words: Hashes
    counts: NDArray[np.int64]

    def of(self, word: str) -> int:
        wanted = np.uint32(_hashes[word])  # of the type of `words`: those would be converted otherwise
        place = int(np.searchsorted(self.words, wanted))
        is_held = place < self.words.size and self.words[place] == wanted
        return int(self.counts[place]) if is_held else 0

    def row(self, corpus: str) -> tuple[Any, ...]:
        """Return the values of a row that `read` reads."""
        return corpus, self.chunks, self.tokens, self.words.tobytes(), self.counts.astype(np.uint32).tobytes()

    @classmethod
    def read(cls, chunks: int, tokens: int, words: bytes, counts: bytes) -> Frequencies:
        held = np.frombuffer(counts, np.uint32).astype(np.int64)
        return cls(chunks, tokens, np.frombuffer(words, np.uint32), held)


def _stored_lengths() -> NDArray[np.float64]:
    """Return the 256 lengths that chunks are taken to have: exact up to 24, then eight per doubling."""
    rest = np.arange(256 - _EXACT_LENGTHS)
    steps = np.left_shift(1, np.maximum(0, rest // 8 - 1), dtype=np.int64)
    above = np.where(rest < 8, rest, (rest % 8 + 8) * steps)
    return np.concatenate([np.arange(_EXACT_LENGTHS), _EXACT_LENGTHS + above]).astype(np.float64)


STORED_LENGTHS = _stored_lengths()


def step_of(lengths: NDArray[Any]) -> Rows:
    """Return the index of the stored length that each length is rounded down to."""
    return np.searchsorted(STORED_LENGTHS, lengths, side="right") - 1
