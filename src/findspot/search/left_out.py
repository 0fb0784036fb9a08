"""Name the files that fit a question but are not in the index: silence would look like an answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from findspot.core.languages import PLAIN, language_of
from findspot.core.model import Query, Skip, SkipReason
from findspot.core.paths import is_secret_path
from findspot.rank.intent import read_query
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import parts, stem

_REASONS = (SkipReason.DENIED, SkipReason.SECRET, SkipReason.TOO_LARGE)
_MOST_NAMED = 2
_MARKS = ".,;:?!\"'`()"


class _LeftOut:
    """The files that are left out, read once: they are the same at the next question."""

    def __init__(self) -> None:
        self._skips: list[Skip] | None = None

    def of(self, snapshot: Snapshot) -> list[Skip]:
        if self._skips is None:
            self._skips = snapshot.skips.all(*_REASONS)
        return self._skips


def fitting_question(snapshot: Snapshot, query: Query) -> str | None:
    """Return which files that are left out fit the words of a question."""
    text = query.text.lower()
    plain = [] if read_query(query.text).is_long else [word.strip(_MARKS) for word in text.split()]
    asked = frozenset(stem(word) for word in plain if word.isalnum())
    under = f"{query.under.rstrip('/')}/" if query.under else ""

    def fits(skip: Skip) -> bool:
        return skip.path.startswith(under) and (_is_named(skip.path, text) or _has_name(skip, asked))

    return _note(snapshot, fits, "the question by its name")


def fitting_pattern(snapshot: Snapshot, matches: Callable[[str], object]) -> str | None:
    """Return which files that are left out have a path that matches."""
    return _note(snapshot, lambda skip: bool(matches(skip.path)), "the pattern")


def _note(snapshot: Snapshot, fits: Callable[[Skip], bool], what: str) -> str | None:
    found = [skip for skip in snapshot.memo(_LeftOut).of(snapshot) if fits(skip)]
    notes = [f"{skip.path} fits {what}; it is left out because {_why(skip)}." for skip in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        notes.append(f"So are {len(found) - _MOST_NAMED:,} more: `findspot status --skipped` lists them.")
    return " ".join(notes) or None


def _is_named(path: str, text: str) -> bool:
    name = path.rstrip("/").rpartition("/")[2].lower()
    return name in text and bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text))


def _has_name(skip: Skip, asked: frozenset[str]) -> bool:
    """Return whether a question has all words of a file's name.

    One word is enough for a file of credentials, since few others are called so. Other names have several
    words, or make up half of the question.
    """
    words = _words_of_name(skip)
    enough = len(words) > 1 or len(asked) <= 2 or _holds_credentials(skip)
    return bool(words) and asked.issuperset(words) and enough


@functools.lru_cache(maxsize=10_000)  # the same files are left out at the next question
def _words_of_name(skip: Skip) -> frozenset[str]:
    """Return the words by which a question may ask for a file; none for lock files, logs, dependencies."""
    if skip.reason is SkipReason.DENIED and not _holds_credentials(skip):
        return frozenset()
    name = skip.path.rstrip("/").rpartition("/")[2]
    bare, dot, ending = name.rpartition(".")
    tells = language_of(name) == PLAIN or is_secret_path(f"x{dot}{ending}")  # as in `server.key`
    return frozenset(stem(part) for part in parts(name if tells else bare))


def _holds_credentials(skip: Skip) -> bool:
    return skip.reason is SkipReason.DENIED and is_secret_path(
        f"{skip.path}." if skip.path.endswith("/") else skip.path
    )


def _why(skip: Skip) -> str:
    if skip.reason is SkipReason.TOO_LARGE:
        return "it is larger than maxFileSize"
    if skip.reason is SkipReason.SECRET:
        return skip.detail
    return "it holds credentials" if _holds_credentials(skip) else "such files are never indexed"
