"""Memory that is free and still held: C's allocator keeps it for later unless it is told not to."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def memory_given_back() -> Iterator[None]:
    """After a block, hand the memory that is free again to the system: half of what indexing took."""
    try:
        yield
    finally:
        trim = _trim()
        if trim is not None:
            trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """glibc's `malloc_trim`; other allocators have none, or do without."""
    if sys.platform != "linux":
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
