"""Configuration files as text: the mark, encoding and line ends that they have, and keep."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any


class MalformedError(ValueError):
    """A configuration that cannot be read, with the line where it goes wrong."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.line = line
        super().__init__(f"line {line}: {reason}" if line else reason)


@dataclass(frozen=True, slots=True)
class Written:
    """A file's text without its mark of byte order, and how its lines end."""

    text: str
    marked: bool
    newline: str

    @property
    def data(self) -> bytes:
        return (codecs.BOM_UTF8 if self.marked else b"") + self.text.encode()

    def with_text(self, text: str) -> Written:
        return Written(text, self.marked, self.newline)


def decode(data: bytes) -> Written:
    """Return a file's bytes as text; only UTF-8 is understood, as by the clients themselves."""
    marked = data.startswith(codecs.BOM_UTF8)
    try:
        text = data[len(codecs.BOM_UTF8) if marked else 0 :].decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise MalformedError("this is not UTF-8 text", line) from None
    return Written(text, marked, "\r\n" if "\r\n" in text else "\n")


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def merged(values: dict[str, Any], keys: tuple[str, ...], entry: dict[str, Any]) -> dict[str, Any]:
    """Return what a configuration should say once the entry is at the end of `keys`: proof of a change."""
    if not keys:
        return values | entry
    inner = values.get(keys[0], {})
    return values | {keys[0]: merged(inner, keys[1:], entry)}
