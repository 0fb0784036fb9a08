"""Tool sets kept ready in the home folder, so that a catalogue of ten thousand tools opens at once.

They are derived from the index files and stamped with their state: one that is missing, damaged or
out of date is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from findspot.catalogue.indexfile import IndexFile, parse_index, read_bytes
from findspot.catalogue.model import CatalogueCorruptError, CatalogueNotFoundError
from findspot.catalogue.toolset import FORMAT, ToolSet, merged, write_toolset
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir
from findspot.core.log import get_logger

_log = get_logger("catalogue")

State = tuple[int, int, int, int]

Written = tuple[bytes, IndexFile]
"""The content of an index file with what it says."""

_UNUSABLE = (OSError, ValueError, KeyError, TypeError, IndexError, EOFError)
"""What a damaged tool set may raise when it is read."""


def open_toolset(home: Path, paths: Sequence[Path], written: Written | None = None) -> ToolSet:
    """Return the tools of the index files that exist, earlier ones first; what was just written is known."""
    states = {path: state for path in paths if (state := state_of(path)) is not None}
    if not states:
        raise CatalogueNotFoundError(" or ".join(map(str, paths)))
    place = home / "catalogues" / _key(paths)
    folder = place / _stamp(states)
    if (folder / "about.json").exists():
        try:
            return ToolSet(folder)
        except _UNUSABLE as error:
            _log.warning("the tool set %s is made again: %s", folder, error)
    files, broken = _parsed([path for path in paths if path in states], written)
    return _make(place, folder, files, broken)


def state_of(path: Path) -> State | None:
    """Return what changes whenever a file does; reading it all only to see that would take longer than a
    search.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _key(paths: Sequence[Path]) -> str:
    return hashlib.sha256("\0".join(map(str, paths)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _stamp(states: Mapping[Path, State]) -> str:
    spelled = repr((FORMAT, [(str(path), state) for path, state in states.items()]))
    return hashlib.sha256(spelled.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _parsed(
    paths: Sequence[Path], written: Written | None
) -> tuple[list[tuple[str, IndexFile]], list[CatalogueCorruptError]]:
    """Return the files that can be read; one that cannot is told of, and fatal only where there is no
    other.
    """
    files, broken = [], []
    for path in paths:
        try:
            data = read_bytes(path) or b""
            same = written is not None and written[0] == data
            files.append((str(path), written[1] if written and same else parse_index(path, data)))
        except CatalogueCorruptError as error:
            broken.append(error)
    if not files:
        raise broken[0]
    return files, broken


def _make(
    place: Path, folder: Path, files: list[tuple[str, IndexFile]], broken: list[CatalogueCorruptError]
) -> ToolSet:
    tools, about = merged(files)
    spoken = tuple(error.user_message for error in broken)
    about = replace(about, warnings=(*spoken, *about.warnings))
    temporary = _new_folder(place)
    write_toolset(temporary, tools, about)
    with contextlib.suppress(OSError):  # another process made the same one, or the home cannot be written
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
        temporary = folder
    _forget_others(place, temporary)
    return ToolSet(temporary)


def _new_folder(place: Path) -> Path:
    """Beside the others, so that a rename puts it in place; elsewhere if the home cannot be written."""
    try:
        make_private_dir(place)
        return Path(tempfile.mkdtemp(dir=place, prefix=f".{os.getpid()}-"))
    except (FindspotError, OSError):
        return Path(tempfile.mkdtemp(prefix="findspot-tools-"))


def _forget_others(place: Path, current: Path) -> None:
    """Sets of earlier contents; a process that still reads one has its files open."""
    if current.parent == place:
        for other in place.iterdir():
            if other != current and not _being_made(other):
                shutil.rmtree(other, ignore_errors=True)


def _being_made(folder: Path) -> bool:
    return folder.name.startswith(".") and not (folder / "about.json").exists()
