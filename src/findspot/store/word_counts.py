"""How often each word occurs in each chunk: what the scores of given chunks are computed from.

Beside each vector segment lies a file with the word counts of the same chunks. Its first bytes
    FSPTWRD2    how many chunks and words, checksum; numbers, starts and lengths of chunks; words, counts
"""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import release_pages
from findspot.core.platforms import native
from findspot.store.array_files import map_arrays, write_arrays
from findspot.store.records import DerivedDamagedError
from findspot.store.vector_segments import Mask, Numbers, is_allowed, of_lines
from findspot.text.bm25 import K1, B, lucene_idf

ENDING = ".words"
_MAGIC = b"FSPTWRD2"
_BLOCK_CHUNKS = 16_384
"""Chunks written at a time: their words take some megabytes."""

_MOST_OF_A_WORD = 255
_MAX_HASHES = 500_000
_EXACT_LENGTHS = 24
_MOST_TERMS = 1_024
"""That the compiled part takes."""
_LOW_BITS = 0xFFFF
"""Of a hash: a table over them tells nearly all words that are not asked for."""

Column = NDArray[np.float64]
Keys = Callable[[Numbers], Numbers]
Columns = tuple[Numbers, NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]
"""The numbers of chunks; their starts and lengths; words and counts."""
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
class WordCounts:
    """The words of some chunks, by number: of chunk `i` those from `starts[i]` to `starts[i + 1]`."""

    numbers: Numbers
    starts: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    words: NDArray[np.uint32]
    """The hash of each word of a chunk …"""
    counts: NDArray[np.uint8]
    """… and how often it occurs there."""

    @classmethod
    def of(cls, texts: Iterable[tuple[int, str]]) -> WordCounts:
        """Count the words of chunks, each given by its number and its tokens."""
        ordered = sorted(texts)
        starts, lengths, words, counts = count_words([text for _, text in ordered])
        return cls(
            np.array([number for number, _ in ordered], np.int64),
            np.frombuffer(starts, np.int64),
            np.frombuffer(lengths, np.uint32),
            np.frombuffer(words, np.uint32),
            np.frombuffer(counts, np.uint8),
        )

    @property
    def columns(self) -> Columns:
        return self.numbers, self.starts, self.lengths, self.words, self.counts

    def widths(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many different words these chunks have."""
        return self.starts[rows + 1] - self.starts[rows]

    def words_of(self, rows: NDArray[np.intp]) -> NDArray[np.uint32]:
        """Return the words of these chunks, one chunk after the other."""
        begins, ends = self.starts[rows], self.starts[rows + 1]
        if (begins < 0).any() or (ends < begins).any() or (ends > self.words.size).any():
            raise DerivedDamagedError("word counts: no such words")
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return np.concatenate([self.words[begin:end] for begin, end in spans])


def spans(starts: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of several runs, one run after the other."""
    ends = np.cumsum(widths)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - (ends - widths), widths) + np.arange(total)


_FIELDS = ("words", "counts")


def write_counts(path: Path, parts: Sequence[WordCounts], live: Mask) -> None:
    """Write the counts of all chunks whose file revision is live as one file, in blocks."""
    kept = [(part, np.flatnonzero(is_allowed(part.numbers, live))) for part in parts]
    numbers = np.concatenate([part.numbers[rows] for part, rows in kept])
    order = np.argsort(numbers, kind="stable")
    lengths = np.concatenate([part.lengths[rows] for part, rows in kept])[order]
    widths = np.concatenate([part.widths(rows) for part, rows in kept])[order]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    blocks = (block for field in _FIELDS for block in _blocks(kept, field, order, widths))
    columns = chain((numbers[order], starts, lengths), blocks)
    write_arrays(path, _MAGIC, columns, lambda: (numbers.size, int(starts[-1])))


def _blocks(
    kept: Sequence[tuple[WordCounts, NDArray[np.intp]]],
    field: str,
    order: NDArray[np.intp],
    widths: NDArray[np.int64],
) -> Iterator[NDArray[Any]]:
    """Yield the words, or their counts, of chunks in this order."""
    for begin in range(0, order.size, _BLOCK_CHUNKS):
        wanted, wide = order[begin : begin + _BLOCK_CHUNKS], widths[begin : begin + _BLOCK_CHUNKS]
        places = np.cumsum(wide) - wide
        block = np.empty(int(wide.sum()), getattr(kept[0][0], field).dtype)
        first = 0
        for part, rows in kept:
            here = np.flatnonzero((wanted >= first) & (wanted < first + rows.size))
            taken = spans(part.starts[rows[wanted[here] - first]], wide[here])
            block[spans(places[here], wide[here])] = getattr(part, field)[taken]
            release_pages(part.words)
            first += rows.size
        yield block


def open_counts(path: Path, checked: set[str]) -> WordCounts:
    """Map a file of counts; `DerivedDamagedError` when it is missing, cut short or altered."""

    def lengths_of(chunks: int, words: int) -> tuple[int, ...]:
        return chunks * 8, chunks * 8 + 8, chunks * 4, words * 4, words

    numbers, starts, lengths, hashes, counts = map_arrays(path, _MAGIC, 2, lengths_of, checked)
    return WordCounts(
        numbers.view(np.int64), starts.view(np.int64), lengths.view(np.uint32), hashes.view(np.uint32), counts
    )


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


def hashes_of(words: Iterable[str]) -> NDArray[np.uint32]:
    """Return the numbers by which words are stored."""
    return np.array([_hashes[word] for word in words], np.uint32)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many chunks of a corpus there are, how many words they have, and how many chunks hold each word."""

    chunks: int
    tokens: int
    words: NDArray[np.uint32]
    counts: NDArray[np.int64]

    def of(self, word: str) -> int:
        """Return how many chunks hold a word."""
        place = int(np.searchsorted(self.words, _hashes[word]))
        return (
            int(self.counts[place]) if place < self.words.size and self.words[place] == _hashes[word] else 0
        )

    def row(self, corpus: str) -> tuple[Any, ...]:
        """Return the values of a row that `read` reads."""
        return corpus, self.chunks, self.tokens, self.words.tobytes(), self.counts.astype(np.uint32).tobytes()

    @classmethod
    def read(cls, chunks: int, tokens: int, words: bytes, counts: bytes) -> Frequencies:
        held = np.frombuffer(counts, np.uint32).astype(np.int64)
        return cls(chunks, tokens, np.frombuffer(words, np.uint32), held)


class LiveWords:
    """The words of the live chunks of one corpus: BM25 with the statistics of a fresh index."""

    def __init__(
        self, parts: Sequence[WordCounts], live: Mask, keys: Keys, totals: tuple[int, int] | None = None
    ) -> None:
        """`live` are the files of the corpus; `keys` returns numbers that order chunks by path and line.

        `totals` are the chunks and words of all, where these are only some of them.
        """
        self.parts = parts
        self._live = live
        self._keys = keys
        if totals:
            self.totals = totals

    @cached_property
    def alive(self) -> list[Mask]:
        """Of each part, which of its chunks are of the corpus and hold lines."""
        return [is_allowed(part.numbers, self._live) & of_lines(part.numbers) for part in self.parts]

    @cached_property
    def totals(self) -> tuple[int, int]:
        """How many chunks there are, and how many words they have."""
        held = list(zip(self.parts, self.alive, strict=True))
        chunks = sum(int(np.count_nonzero(alive)) for _, alive in held)
        return chunks, sum(int(part.lengths[alive].sum(dtype=np.int64)) for part, alive in held)

    @cached_property
    def damped(self) -> list[Column]:
        """Of each part, how much each of its chunks is damped; without end if it does not count."""
        parts = zip(self.parts, self.alive, strict=True)
        return [np.where(alive, self._damping[step_of(part.lengths)], np.inf) for part, alive in parts]

    @cached_property
    def _damping(self) -> Column:
        """How much a chunk of each stored length is damped: in a long chunk, a word counts for less."""
        return K1 * (1 - B + B * STORED_LENGTHS / self.mean_length)

    @property
    def size(self) -> int:
        """How many chunks there are."""
        return self.totals[0]

    @property
    def mean_length(self) -> float:
        """How many words a chunk has on average."""
        chunks, tokens = self.totals
        return tokens / chunks if tokens else 1.0

    def gains(self, weights: Mapping[str, float], frequencies: Mapping[str, int]) -> dict[str, float]:
        """Return what each term gives at most; `frequencies` says how many live chunks hold it."""
        return {
            term: weights[term] * lucene_idf(self.size, count) * (K1 + 1)
            for term, count in frequencies.items()
        }

    def scores(self, wanted: Numbers, gains: Mapping[str, float]) -> tuple[Numbers, Column]:
        """Return the live ones of these sorted chunks that hold a term, and their scores."""
        wanted = wanted[is_allowed(wanted, self._live)]
        scores, held = self._scored(wanted, gains, np.array(list(gains.values())))
        holding = held.any(axis=1)
        return wanted[holding], scores[holding]

    def held(self, terms: Sequence[str], wanted: Numbers) -> Mask:
        """Return which of these terms each of these sorted chunks holds: a row per chunk."""
        return self._scored(wanted, terms, np.zeros(len(terms)))[1]

    def _scored(self, wanted: Numbers, terms: Collection[str], gains: Column) -> tuple[Column, Mask]:
        """Return the scores of these sorted chunks, and which terms each holds."""
        scores, held = np.zeros(wanted.size), np.zeros((wanted.size, len(terms)), np.bool_)
        asked = hashes_of(terms), gains, STORED_LENGTHS, self._damping
        score = score_in_python if _native is None or len(terms) > _MOST_TERMS else _native.word_scores
        with places_checked():
            for part in self.parts if terms else ():
                score(part.columns, asked, wanted, scores, held)
        return scores, held

    def best(self, numbers: Numbers, scores: Column, top: int) -> tuple[Numbers, Column]:
        """Return the best chunks with their scores; a tie for the last place is settled by path and line."""
        order = np.argsort(-scores, kind="stable")
        if order.size > top and scores[order[top - 1]] == scores[order[top]]:
            order = np.lexsort((self._keys(numbers), -scores))
        return numbers[order[:top]], scores[order[:top]]


Terms = tuple[NDArray[np.uint32], Column, Column, Column]
"""The hash and the gain of each term, the stored lengths, and the damping for each of those."""


def score_in_python(columns: Columns, terms: Terms, wanted: Numbers, scores: Column, held: Mask) -> None:
    """Put in the BM25 scores of those of these sorted chunks that are here, and which terms they hold."""
    part, (hashes, gains, _, damping) = WordCounts(*columns), terms
    here, rows = _places(part, wanted)
    if not here.size:
        return
    asked = np.array(sorted(set(hashes.tolist())), np.uint32)
    counts = _counts(part, rows, asked)
    damped = damping[step_of(part.lengths[rows])]
    found = np.zeros(here.size)
    for place, (term, gain) in enumerate(zip(hashes, gains, strict=True)):
        count = counts[:, np.searchsorted(asked, term)]
        found += gain * count / (count + damped)
        held[here, place] = count > 0
    scores[here] = found


def _places(part: WordCounts, wanted: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of these sorted chunks are here, and their rows."""
    rows = np.minimum(np.searchsorted(part.numbers, wanted), max(0, part.numbers.size - 1))
    here = np.flatnonzero(part.numbers[rows] == wanted) if part.numbers.size else rows[:0]
    return here, rows[here]


def _counts(part: WordCounts, rows: NDArray[np.intp], hashes: NDArray[np.uint32]) -> Column:
    """Return how often each of these chunks holds each word; `hashes` are sorted."""
    likely = np.zeros(_LOW_BITS + 1, np.bool_)
    likely[hashes & _LOW_BITS] = True
    words = part.words_of(rows)
    near = np.flatnonzero(likely[words & _LOW_BITS])
    columns = np.minimum(np.searchsorted(hashes, words[near]), hashes.size - 1)
    same = hashes[columns] == words[near]
    found, columns = near[same], columns[same]
    ends = np.cumsum(part.widths(rows))
    homes = np.searchsorted(ends, found, side="right")
    counts = np.zeros((rows.size, hashes.size))
    counts[homes, columns] = part.counts[part.starts[rows + 1][homes] - ends[homes] + found]
    return counts


def _stored_lengths() -> Column:
    """Return the 256 lengths that chunks are taken to have: exact up to 24, then eight per doubling."""
    rest = np.arange(256 - _EXACT_LENGTHS)
    steps = np.left_shift(1, np.maximum(0, rest // 8 - 1), dtype=np.int64)
    above = np.where(rest < 8, rest, (rest % 8 + 8) * steps)
    return np.concatenate([np.arange(_EXACT_LENGTHS), _EXACT_LENGTHS + above]).astype(np.float64)


STORED_LENGTHS = _stored_lengths()


def step_of(lengths: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of the stored length that each length is rounded down to."""
    return np.searchsorted(STORED_LENGTHS, lengths, side="right") - 1
