"""Vectors in immutable, memory-mapped files, and the search for the nearest ones.

A commit writes its new vectors as one segment; the list of segments is part of the SQLite
transaction, so readers see whole commits. A row whose file revision is no longer live is
masked, and dropped when segments are merged.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import make_private_dir, release_pages
from findspot.core.platforms import native
from findspot.store.array_files import map_arrays, write_arrays
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL

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


def places_of(numbers: Numbers, wanted: Numbers) -> tuple[NDArray[np.intp], Mask]:
    """Return the place of each wanted number that is among sorted ones, and which of them are."""
    rows = np.searchsorted(numbers, wanted)
    here = rows < numbers.size
    rows = rows[here]
    same = numbers[rows] == wanted[here]
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


def mask_of(files: Collection[int], size: int | None = None) -> Mask:
    """Return a mask over file numbers that is true for these."""
    mask = np.zeros(max(files, default=0) + 1 if size is None else size, np.bool_)
    mask[list(files)] = True
    return mask


def write_segment(folder: Path, segments: Sequence[Segment], live: Mask) -> str | None:
    """Write the rows of segments whose file revision is live as one, under a name never used before.

    Rows are read and written in blocks: no segment has to fit into memory.
    """
    # Not those of a cleared index, whose rows may be of another length.
    kept = [pair for pair in ((s, live_rows(s, live)) for s in segments) if pair[1].size]
    if not kept:
        return None
    numbers = np.concatenate([s.numbers[k] for s, k in kept])
    scales = np.concatenate([s.scales[k] for s, k in kept])
    order = np.argsort(numbers, kind="stable")
    name = f"{uuid.uuid4().hex}.seg"
    make_private_dir(folder)
    arrays = {"numbers": [numbers[order]], "scales": [scales[order]], "rows": _row_blocks(kept, order)}
    write_arrays(folder / name, arrays)
    return name


def _row_blocks(
    kept: Sequence[tuple[Segment, NDArray[np.intp]]], order: NDArray[np.intp]
) -> Iterator[NDArray[np.int8]]:
    dimensions = kept[0][0].rows.shape[1]
    for begin in range(0, order.size, _BLOCK_ROWS):
        wanted = order[begin : begin + _BLOCK_ROWS]
        found = np.empty((wanted.size, dimensions), np.int8)
        first = 0
        for segment, keep in kept:
            here = (wanted >= first) & (wanted < first + keep.size)
            found[here] = segment.rows[keep[wanted[here] - first]]
            release_pages(segment.rows)
            first += keep.size
        yield found


def open_segment(path: Path) -> Segment:
    """Map a segment into memory; `DerivedDamagedError` when it is missing, cut short or altered."""
    return Segment(**map_arrays(path))


def remove_unlisted(folder: Path, listed: set[str]) -> None:
    """Delete segments that no snapshot can name any more; a mapped one stays readable."""
    for path in folder.glob("*.seg*"):
        if path.name.partition(".seg")[0] + ".seg" not in listed:
            try:
                path.unlink()
            except OSError:
                continue  # mapped by a reader on Windows: the next merge tries again


_FEW = 0.125
"""Share of a segment's rows up to which they are picked out for the comparison: beyond it, all are read."""

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
        self._live: tuple[Mask | None, Sequence[NDArray[np.intp]]] = None, ()

    def nearest(self, query: NDArray[np.int8], allowed: Mask, top: int) -> tuple[Numbers, Scores]:
        """Return the `top` chunks of lines nearest to the query among the allowed file revisions, best first.

        `allowed` is indexed by file number.
        """
        known, live = self._live
        if known is not allowed:  # it is another one only where a question filters files
            live = [live_rows(segment, allowed, only_lines=True) for segment in self.segments]
            self._live = allowed, live
        pairs = zip(self.segments, live, strict=True)
        return self._merged([nearest_in(segment, query, rows, top) for segment, rows in pairs], top)

    def begin(self, query: NDArray[np.int8], allowed: Mask, top: int) -> Callable[[], tuple[Numbers, Scores]]:
        """Begin to look for the nearest, where that takes long; what it returns waits for them."""
        if not (top and query.any()):
            return lambda: (np.empty(0, np.int64), np.empty(0, np.float32))
        return partial(self.nearest, query, allowed, top)

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
            rows, here = places_of(segment.numbers, wanted)
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


_native = native()


def scores_in(segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp]) -> Scores:
    """Return the product of each of these rows and a query, by the row's scale."""
    if _native is None or not keep.size:
        return scores_in_python(segment, query, keep)
    found = np.empty(keep.size, np.float32)
    _native.row_scores(segment.rows, segment.scales, query, np.ascontiguousarray(keep, np.int64), found)
    return found


def scores_in_python(segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp]) -> Scores:
    if keep.size <= _FEW * segment.numbers.size:
        dots = _dots(segment.rows[keep], query) if keep.size else np.empty(0, np.float32)
        return dots * segment.scales[keep]
    scores: Scores = _dots(segment.rows, query) * segment.scales
    return scores[keep]


def nearest_in(
    segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp], top: int
) -> tuple[Numbers, Scores]:
    """Return the chunks of the best of these rows, with all that tie for the last place, and their scores."""
    scores = scores_in(segment, query, keep)
    if scores.size > top:
        best = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
        keep, scores = keep[best], scores[best]
    return segment.numbers[keep], scores


def _dots(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    dots: NDArray[np.int32] = np.einsum("ij,j->i", rows, query, dtype=np.int32)
    return dots.astype(np.float32)
