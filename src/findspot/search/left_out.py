"""Name the files that fit a question but are not in the index: silence would look like an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

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
        self._files: list[tuple[Skip, str, frozenset[str]]] | None = None

    def of(self, snapshot: Snapshot) -> list[tuple[Skip, str, frozenset[str]]]:
        """Return each file with its name in lower case, and the words by which a question may ask for it."""
        if self._files is None:
            skips = snapshot.skips.all(*_REASONS)
            self._files = [(skip, _name_of(skip).lower(), _words_of_name(skip)) for skip in skips]
        return self._files


def fitting_question(snapshot: Snapshot, query: Query) -> str | None:
    """Return which files that are left out fit the words of a question."""
    text = query.text.lower()
    plain = [] if read_query(query.text).is_long else [word.strip(_MARKS) for word in text.split()]
    asked = frozenset(stem(word) for word in plain if word.isalnum())
    under = f"{query.under.rstrip('/')}/" if query.under else ""

    def fits(skip: Skip, name: str, words: frozenset[str]) -> bool:
        is_named = name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)
        return (bool(is_named) or _has_name(skip, words, asked)) and skip.path.startswith(under)

    left_out = snapshot.memo(_LeftOut).of(snapshot)
    return _note([each[0] for each in left_out if fits(*each)], "the question by its name")


def fitting_pattern(snapshot: Snapshot, matches: Callable[[str], object]) -> str | None:
    """Return which files that are left out have a path that matches."""
    left_out = snapshot.memo(_LeftOut).of(snapshot)
    return _note([skip for skip, *_ in left_out if matches(skip.path)], "the pattern")


def _note(found: Sequence[Skip], what: str) -> str | None:
    notes = [f"{skip.path} fits {what}; it is left out because {_why(skip)}." for skip in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        notes.append(f"So are {len(found) - _MOST_NAMED:,} more: `findspot status --skipped` lists them.")
    return " ".join(notes) or None


def _name_of(skip: Skip) -> str:
    return skip.path.rstrip("/").rpartition("/")[2]


def _has_name(skip: Skip, words: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether a question has all words of a file's name.

    One word is enough for a file of credentials, since few others are called so. Other names have several
    words, or make up half of the question.
    """
    has_all = bool(words) and asked.issuperset(words)
    return has_all and (len(words) > 1 or len(asked) <= 2 or _holds_credentials(skip))


def _words_of_name(skip: Skip) -> frozenset[str]:
    """Return the words by which a question may ask for a file; none for lock files, logs, dependencies."""
    if skip.reason is SkipReason.DENIED and not _holds_credentials(skip):
        return frozenset()
    name = _name_of(skip)
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
