"""Small JSON files in the home folder that several processes change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from findspot.core.files import make_private_dir, write_json
from findspot.core.locks import writer_lock

_PATIENCE_S = 30.0


@contextlib.contextmanager
def changing(path: Path, read: Callable[[], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what is stored, and write what the block makes of it; one process at a time."""
    make_private_dir(path.parent)
    with writer_lock(path.with_suffix(".lock"), _PATIENCE_S):
        stored = read()
        yield stored
        write_json(path, stored)
