"""Open the root of a project, or the several roots of one index, and read a file below it.

File names are spelled as the index spells them; names that pretend to be others are recognised.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from findspot.core.files import BY_HANDLE, Folder, NotRegularError, TooLargeError
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.paths import Roots

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, zero-width and direction marks, undecodable bytes, and line separators."""

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks that are invisible, as zero-width characters are."""


def is_plain(name: str) -> bool:
    """Return whether a name needs no cleaning; true for nearly every name."""
    return name.isascii() and name.isprintable()


def nfc(name: str) -> str:
    """Return the composed form: the one spelling the index uses, whichever the disk holds."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def cleaned(name: str) -> str:
    """Return the name as a reader would see it: composed, without what cannot be seen."""
    if is_plain(name):
        return name
    return nfc("".join(char for char in name if not _is_hidden(char)))


def is_unsafe(name: str) -> bool:
    """Return whether a name holds characters that a reader cannot see or a database cannot keep."""
    return not is_plain(name) and any(map(_is_hidden, name))


def spelled_out(name: str) -> str:
    """Return an unsafe name with what is hidden written as escapes, fit for a report."""
    return "".join(_escaped(char) if _is_hidden(char) else char for char in name)


def real_name(name: str, names: Iterable[str]) -> str:
    """Return how the disk spells a name that the index spells in NFC."""
    if name.isascii():
        return name
    spellings = sorted(other for other in names if nfc(other) == name)
    return name if name in spellings or not spellings else spellings[0]


def _is_hidden(char: str) -> bool:
    return char in _FILLERS or unicodedata.category(char) in _HIDDEN_CATEGORIES


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def open_root(root: Path | Roots, *, by_handle: bool = BY_HANDLE) -> Folder:
    """Open the root itself; the one place where a link is followed, as the user named it."""
    roots = Roots.of(root)
    if roots.named:
        return SeveralRoots(roots, by_handle=by_handle)
    return Folder.open(roots.project, by_handle=by_handle)


class SeveralRoots(Folder):
    """A virtual folder that contains the roots under their names."""

    holds_roots = True

    def __init__(self, roots: Roots, *, by_handle: bool) -> None:
        super().__init__("", None, roots.project.stat().st_uid)
        self._roots = dict(roots.named)
        self._by_handle = by_handle

    def enter(self, name: str) -> Folder:
        return open_root(self._root(name), by_handle=self._by_handle)

    def scan(self) -> list[os.DirEntry[str]]:
        entries = [_RootEntry(name, folder) for name, folder in self._roots.items()]
        return cast("list[os.DirEntry[str]]", entries)

    def lstat(self, name: str) -> os.stat_result:
        return self._root(name).stat()

    def read(self, name: str, max_bytes: int) -> bytes:
        raise FileNotFoundError(errno.ENOENT, "no file beside the roots", name)

    def _root(self, name: str) -> Path:
        if name not in self._roots:
            raise FileNotFoundError(errno.ENOENT, "no root of that name", name)
        return self._roots[name]


class _RootEntry:
    """A root as a listing shows it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._folder.stat()

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return True


def read_file(root: Path | Roots, file: SourceFile, max_bytes: int) -> bytes | Skip:
    """Return a file's bytes, or the Skip that says why not; nothing outside the root is ever opened."""
    try:
        with open_root(root) as top:
            return _read_below(top, file.path.split("/"), max_bytes)
    except OSError as error:
        return _skip(file.path, error)


def _read_below(folder: Folder, parts: list[str], max_bytes: int) -> bytes:
    name, *rest = parts
    if not name.isascii():
        name = real_name(name, (entry.name for entry in folder.scan()))
    if not rest:
        return folder.read(name, max_bytes)
    with folder.enter(name) as inner:
        return _read_below(inner, rest, max_bytes)


def _skip(path: str, error: OSError) -> Skip:
    if isinstance(error, TooLargeError):
        return Skip(path, SkipReason.TOO_LARGE, f"{error.size} bytes")
    if error.errno == errno.EINVAL and not isinstance(error, NotRegularError):
        return Skip(path, SkipReason.UNSAFE_NAME, "not a path inside the project")
    if isinstance(error, NotRegularError | IsADirectoryError) or error.errno == errno.ENXIO:
        return Skip(path, SkipReason.NOT_REGULAR)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Skip(path, SkipReason.VANISHED)
    if error.errno == errno.ELOOP:
        return Skip(path, SkipReason.SYMLINK)
    return Skip(path, SkipReason.UNREADABLE, os.strerror(error.errno or 0))
