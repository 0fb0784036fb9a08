"""Vectors in immutable, memory-mapped segments, scanned exactly.

A commit writes its new vectors as one segment; the list of segments is part of the SQLite
transaction, so readers see whole commits. A row whose file revision is no longer live is
masked, and dropped when segments are merged.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import write_atomic
from findspot.store.records import DerivedDamagedError
from findspot.store.schema import ORDINAL_BITS, OUTLINE_ORDINAL

_MAGIC = b"FSPTVEC1"
_HEADER_BYTES = 64
_ALIGN = 64

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segment:
    """The vectors of some chunks: int8 rows, each with the scale that makes it a unit vector."""

    numbers: Numbers
    scales: NDArray[np.float32]
    rows: NDArray[np.int8]

    @property
    def files(self) -> Numbers:
        return self.numbers >> ORDINAL_BITS

    @property
    def of_lines(self) -> Mask:
        """True for chunks of lines, false for outlines."""
        lines: Mask = (self.numbers & OUTLINE_ORDINAL) != OUTLINE_ORDINAL
        return lines


def write_segment(folder: Path, segment: Segment) -> str:
    """Write a segment under a name never used before, and return the name."""
    count, dimensions = segment.rows.shape
    counts = np.array([count, dimensions], np.int64).tobytes()
    index = segment.numbers.astype(np.int64).tobytes() + segment.scales.astype(np.float32).tobytes()
    rows = np.ascontiguousarray(segment.rows, np.int8).tobytes()
    body = index + b"\0" * (-len(index) % _ALIGN) + rows
    header = _MAGIC + counts + zlib.crc32(body, zlib.crc32(counts)).to_bytes(4, "little")
    name = f"{uuid.uuid4().hex}.seg"
    folder.mkdir(exist_ok=True)
    write_atomic(folder / name, header.ljust(_HEADER_BYTES, b"\0") + body)
    return name


def open_segment(path: Path, checked: set[str]) -> Segment:
    """Map a segment into memory; `DerivedDamagedError` when it is missing, cut short or altered.

    `checked` names the files whose checksum need not be computed again: they never change.
    """
    try:
        data = np.memmap(path, np.uint8, "r")
        if data[:8].tobytes() != _MAGIC:
            raise ValueError("not a vector segment")
        count, dimensions = (int(n) for n in data[8:24].view(np.int64))
        numbers_end = _HEADER_BYTES + 8 * count
        scales_end = numbers_end + 4 * count
        rows_start = scales_end + (-scales_end % _ALIGN)
        if data.size != rows_start + count * dimensions:
            raise ValueError("wrong size")
        if path.name not in checked and _checksum(data) != int.from_bytes(data[24:28].tobytes(), "little"):
            raise ValueError("wrong checksum")
    except (OSError, ValueError) as error:
        raise DerivedDamagedError(f"vector segment {path.name}: {error}") from error
    checked.add(path.name)
    return Segment(
        numbers=data[_HEADER_BYTES:numbers_end].view(np.int64),
        scales=data[numbers_end:scales_end].view(np.float32),
        rows=data[rows_start:].view(np.int8).reshape(count, dimensions),
    )


def _checksum(data: NDArray[np.uint8]) -> int:
    return zlib.crc32(data[_HEADER_BYTES:].data, zlib.crc32(data[8:24].data))


def scan(
    segments: Sequence[Segment], query: NDArray[np.int8], allowed: Mask, top: int
) -> tuple[Numbers, NDArray[np.float32]]:
    """The `top` chunks of lines nearest to the query among the allowed file revisions, best first.

    `allowed` is indexed by file number. Scores are cosines up to the query's own scale. Ties
    break by chunk number, so that the same snapshot gives the same answer.
    """
    found: list[tuple[Numbers, NDArray[np.float32]]] = []
    for segment in segments:
        keep = live_rows(segment, allowed, only_lines=True)
        if keep.size == 0:
            continue
        found.append(_best(segment, _dots(segment.rows, query), keep, top))
    return _merged(found, top)


def scan_among(
    segments: Sequence[Segment], query: NDArray[np.int8], wanted: Numbers, top: int
) -> tuple[Numbers, NDArray[np.float32]]:
    """The `top` nearest of these chunks, outlines and all; `wanted` is sorted."""
    found: list[tuple[Numbers, NDArray[np.float32]]] = []
    for segment in segments:
        places = np.searchsorted(wanted, segment.numbers)
        here = places < wanted.size
        here[here] = wanted[places[here]] == segment.numbers[here]
        keep = np.flatnonzero(here)
        if keep.size:
            found.append(_best(segment, _dots(segment.rows, query), keep, top))
    return _merged(found, top)


def _best(
    segment: Segment, dots: NDArray[np.float32], keep: NDArray[np.intp], top: int
) -> tuple[Numbers, NDArray[np.float32]]:
    scores = dots[keep] * segment.scales[keep]
    if keep.size > top:  # with all that tie for the last place: it is settled by number later
        best = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
        keep, scores = keep[best], scores[best]
    return segment.numbers[keep], scores


def _merged(
    found: Sequence[tuple[Numbers, NDArray[np.float32]]], top: int
) -> tuple[Numbers, NDArray[np.float32]]:
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    numbers = np.concatenate([n for n, _ in found])
    scores = np.concatenate([s for _, s in found])
    order = np.lexsort((numbers, -scores))[:top]
    return numbers[order], scores[order]


def score_of(
    segments: Sequence[Segment], query: NDArray[np.int8], numbers: Sequence[int]
) -> dict[int, float]:
    """The scores that `scan` would give these chunks. Segments are sorted by chunk number."""
    wanted = np.array(sorted(numbers), np.int64)
    found: dict[int, float] = {}
    for segment in segments:
        places = np.searchsorted(segment.numbers, wanted)
        here = places < segment.numbers.size
        here[here] = segment.numbers[places[here]] == wanted[here]
        rows = places[here]
        scores = (segment.rows[rows].astype(np.int32) @ query.astype(np.int32)) * segment.scales[rows]
        found.update(zip(wanted[here].tolist(), scores.tolist(), strict=True))
    return found


def live_rows(segment: Segment, allowed: Mask, *, only_lines: bool = False) -> NDArray[np.intp]:
    """The rows of a segment whose file revision is allowed, outlines left out on request."""
    mask = _mask(allowed, segment.files)
    return np.flatnonzero(mask & segment.of_lines if only_lines else mask)


def _mask(allowed: Mask, files: Numbers) -> Mask:
    known = files < allowed.size
    return np.where(known, allowed[np.where(known, files, 0)], False)


def _dots(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    import simsimd

    # Its answer is float64: exact for sums of products of int8.
    product = np.asarray(simsimd.cdist(query.reshape(1, -1), rows, metric="dot"))
    return product.reshape(-1).astype(np.float32)


def merge(segments: Sequence[Segment], live: Mask) -> Segment:
    """One segment of all rows whose file revision is live, in chunk order."""
    found = [(s, live_rows(s, live)) for s in segments]
    # Not those of a cleared index, whose rows may be of another length.
    kept = [pair for pair in found if pair[1].size] or found[:1]
    numbers = np.concatenate([s.numbers[k] for s, k in kept])
    order = np.argsort(numbers, kind="stable")
    return Segment(
        numbers=numbers[order],
        scales=np.concatenate([s.scales[k] for s, k in kept])[order],
        rows=np.concatenate([s.rows[k] for s, k in kept])[order],
    )


def remove_unlisted(folder: Path, listed: set[str]) -> None:
    """Delete segments that no snapshot can name any more; a mapped one stays readable."""
    for path in folder.glob("*.seg"):
        if path.name not in listed:
            try:
                os.unlink(path)  # noqa: PTH108
            except OSError:
                continue  # mapped by a reader on Windows: the next merge tries again
