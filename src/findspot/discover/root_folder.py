"""Open the root of a project, and read a file below it.

File names are spelled as the index spells them; names that pretend to be others are recognised.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from findspot.core.files import Folder, NotRegularError, TooLargeError
from findspot.core.model import Skip, SkipReason, SourceFile

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


def read_file(root: Path, file: SourceFile, max_bytes: int) -> bytes | Skip:
    """Return a file's bytes, or the Skip that says why not; nothing outside the root is ever opened."""
    try:
        with Folder.open(root) as top:
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
