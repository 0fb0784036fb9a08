"""Vectors in immutable, memory-mapped segments, scanned exactly.

A commit writes its new vectors as one segment; the list of segments is part of the SQLite
transaction, so readers see whole commits. A row whose file revision is no longer live is
masked, and dropped when segments are merged.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError
from findspot.core.files import write_atomic
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
    header = _MAGIC + np.array([count, dimensions], np.int64).tobytes()
    name = f"{uuid.uuid4().hex}.seg"
    parts = [
        header.ljust(_HEADER_BYTES, b"\0"),
        segment.numbers.astype(np.int64).tobytes(),
        segment.scales.astype(np.float32).tobytes(),
    ]
    size = sum(map(len, parts))
    parts.append(b"\0" * (-size % _ALIGN))
    parts.append(np.ascontiguousarray(segment.rows, np.int8).tobytes())
    folder.mkdir(exist_ok=True)
    write_atomic(folder / name, b"".join(parts))
    return name


def open_segment(path: Path) -> Segment:
    """Map a segment into memory; `IndexCorruptError` when it is missing or cut short."""
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
    except (OSError, ValueError) as error:
        raise IndexCorruptError(f"vector segment {path.name}: {error}") from error
    return Segment(
        numbers=data[_HEADER_BYTES:numbers_end].view(np.int64),
        scales=data[numbers_end:scales_end].view(np.float32),
        rows=data[rows_start:].view(np.int8).reshape(count, dimensions),
    )


def scan(
    segments: Sequence[Segment], query: NDArray[np.int8], allowed: Mask, top: int
) -> tuple[Numbers, NDArray[np.float32]]:
    """The `top` chunks of lines nearest to the query among the allowed file revisions, best first.

    `allowed` is indexed by file number. Scores are cosines up to the query's own scale. Ties
    break by chunk number, so that the same snapshot gives the same answer.
    """
    found: list[tuple[Numbers, NDArray[np.float32]]] = []
    for segment in segments:
        keep = np.flatnonzero(_mask(allowed, segment.files) & segment.of_lines)
        if keep.size == 0:
            continue
        scores = _dots(segment.rows, query)[keep] * segment.scales[keep]
        if keep.size > top:
            best = np.argpartition(-scores, top - 1)[:top]
            keep, scores = keep[best], scores[best]
        found.append((segment.numbers[keep], scores))
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


def _mask(allowed: Mask, files: Numbers) -> Mask:
    known = files < allowed.size
    return np.where(known, allowed[np.where(known, files, 0)], False)


def _dots(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    import numkong

    packed = numkong.dots_pack(np.ascontiguousarray(query.reshape(1, -1)))
    product: NDArray[np.float32] = np.asarray(numkong.dots_packed(rows, packed))[:, 0].astype(np.float32)
    return product


def merge(segments: Sequence[Segment], live: Mask) -> Segment:
    """One segment of all rows whose file revision is live, in chunk order."""
    kept = [(s, np.flatnonzero(_mask(live, s.files))) for s in segments]
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
