"""Files of named arrays, written once and mapped into memory: what the segments of an index consist of.

A checksum of all that follows comes first, then the arrays, each at a multiple of 64 bytes. The end of a file
says what they are and where: JSON, and the length of that.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.files import State, check_exhausted, file_checksum, replacing, state_of
from findspot.store.records import DerivedDamagedError

_NUMBER_BYTES = 8
_ALIGN = 64


def write_arrays(path: Path, arrays: Mapping[str, Iterable[NDArray[Any]]]) -> None:
    """Write arrays one after the other, each in blocks of one kind; an array has at least one."""
    checksum = 0
    places = {}
    with replacing(path) as out:

        def write(data: bytes | memoryview) -> None:
            nonlocal checksum
            checksum = zlib.crc32(data, checksum)
            out.write(data)

        out.write(bytes(_NUMBER_BYTES))
        for name, blocks in arrays.items():
            write(bytes(-out.tell() % _ALIGN))
            begin = out.tell()
            for block in blocks:
                write(np.ascontiguousarray(block).data)
            places[name] = begin, out.tell(), block.dtype.str, block.shape[1:]
        listed = json.dumps(places).encode()
        write(listed)
        write(len(listed).to_bytes(_NUMBER_BYTES, "little"))
        out.seek(0)
        out.write(checksum.to_bytes(_NUMBER_BYTES, "little"))


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map a file; `DerivedDamagedError` when it is missing, cut short or altered."""
    try:
        data = np.memmap(path, np.uint8, "r").view(np.ndarray)
        checksum = int.from_bytes(data[:_NUMBER_BYTES].tobytes(), "little")
        if _checksum(path, state_of(path)) != checksum:
            raise ValueError("written by another version, or damaged")
        length = int.from_bytes(data[-_NUMBER_BYTES:].tobytes(), "little")
        places = json.loads(data[-_NUMBER_BYTES - length : -_NUMBER_BYTES].tobytes())
        arrays = {
            name: data[begin:end].view(kind).reshape(-1, *shape)
            for name, (begin, end, kind, shape) in places.items()
        }
    except (OSError, ValueError, TypeError, AttributeError) as error:
        check_exhausted(error, path)
        raise DerivedDamagedError(f"{path.name}: {error}") from error
    return arrays


@lru_cache(1_000)
def _checksum(path: Path, _state: State | None) -> int:
    """Return the checksum of a file, which is read once while its state is the same."""
    return file_checksum(path, _NUMBER_BYTES)
