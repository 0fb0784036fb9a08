"""Files of arrays, written once and mapped into memory: what the segments of an index consist of.

The first bytes say what kind of file it is. Numbers that give the sizes of the arrays follow, and a checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import check_exhausted, file_checksum, replacing
from findspot.store.records import DerivedDamagedError

HEADER_BYTES = 64


def write_arrays(
    path: Path, magic: bytes, arrays: Iterable[NDArray[Any]], sizes: Callable[[], Sequence[int]]
) -> None:
    """Write arrays one after the other; `sizes`, asked at the end, returns the numbers of the header."""
    with replacing(path) as out:
        out.write(bytes(HEADER_BYTES))
        checksum = 0
        for array in arrays:
            data = np.ascontiguousarray(array).data
            checksum = zlib.crc32(data, checksum)
            out.write(data)
        header = np.array(sizes(), np.int64).tobytes()
        out.seek(0)
        out.write(magic + header + zlib.crc32(header, checksum).to_bytes(8, "little"))


def map_arrays(
    path: Path, magic: bytes, numbers: int, lengths: Callable[..., Iterable[int]], checked: set[str]
) -> list[NDArray[np.uint8]]:
    """Map a file; `DerivedDamagedError` when it is missing, cut short or altered.

    `lengths` returns the bytes of each array from the numbers of the header. `checked` names the files whose
    checksum need not be computed again: they never change.
    """
    try:
        data = np.memmap(path, np.uint8, "r").view(np.ndarray)
        if data[: len(magic)].tobytes() != magic or data.size < HEADER_BYTES:
            raise ValueError("written by another version, or damaged")
        header = data[len(magic) :][: 8 * numbers + 8].view(np.int64)
        *sizes, checksum = header.tolist()
        ends = np.cumsum([HEADER_BYTES, *lengths(*sizes)]).tolist()
        if data.size != ends[-1]:
            raise ValueError("wrong size")
        if path.name not in checked:
            found = zlib.crc32(header[:-1].data, file_checksum(path, HEADER_BYTES))
            if found != checksum:
                raise ValueError("wrong checksum")
    except (OSError, ValueError) as error:
        check_exhausted(error, path)
        raise DerivedDamagedError(f"{path.name}: {error}") from error
    checked.add(path.name)
    return [data[begin:end] for begin, end in pairwise(ends)]
