"""Names of files as the index spells them, and names that pretend to be others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

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
