"""The user's global ignore file, found as git finds it and without running git.

Only the user's own configuration is read. What a repository's `.git/config` says about
`core.excludesFile` does not count: whoever made the repository would choose what is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from findspot.core.config import git_configuration
from findspot.core.files import TOO_MANY_OPEN, out_of_resources, read_named, stat_of

_MAX_BYTES = 1024 * 1024
_MAX_INCLUDES = 10
"""How deep files may include each other, as with git."""

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*("(?:[^"\\]|\\.)*")?\s*\](.*)', re.S)
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=(.*)", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

Stamp = tuple[str, int, int, int, int]
"""A file as it is now: its path, times of writing and of any change, size and number."""


def global_excludes() -> Path | None:
    """Return where the user's global ignore file is, whether or not it exists."""
    files, default = git_configuration()
    chosen: Path | None = default
    for file in files:
        for key, value in _entries_of(file, _MAX_INCLUDES):
            if key == "core.excludesfile":
                chosen = Path(os.path.expanduser(value)) if value else None  # noqa: PTH111 - never raises
    return chosen


def _entries_of(file: Path, includes: int) -> Iterator[tuple[str, str]]:
    """Yield the entries of a file and, where they stand, those of the files that it includes."""
    stamp = stamp_of(file)
    for key, value in _read(stamp) if stamp else ():
        yield key, value
        if key == "include.path" and includes:
            yield from _entries_of(file.parent / os.path.expanduser(value), includes - 1)  # noqa: PTH111


def stamp_of(path: Path) -> Stamp | None:
    """Return what tells one version of a file from another; None where there is none."""
    info = stat_of(path)
    if info is None:
        return None
    return str(path), info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


@lru_cache(maxsize=32)
def _read(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    try:
        text = read_named(Path(stamp[0]), _MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in TOO_MANY_OPEN:
            raise out_of_resources(Path(stamp[0]), error.errno) from error
        return ()
    return tuple(parse(text))


def parse(text: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a git configuration file as `section.key`, lower-cased, and value.

    Entries of a section with a sub-section are left out: none of them matters here.
    """
    section = ""
    for line in _logical_lines(text):
        if heading := _SECTION.match(line):
            section = "" if heading[2] else heading[1].lower()
        entry = _ENTRY.match(heading[3] if heading else line)
        if entry and section:
            yield f"{section}.{entry[1].lower()}", _value(entry[2])


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines of a file; one that ends in a backslash goes on in the next."""
    begun = ""
    for line in text.removeprefix("\ufeff").splitlines():
        begun += line
        if begun.lstrip().startswith(("#", ";")):
            begun = ""
        elif (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
        else:
            yield begun
            begun = ""


def _value(text: str) -> str:
    """Return a value without its quotes, escapes, comment and outer spaces."""
    value, quoted, end = "", False, 0
    chars = iter(text.lstrip())
    for char in chars:
        if char == '"':
            quoted, end = not quoted, len(value)
        elif char in "#;" and not quoted:
            break
        else:
            escaped = next(chars, "") if char == "\\" else None
            value += char if escaped is None else _ESCAPES.get(escaped, escaped)
            if quoted or not value[-1:].isspace():
                end = len(value)
    return value[:end]
