"""What keyword search knows of a chunk: its text, where it stands, and its capsule."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from findspot.text.tokens import tokens

STEM_REPEATS = 2
"""A file's name says what it is about; twice, so that it is heard beside a long body."""

FOLDERS = 3
"""The last folders tell the subsystem; those above are the same for the whole project."""


@lru_cache(maxsize=4096)
def path_text(path: str) -> str:
    """Return the words of a path that help to find it."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    return " ".join([stem] * STEM_REPEATS + list(pure.parent.parts[-FOLDERS:]))


def keyword_text(path: str, breadcrumb: str | None, context: str, text: str) -> str:
    """Return the tokens that are indexed for a chunk, joined by spaces."""
    return " ".join(tokens(f"{path_text(path)} {breadcrumb or ''} {context}\n{text}"))
