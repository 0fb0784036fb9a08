"""Ignore files, read as git reads them: nested, last match wins, deepest file first.

Written by hand rather than taken from a walker: the same rules must answer for one path as for
a whole tree, and a `.gitignore` that is a link or a FIFO must not be opened. Nearly all rules
are plain names, endings or paths, which three dictionaries answer at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import MAX_PATTERN_CHARS, path_regex
from findspot.discover.names import nfc

GITIGNORE = ".gitignore"
OWN_IGNORE = ".findspotignore"
MAX_IGNORE_BYTES = 1024 * 1024

_MAGIC = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*(\.[^./*?\[\\]+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    glob: str
    negated: bool
    folders_only: bool
    anchored: bool
    source: str
    """The file and the line as written, for whoever wonders why."""


class RuleTable:
    """The rules of one file that apply to one kind of entry; the last that matches decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._names: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        regexes: list[tuple[int, str]] = []
        for number, rule in enumerate(self._rules):
            if not _MAGIC.search(rule.glob):
                (self._paths if rule.anchored else self._names)[rule.glob] = number
            elif not rule.anchored and (ending := _ENDING.fullmatch(rule.glob)):
                self._endings[ending[1]] = number
            elif regex := _regex_of(rule):
                regexes.append((number, regex))
        # In reverse, so that the first alternative that matches is the last of the rules.
        regexes.reverse()
        self._numbers = [number for number, _ in regexes]
        self._regex = (
            re.compile(f"(?s:{'|'.join(f'({regex})' for _, regex in regexes)})\\Z") if regexes else None
        )

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, path: str, name: str) -> Rule | None:
        """The rule that decides about an entry, its path relative to the file's folder."""
        best = self._names.get(name, -1)
        if self._endings and (dot := name.rfind(".")) >= 0:
            best = max(best, self._endings.get(name[dot:], -1))
        if self._paths:
            best = max(best, self._paths.get(path, -1))
        if self._regex and (found := self._regex.match(path)) and found.lastindex:
            best = max(best, self._numbers[found.lastindex - 1])
        return self._rules[best] if best >= 0 else None


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """One ignore file: the length of its folder's path with its slash, and its rules."""

    base_chars: int
    for_files: RuleTable
    for_folders: RuleTable


@dataclass(frozen=True, slots=True)
class IgnoreStack:
    """The ignore files that apply in a folder, deepest first."""

    own: tuple[IgnoreFile, ...] = ()
    git: tuple[IgnoreFile, ...] = ()
    ignore_case: bool = False

    def ignored(self, path: str, name: str, *, folder: bool) -> Rule | None:
        """The rule that leaves an entry out; ours are asked first, so they can bring back."""
        for files in (self.own, self.git):
            for file in files:
                table = file.for_folders if folder else file.for_files
                rule = self._match(table, path[file.base_chars :], name) if table else None
                if rule:
                    return None if rule.negated else rule
        return None

    def with_own(self, prefix: str, text: str) -> IgnoreStack:
        """Also the rules of the `.findspotignore` in the folder `prefix`."""
        file = parse(text, prefix, prefix + OWN_IGNORE, ignore_case=self.ignore_case)
        return IgnoreStack((file, *self.own), self.git, self.ignore_case)

    def with_git(self, prefix: str, text: str, source: str) -> IgnoreStack:
        """Also the rules of a `.gitignore`, or of a repository's own exclude file."""
        file = parse(text, prefix, source, ignore_case=self.ignore_case)
        return IgnoreStack(self.own, (file, *self.git), self.ignore_case)

    def at_repository(self) -> IgnoreStack:
        """At the root of a repository the rules of an outer one no longer apply."""
        return IgnoreStack(self.own, (), self.ignore_case) if self.git else self

    def _match(self, table: RuleTable, path: str, name: str) -> Rule | None:
        if self.ignore_case:
            return table.match(path.lower(), name.lower())
        return table.match(path, name)


def parse(text: str, prefix: str, source: str, *, ignore_case: bool = False) -> IgnoreFile:
    """The rules of an ignore file that lies in, or speaks for, the folder `prefix`."""
    lower: Callable[[str], str] = str.lower if ignore_case else str
    rules = [rule for line in text.removeprefix("\ufeff").split("\n") if (rule := _rule(lower(line), source))]
    return IgnoreFile(
        len(prefix), RuleTable(rule for rule in rules if not rule.folders_only), RuleTable(rules)
    )


def _rule(line: str, source: str) -> Rule | None:
    """One line as git reads it; None for a comment or what cannot match."""
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > MAX_PATTERN_CHARS:
        return None
    body = line.removeprefix("!")
    negated = body != line
    if body[:2] in (r"\!", r"\#"):
        body = body[1:]
    folders_only = body.endswith("/")
    body = body.removesuffix("/")
    glob = nfc(body.removeprefix("/"))
    if not glob:
        return None
    return Rule(glob, negated, folders_only, "/" in body, f"{source}: {line}")


def _without_trailing_spaces(line: str) -> str:
    """Trailing spaces do not count, but for one that a backslash keeps."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare


def _regex_of(rule: Rule) -> str | None:
    try:
        return path_regex(rule.glob, anchored=rule.anchored)
    except InvalidPatternError:
        return None  # as with git, a rule that cannot be read matches nothing
