"""Vectors in immutable, memory-mapped files, and the search for the nearest ones.

A commit writes its new vectors as one segment; the list of segments is part of the SQLite
transaction, so readers see whole commits. A row whose file revision is no longer live is
masked, and dropped when segments are merged.

A large segment is written list by list: its rows are grouped around centres. A search reads the
lists whose centres are nearest to the query. It scores their rows exactly and misses those of other lists.

The first bytes of a file
    FSPTVEC3    how many chunks, dimensions and lists, checksum; numbers, scales, order by number, starts and
                centres of lists, rows list by list, or by number where there are no lists
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import make_private_dir, release_pages
from findspot.core.platforms import native
from findspot.store.array_files import map_arrays, write_arrays
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL

LISTED_ROWS = 200_000
"""Smaller segments are scanned whole, which takes them less than ten milliseconds."""

PROBED_SHARE = 0.2
"""Lists that a search reads, as a share of all."""

_TRAINING_ROWS_PER_LIST = 40
"""What k-means wants to see of a list to place its centre."""

_ROUNDS = 6
"""Of k-means: later ones move hardly a row."""

_COMPARED_ROWS = 8_192
"""Rows compared with all centres at a time: their likenesses take some thirty megabytes."""

Floats = NDArray[np.float32]
RowsAt = Callable[[NDArray[np.intp]], NDArray[np.int8]]


@dataclass(frozen=True, slots=True)
class Lists:
    """Where each list of a segment starts, and around what it lies."""

    centres: Floats
    """One unit row per list."""
    starts: NDArray[np.int64]
    """The first row of each list, and the end of the last."""
    by_number: NDArray[np.int32]
    """The rows in the order of their chunks' numbers."""

    def near(self, query: NDArray[np.int8]) -> Iterator[slice]:
        """Yield the rows of the lists nearest to a query; neighbouring lists come as one."""
        likeness = self.centres @ query.astype(np.float32)
        probed = max(1, int(self.centres.shape[0] * PROBED_SHARE))
        chosen = np.sort(np.argpartition(-likeness, probed - 1)[:probed])
        apart = np.flatnonzero(np.diff(chosen) > 1) + 1
        for run in np.split(chosen, apart):
            span = slice(int(self.starts[run[0]]), int(self.starts[run[-1] + 1]))
            if span.start < span.stop:
                yield span


def centres_of(rows_at: RowsAt, count: int) -> Floats:
    """Return where the vectors of some rows gather: k-means by direction over a sample, the same every
    time.
    """
    lists = isqrt(count)
    chance = np.random.default_rng(count)
    sample = _units(
        rows_at(np.sort(chance.choice(count, min(count, lists * _TRAINING_ROWS_PER_LIST), replace=False)))
    )
    centres = sample[chance.choice(sample.shape[0], lists, replace=False)]
    for _ in range(_ROUNDS):
        places = _places(sample, centres)
        order = np.argsort(places, kind="stable")
        taken, firsts = np.unique(places[order], return_index=True)
        centres = centres.copy()
        centres[taken] = _units(np.add.reduceat(sample[order], firsts, axis=0))
    return centres


def lists_of(rows_at: RowsAt, count: int, centres: Floats) -> NDArray[np.int32]:
    """Return the list of each row: that of the nearest centre."""
    found = np.empty(count, np.int32)
    for first in range(0, count, _COMPARED_ROWS):
        block = np.arange(first, min(first + _COMPARED_ROWS, count))
        found[block] = _places(_units(rows_at(block)), centres)
    return found


def _places(rows: Floats, centres: Floats) -> NDArray[np.int32]:
    parts = (rows[first : first + _COMPARED_ROWS] for first in range(0, rows.shape[0], _COMPARED_ROWS))
    return np.concatenate([np.argmax(part @ centres.T, axis=1) for part in parts]).astype(np.int32)


def _units(rows: NDArray[np.int8] | Floats) -> Floats:
    wide = rows.astype(np.float32)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    units: Floats = wide / np.maximum(lengths, np.float32(1e-9))
    return units


_MAGIC = b"FSPTVEC3"
_ALIGN = 64
_BLOCK_ROWS = 16_384
"""Rows written at a time: some megabytes."""

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Segment:
    """The vectors of some chunks: int8 rows, each with the scale that makes it a unit vector."""

    numbers: Numbers
    scales: NDArray[np.float32]
    rows: NDArray[np.int8]
    lists: Lists | None = None

    def places(self, wanted: Numbers) -> tuple[NDArray[np.intp], Mask]:
        """Return the row of each chunk, and whether it is here at all."""
        order = self.lists.by_number if self.lists else None
        found = np.searchsorted(self.numbers, wanted, sorter=order)
        here = found < self.numbers.size
        rows = found[here] if order is None else order[found[here]].astype(np.intp)
        same = self.numbers[rows] == wanted[here]
        here[here] = same
        return rows[same], here


def of_lines(numbers: Numbers) -> Mask:
    """Return whether each chunk holds lines of a file, and is no outline."""
    lines: Mask = (numbers & OUTLINE_ORDINAL) != OUTLINE_ORDINAL
    return lines


def live_rows(segment: Segment, allowed: Mask, *, only_lines: bool = False) -> NDArray[np.intp]:
    """Return the rows of a segment whose file revision is allowed, outlines left out on request."""
    mask = is_allowed(segment.numbers, allowed)
    return np.flatnonzero(mask & of_lines(segment.numbers) if only_lines else mask)


def is_allowed(numbers: Numbers, allowed: Mask) -> Mask:
    """Return whether the file of each chunk is; files unknown to the mask are not."""
    files = numbers >> ORDINAL_BITS
    if files.size and int(files.max()) < allowed.size:
        mask: Mask = allowed[files]
        return mask
    known = files < allowed.size
    return np.where(known, allowed[np.where(known, files, 0)], False)


def write_segment(
    folder: Path, segments: Sequence[Segment], live: Mask, listed_rows: int = LISTED_ROWS
) -> str | None:
    """Write the rows of segments whose file revision is live as one, under a name never used before.

    Rows are read and written in blocks: no segment has to fit into memory.
    """
    # Not those of a cleared index, whose rows may be of another length.
    kept = [pair for pair in ((s, live_rows(s, live)) for s in segments) if pair[1].size]
    if not kept:
        return None
    numbers = np.concatenate([s.numbers[k] for s, k in kept])
    scales = np.concatenate([s.scales[k] for s, k in kept])
    gathered = _Gathered(kept, np.argsort(numbers, kind="stable"))
    lists = None
    if numbers.size >= listed_rows:
        gathered, lists = _arranged(gathered)
    return _write(folder, numbers[gathered.order], scales[gathered.order], lists, gathered)


class _Gathered:
    """The rows of several segments in one order."""

    def __init__(self, kept: Sequence[tuple[Segment, NDArray[np.intp]]], order: NDArray[np.intp]) -> None:
        self._kept = kept
        self.order = order
        self.dimensions = int(kept[0][0].rows.shape[1])

    def rows_at(self, places: NDArray[np.intp]) -> NDArray[np.int8]:
        wanted = self.order[places]
        found = np.empty((wanted.size, self.dimensions), np.int8)
        first = 0
        for segment, keep in self._kept:
            here = (wanted >= first) & (wanted < first + keep.size)
            found[here] = segment.rows[keep[wanted[here] - first]]
            release_pages(segment.rows)
            first += keep.size
        return found

    def blocks(self) -> Iterator[NDArray[np.int8]]:
        for first in range(0, self.order.size, _BLOCK_ROWS):
            yield self.rows_at(np.arange(first, min(first + _BLOCK_ROWS, self.order.size)))

    def reordered(self, places: NDArray[np.intp]) -> _Gathered:
        return _Gathered(self._kept, self.order[places])


def _arranged(gathered: _Gathered) -> tuple[_Gathered, Lists]:
    """Return the same rows list by list, those of a list by number as before."""
    count = gathered.order.size
    centres = centres_of(gathered.rows_at, count)
    lists = lists_of(gathered.rows_at, count, centres)
    by_list = np.argsort(lists, kind="stable")
    by_number = np.empty(count, np.int32)
    by_number[by_list] = np.arange(count, dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=centres.shape[0]))])
    return gathered.reordered(by_list), Lists(centres, starts.astype(np.int64), by_number)


def _write(
    folder: Path, numbers: Numbers, scales: NDArray[np.float32], lists: Lists | None, gathered: _Gathered
) -> str:
    index: list[NDArray[Any]] = [numbers.astype(np.int64), scales.astype(np.float32)]
    if lists:
        index += [lists.by_number, lists.starts, lists.centres]
    sizes = numbers.size, gathered.dimensions, lists.centres.shape[0] if lists else 0
    padding = np.zeros(_lengths(*sizes)[-2], np.uint8)
    name = f"{uuid.uuid4().hex}.seg"
    make_private_dir(folder)
    write_arrays(folder / name, _MAGIC, chain(index, (padding,), gathered.blocks()), lambda: sizes)
    return name


def _lengths(count: int, dimensions: int, lists: int) -> tuple[int, ...]:
    """Return the bytes of each array; the rows, which come last, begin at a multiple of `_ALIGN`."""
    listed = (4 * count, 8 * lists + 8, 4 * lists * dimensions) if lists else (0, 0, 0)
    index = (8 * count, 4 * count, *listed)
    return *index, -sum(index) % _ALIGN, count * dimensions


def open_segment(path: Path, checked: set[str]) -> Segment:
    """Map a segment into memory; `DerivedDamagedError` when it is missing, cut short or altered."""
    numbers, scales, order, starts, centres, _, rows = map_arrays(path, _MAGIC, 3, _lengths, checked)
    shaped = rows.view(np.int8).reshape(numbers.size // 8, -1)
    lists = None
    if starts.size:
        around = centres.view(np.float32).reshape(starts.size // 8 - 1, -1)
        lists = Lists(around, starts.view(np.int64), order.view(np.int32))
    return Segment(numbers.view(np.int64), scales.view(np.float32), shaped, lists)


def remove_unlisted(folder: Path, listed: set[str]) -> None:
    """Delete segments that no snapshot can name any more; a mapped one stays readable."""
    for path in folder.glob("*.seg*"):
        if path.name.partition(".seg")[0] + ".seg" not in listed:
            try:
                path.unlink()
            except OSError:
                continue  # mapped by a reader on Windows: the next merge tries again


_LEAST_ALLOWED = 0.5
"""Share of the rows read that must be allowed for lists to do: among few files, the best chunks
lie in lists further away."""

_FEW = 0.125
"""Share of a segment's rows up to which they are picked out for the comparison: beyond it, all are read."""

_MOST_MASKS = 8
_BLOCK_SCORES = 64

Scores = NDArray[np.float32]


class VectorReader:
    """The vectors of some segments, searched for the nearest ones.

    Scores are cosines up to the query's own scale. `order` settles a tie for the last place.
    """

    def __init__(
        self, segments: Sequence[Segment], order: Callable[[Numbers], Numbers] | None = None
    ) -> None:
        self.segments = segments
        self._order = order
        self._rows: dict[int, tuple[Mask, Sequence[Callable[[], NDArray[np.intp]]]]] = {}
        """By mask, which stays referenced, so that its identity is not given to another."""

    def nearest(
        self, query: NDArray[np.int8], allowed: Mask, top: int, *, exact: bool = False
    ) -> tuple[Numbers, Scores]:
        """Return the `top` chunks of lines nearest to the query among the allowed file revisions, best first.

        `allowed` is indexed by file number. Of a segment with lists nearly all are found, unless `exact`.
        """
        found: list[tuple[Numbers, Scores]] = []
        for segment, keep in zip(self.segments, self._rows_of_lines(allowed), strict=True):
            near = None if exact else _scan_lists(segment, query, allowed, top)
            found.append(near or nearest_in(segment, query, keep(), top))
        return self._merged(found, top)

    def _rows_of_lines(self, allowed: Mask) -> Sequence[Callable[[], NDArray[np.intp]]]:
        """Return, per segment, how to get the rows that a search among these files reads.

        The masks of whole corpora live as long as this reader: their rows are looked up once.
        """
        known = self._rows.get(id(allowed))
        if known is None:
            if len(self._rows) >= _MOST_MASKS:
                self._rows.clear()
            known = allowed, tuple(_once(segment, allowed) for segment in self.segments)
            self._rows[id(allowed)] = known
        return known[1]

    def nearest_among(self, query: NDArray[np.int8], wanted: Numbers, top: int) -> tuple[Numbers, Scores]:
        """Return the `top` nearest of these chunks, outlines included; `wanted` is sorted."""
        found: list[tuple[Numbers, Scores]] = []
        for segment in self.segments:
            places = np.searchsorted(wanted, segment.numbers)
            here = places < wanted.size
            here[here] = wanted[places[here]] == segment.numbers[here]
            keep = np.flatnonzero(here)
            found.append(nearest_in(segment, query, keep, top))
        return self._merged(found, top)

    def scores(self, query: NDArray[np.int8], numbers: Sequence[int]) -> dict[int, float]:
        """Return the scores that `nearest` gives these chunks."""
        wanted = np.array(sorted(numbers), np.int64)
        pairs = zip(wanted.tolist(), self.scores_of(query, wanted).tolist(), strict=True)
        return {number: score for number, score in pairs if score == score}  # noqa: PLR0124 - not a number

    def scores_of(self, query: NDArray[np.int8], wanted: Numbers) -> NDArray[np.float64]:
        """Return the same for chunks in order, not a number for those without a vector."""
        found = np.full(wanted.size, np.nan)
        for segment in self.segments:
            rows, here = segment.places(wanted)
            found[here] = scores_in(segment, query, rows)
        return found

    def _merged(self, found: Sequence[tuple[Numbers, Scores]], top: int) -> tuple[Numbers, Scores]:
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        numbers = np.concatenate([n for n, _ in found])
        scores = np.concatenate([s for _, s in found])
        order = np.lexsort((numbers, -scores))
        if self._order and order.size > top and scores[order[top - 1]] == scores[order[top]]:
            order = np.lexsort((self._order(numbers), -scores))
        return numbers[order[:top]], scores[order[:top]]


def _scan_lists(
    segment: Segment, query: NDArray[np.int8], allowed: Mask, top: int
) -> tuple[Numbers, Scores] | None:
    """Return the best of the lists near the query; None where there are no lists, or they do not do."""
    if segment.lists is None:
        return None
    spans = list(segment.lists.near(query))
    if not spans:
        return None
    numbers = np.concatenate([segment.numbers[span] for span in spans])
    keep = np.flatnonzero(is_allowed(numbers, allowed) & of_lines(numbers))
    if keep.size < max(top, _LEAST_ALLOWED * numbers.size):
        return None
    scales = np.concatenate([segment.scales[span] for span in spans])
    dots = np.concatenate([_dots(segment.rows[span], query) for span in spans])
    return best_in_python(numbers, keep, dots[keep] * scales[keep], top)


def _once(segment: Segment, allowed: Mask) -> Callable[[], NDArray[np.intp]]:
    return cache(lambda: live_rows(segment, allowed, only_lines=True))


_native = native()


def scores_in(segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp]) -> Scores:
    """Return the product of each of these rows and a query, by the row's scale."""
    if _native is None or not keep.size:
        return scores_in_python(segment, query, keep)
    found = np.empty(keep.size, np.float32)
    _native.row_scores(segment.rows, segment.scales, query, np.ascontiguousarray(keep, np.int64), found)
    return found


def scores_in_python(segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp]) -> Scores:
    """Return the same without compiled code."""
    if keep.size <= _FEW * segment.numbers.size:
        dots = _dots(segment.rows[keep], query) if keep.size else np.empty(0, np.float32)
        return dots * segment.scales[keep]
    scores: Scores = _dots(segment.rows, query) * segment.scales
    return scores[keep]


def nearest_in(
    segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp], top: int
) -> tuple[Numbers, Scores]:
    """Return the chunks of the best of these rows, with all that tie for the last place, and their scores."""
    if _native is None or not keep.size or top < 1:
        return best_in_python(segment.numbers, keep, scores_in_python(segment, query, keep), top)
    found: tuple[bytes, bytes] = _native.best_rows(
        segment.rows, segment.scales, query, np.ascontiguousarray(keep, np.int64), top
    )
    places, scores = np.frombuffer(found[0], np.int64), np.frombuffer(found[1], np.float32)
    return segment.numbers[keep[places]], scores


def best_in_python(
    numbers: Numbers, keep: NDArray[np.intp], scores: Scores, top: int
) -> tuple[Numbers, Scores]:
    """Return the best of the rows `keep`, with all that tie for the last place: it is settled by number
    later.
    """
    if scores.size > top:
        near = np.flatnonzero(scores >= _floor(scores, top))
        best = near[scores[near] >= np.partition(scores[near], -top)[-top]]
        keep, scores = keep[best], scores[best]
    return numbers[keep], scores


def _floor(scores: Scores, top: int) -> np.float32:
    """Return a value that at least `top` scores reach, and few more: the best of blocks are looked at."""
    blocks = scores.size // _BLOCK_SCORES
    if blocks < top:
        return np.float32(scores.min())
    peaks = scores[: blocks * _BLOCK_SCORES].reshape(blocks, _BLOCK_SCORES).max(axis=1)
    floor: np.float32 = np.partition(peaks, -top)[-top]
    return floor


def _dots(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    simsimd = _simsimd()
    if simsimd is None:  # the same numbers, in about twice the time
        dots: NDArray[np.int32] = np.einsum("ij,j->i", rows, query, dtype=np.int32)
        return dots.astype(np.float32)
    product: NDArray[np.float64] = np.asarray(simsimd.cdist(query.reshape(1, -1), rows, metric="dot"))
    return product.reshape(-1).astype(np.float32)


@cache
def _simsimd() -> Any:
    """Return the module, or None where there is no wheel for this Python."""
    try:
        import simsimd
    except ImportError:
        return None
    return simsimd
