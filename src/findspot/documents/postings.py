"""The inverted index: which documents have a token, how often and where.

Documents are written one after the other into a log of token numbers. The occurrences of a token are its
slots in that log: those of the sorted part are one slice, and newer ones are found by a scan, which is cheap
while they are few. Adding is appending; nothing is ever moved.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from findspot.documents.document_query import ParsedQuery, Phrase

Slots = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_TOKEN = 0
"""The number of the gap behind each document, which is no word."""

MIN_UNSORTED = 200_000
"""Up to this many new slots are scanned (0.1 ms per token) instead of sorted."""

MAX_DEAD_SHARE = 0.5
MIN_DEAD = 100_000
"""Removed documents are dropped from the log when they exceed this share and this number of slots."""

ORDER_BYTES = 8
SLOT_BYTES = 16
TERM_BYTES = 160
DOCUMENT_BYTES = 300
"""Approximate memory of a slot (in the order, and in total), a word and a document."""


class Growing:
    """A numpy array that can be appended to."""

    def __init__(self, values: NDArray[np.uint32] | None = None) -> None:
        self._buffer = np.empty(1024, np.uint32) if values is None else values
        self.size = 0 if values is None else values.size

    @property
    def values(self) -> NDArray[np.uint32]:
        return self._buffer[: self.size]

    @property
    def memory_bytes(self) -> int:
        return self._buffer.nbytes

    def extend(self, values: NDArray[np.uint32]) -> None:
        needed = self.size + values.size
        if needed > self._buffer.size:
            larger = np.empty(max(needed, self._buffer.size * 5 // 4), np.uint32)
            larger[: self.size] = self.values
            self._buffer = larger
        self._buffer[self.size : needed] = values
        self.size = needed


class Vocabulary:
    """Tokens and their numbers, which start at one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": NO_TOKEN}

    def encode(self, words: Sequence[str]) -> tuple[NDArray[np.uint32], list[tuple[int, str]]]:
        """Return the numbers of a document's words, and the new tokens with their numbers."""
        numbers = self.numbers
        fresh: list[tuple[int, str]] = []
        for token in words:
            if token not in numbers:
                fresh.append((len(numbers), token))
                numbers[token] = len(numbers)
        return np.fromiter(map(numbers.__getitem__, words), np.uint32, len(words)), fresh


class Postings:
    """Documents by id, as slots of a log. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._lengths: list[int] = []
        self._log = Growing()
        self._documents = Growing()
        self._alive = np.zeros(1024, np.bool_)
        self._order: Slots = np.empty(0, np.int64)
        self._starts: Slots = np.zeros(1, np.int64)
        self._sorted = 0
        self._dead = 0

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, doc_id: str) -> bool:
        return doc_id in self._positions

    @property
    def memory_bytes(self) -> int:
        return (
            self._log.memory_bytes
            + self._documents.memory_bytes
            + self._log.size * ORDER_BYTES
            + len(self.vocabulary.numbers) * TERM_BYTES
            + len(self.ids) * DOCUMENT_BYTES
        )

    @property
    def alive(self) -> Mask:
        return self._alive[: len(self.ids)]

    def add(self, doc_id: str, encoded: NDArray[np.uint32]) -> bool:
        """Append a document; return True if it replaces one."""
        replaced = self.remove(doc_id)
        self.extend([doc_id], [encoded])
        return replaced

    def extend(self, ids: list[str], encoded: Sequence[NDArray[np.uint32]]) -> None:
        """Append documents that are not in the log yet."""
        first, count = len(self.ids), len(ids)
        if first + count > self._alive.size:
            self._alive = np.concatenate([self._alive, np.zeros(first + count, np.bool_)])
        self._alive[first : first + count] = True
        self._positions.update(zip(ids, range(first, first + count), strict=True))
        self.ids.extend(ids)
        lengths = [words.size + 1 for words in encoded]
        self._lengths.extend(lengths)
        gap = np.zeros(1, np.uint32)
        self._log.extend(np.concatenate([part for words in encoded for part in (words, gap)]))
        self._documents.extend(np.repeat(np.arange(first, first + count, dtype=np.uint32), lengths))

    def remove(self, doc_id: str) -> bool:
        position = self._positions.pop(doc_id, None)
        if position is None:
            return False
        self._alive[position] = False
        self._dead += self._lengths[position]
        if self._dead > max(MIN_DEAD, MAX_DEAD_SHARE * self._log.size):
            self._compact()
        return True

    def counts(self, token: str) -> NDArray[np.int64]:
        """Count a token in each document; 0 for removed documents."""
        held = np.bincount(self._documents.values[self._slots(token)], minlength=len(self.ids))
        counts: NDArray[np.int64] = held * self.alive
        return counts

    def holding(self, phrases: Iterable[Phrase]) -> list[Mask]:
        """Return for each phrase which documents have its words in a row."""
        return [self._holding(phrase) for phrase in phrases]

    def _holding(self, phrase: Phrase) -> Mask:
        """Start with the rarest word, and check its neighbours."""
        slots = [self._slots(word) for word in phrase.words]
        rarest = min(range(len(slots)), key=lambda position: slots[position].size)
        first = slots[rarest] - rarest
        log = self._log.values
        first = first[(first >= 0) & (first <= self._log.size - len(slots))]
        for position, word in enumerate(phrase.words):  # a gap between documents is none of these words
            first = first[log[first + position] == self.vocabulary.numbers[word]] if first.size else first
        mask = np.zeros(len(self.ids), np.bool_)
        mask[self._documents.values[first]] = True
        return mask & self.alive

    def _slots(self, token: str) -> Slots:
        number = self.vocabulary.numbers.get(token, NO_TOKEN)
        if number == NO_TOKEN:
            return np.empty(0, np.int64)
        if self._log.size - self._sorted > max(MIN_UNSORTED, self._sorted // 2):
            self._sort()
        fresh = np.flatnonzero(self._log.values[self._sorted :] == number) + self._sorted
        if number + 1 >= self._starts.size:
            return fresh
        settled = self._order[self._starts[number] : self._starts[number + 1]]
        return np.concatenate([settled, fresh]) if fresh.size else settled

    def _sort(self) -> None:
        """Sort all slots by token, with number and slot in one key, since plain sorts are fastest."""
        log = self._log.values
        keys = log.astype(np.uint64) << np.uint64(32)
        keys |= np.arange(log.size, dtype=np.uint64)
        keys.sort()
        keys &= np.uint64(0xFFFF_FFFF)
        self._order = keys.view(np.int64)
        counts = np.bincount(log, minlength=len(self.vocabulary.numbers))
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._sorted = log.size

    def _compact(self) -> None:
        """Rewrite the log without removed documents."""
        alive = self.alive
        remaining = alive[self._documents.values]
        renumbered = (np.cumsum(alive) - 1).astype(np.uint32)
        self._log = Growing(self._log.values[remaining])
        self._documents = Growing(renumbered[self._documents.values[remaining]])
        positions = np.flatnonzero(alive).tolist()
        self._lengths = [self._lengths[position] for position in positions]
        self.ids = [self.ids[position] for position in positions]
        self._positions = {doc_id: position for position, doc_id in enumerate(self.ids)}
        self._alive = np.ones(max(1024, len(self.ids)), np.bool_)
        self._alive[len(self.ids) :] = False
        self._order, self._starts = np.empty(0, np.int64), np.zeros(1, np.int64)
        self._sorted = self._dead = 0


_SCORE_DECIMALS = 9
"""Sums of floats differ in their last bits with the order, which must not decide a tie."""


def rank(postings: Postings, query: ParsedQuery, k: int) -> tuple[list[tuple[str, float]], int]:
    """Return the best `k` documents with their scores, ties by id, and the number of all matches.

    A score is the sum of tf · (ln(N / (df + 1)) + 1) over the query's tokens. If words or phrases are
    required, having them is enough to match: short words score nothing.
    """
    scores = np.zeros(len(postings.ids), np.float64)
    if not len(postings) or not (query.scored or query.required):
        return [], 0
    for token, times in sorted(Counter(query.scored).items()):
        counts = postings.counts(token)
        holding = int(np.count_nonzero(counts))
        scores += counts * (times * (math.log(len(postings) / (holding + 1)) + 1))
    scores = scores.round(_SCORE_DECIMALS)
    matching = _admitted(postings, query)
    if not query.required:
        matching &= scores > 0
    return _best(postings.ids, scores, matching, k), int(np.count_nonzero(matching))


def _admitted(postings: Postings, query: ParsedQuery) -> Mask:
    """Return which documents satisfy the operators."""
    admitted = postings.alive.copy()
    for mask in postings.holding(query.required):
        admitted &= mask
    for mask in postings.holding(query.must_not):
        admitted &= ~mask
    return admitted


def _best(ids: list[str], scores: NDArray[np.float64], matching: Mask, k: int) -> list[tuple[str, float]]:
    positions = np.flatnonzero(matching)
    if positions.size > k:  # only those that tie for the last positions need their ids compared
        last = np.partition(scores[positions], -k)[-k]
        above, tied = positions[scores[positions] > last], positions[scores[positions] == last]
        chosen = heapq.nsmallest(k - above.size, tied.tolist(), key=ids.__getitem__)
        positions = np.concatenate([above, np.array(chosen, np.intp)])
    ranked = sorted(positions.tolist(), key=lambda position: (-scores[position], ids[position]))
    return [(ids[position], float(scores[position])) for position in ranked]
