"""Ignore files, read as git reads them: nested, last match wins, deepest file first.

Written by hand rather than taken from a walker: the same rules must answer for one path as for
a whole tree, and a `.gitignore` that is a link or a FIFO must not be opened. What a rule says
about folders is settled once a folder, so that a file costs two lookups by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import MAX_PATTERN_CHARS, path_regex
from findspot.discover.names import nfc

GITIGNORE = ".gitignore"
OWN_IGNORE = ".findspotignore"
MAX_IGNORE_BYTES = 1024 * 1024

_OWN_RANK = 1_000_000_000
"""Above any number of git's rules."""

_MAGIC = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*(\.[^./*?\[\\]+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    folder: str | None
    """The folders it speaks of, a glob below the file's own; None for any."""
    name: str
    negated: bool
    folders_only: bool
    rank: int
    """Later lines and deeper files outrank the others."""
    source: str
    """The file and the line as written, for whoever wonders why."""


Ignored = Callable[[str, bool], Rule | None]
"""Tells, of a name in a folder and of whether it is a folder itself, by which rule it is left out."""


class _NameRegex:
    """Rules that need a regex, as one regex of which the last rule is tried first."""

    __slots__ = ("match", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules[::-1]
        names = "|".join(f"({path_regex(rule.name, anchored=True)})" for rule in self.rules)
        self.match = re.compile(f"(?s:{names})\\Z").match


class RuleTable:
    """The rules that apply to one kind of entry, of all files from the root down to a folder."""

    __slots__ = ("_endings", "_in_folder", "_in_folders", "_names", "_regexes")

    def __init__(self) -> None:
        self._names: dict[str, Rule] = {}
        self._endings: dict[str, Rule] = {}
        self._regexes: tuple[_NameRegex, ...] = ()
        self._in_folder: dict[str, list[Rule]] = {}
        self._in_folders: tuple[tuple[re.Pattern[str], int, Rule], ...] = ()

    def with_file(self, prefix: str, rules: list[Rule]) -> RuleTable:
        """Also the rules of a file that lies in, or speaks for, the folder `prefix`."""
        table = self._with_names([rule for rule in rules if rule.folder is None])
        table._in_folder = {folder: list(rules) for folder, rules in self._in_folder.items()}
        wild = list(self._in_folders)
        for rule in rules:
            if rule.folder is not None and _MAGIC.search(rule.folder):
                slash = "" if rule.folder.endswith("**") else "/"
                regex = re.compile(f"(?s:{path_regex(rule.folder, anchored=True)}{slash})\\Z")
                wild.append((regex, len(prefix), rule))
            elif rule.folder is not None:
                folder = f"{prefix}{rule.folder}/" if rule.folder else prefix
                table._in_folder.setdefault(folder, []).append(rule)
        table._in_folders = tuple(wild)
        return table

    def inside(self, prefix: str) -> RuleTable:
        """The same, ready for the entries of one folder."""
        rules = self._in_folder.get(prefix, [])
        rules = rules + [rule for regex, base, rule in self._in_folders if regex.match(prefix[base:])]
        return self._with_names(rules) if rules else self

    def match(self, name: str) -> Rule | None:
        """The rule that decides about an entry, whether it leaves it out or brings it back."""
        best = self._names.get(name)
        if self._endings:
            rule = self._endings.get(name[name.rfind(".") :])
            if rule and (best is None or rule.rank > best.rank):
                best = rule
        for regex in self._regexes:
            found = regex.match(name)
            if found and found.lastindex:
                rule = regex.rules[found.lastindex - 1]
                best = rule if best is None or rule.rank > best.rank else best
        return best

    def _with_names(self, rules: list[Rule]) -> RuleTable:
        table = RuleTable()
        table._names = self._names.copy()
        table._endings = self._endings.copy()
        regexes: list[Rule] = []
        for rule in sorted(rules, key=lambda rule: rule.rank):
            if not _MAGIC.search(rule.name):
                _put(table._names, rule.name, rule)
            elif ending := _ENDING.fullmatch(rule.name):
                _put(table._endings, ending[1], rule)
            else:
                regexes.append(rule)
        table._regexes = (_NameRegex(regexes), *self._regexes) if regexes else self._regexes
        return table


class Ignores:
    """All that is ignored in a folder; adding a file gives a new one, for the folders below too."""

    __slots__ = ("_files", "_folders", "_ignore_case", "_own", "_rank")

    def __init__(self, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._rank = 0
        self._own: tuple[tuple[str, list[Rule]], ...] = ()
        self._files = RuleTable()
        self._folders = RuleTable()

    def inside(self, prefix: str) -> Ignored:
        """What tells of the entries of one folder whether they are left out."""
        prefix = prefix.lower() if self._ignore_case else prefix
        match_file = self._files.inside(prefix).match
        match_folder = self._folders.inside(prefix).match
        lower = self._ignore_case

        def ignored(name: str, folder: bool) -> Rule | None:
            rule = (match_folder if folder else match_file)(name.lower() if lower else name)
            return None if rule is None or rule.negated else rule

        return ignored

    def with_git(self, prefix: str, text: str, source: str) -> Ignores:
        """Also the rules of a `.gitignore`, or of a repository's exclude file, for a folder."""
        return self._with_rules(prefix, parse(text, source, self._rank, ignore_case=self._ignore_case))

    def with_own(self, prefix: str, text: str, source: str) -> Ignores:
        """Also the rules of a `.findspotignore`: they outrank git's, so they can bring back."""
        rules = parse(text, source, self._rank + _OWN_RANK, ignore_case=self._ignore_case)
        added = self._with_rules(prefix, rules)
        added._own = (*self._own, (prefix, rules))
        return added

    def at_repository(self) -> Ignores:
        """At the top of a repository the rules of an outer one end; our own go on."""
        fresh = Ignores(ignore_case=self._ignore_case)
        for prefix, rules in self._own:
            fresh = fresh._with_rules(prefix, rules)
        fresh._own, fresh._rank = self._own, self._rank
        return fresh

    def _with_rules(self, prefix: str, rules: list[Rule]) -> Ignores:
        prefix = prefix.lower() if self._ignore_case else prefix
        added = Ignores(ignore_case=self._ignore_case)
        added._rank = self._rank + len(rules)
        added._own = self._own
        added._files = self._files.with_file(prefix, [rule for rule in rules if not rule.folders_only])
        added._folders = self._folders.with_file(prefix, rules)
        return added


def parse(text: str, source: str, rank: int = 0, *, ignore_case: bool = False) -> list[Rule]:
    """The rules of an ignore file, ranked from `rank` on."""
    rules: list[Rule] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _rule(line, source, rank + len(rules), ignore_case=ignore_case)
        if rule:
            rules.append(rule)
    return rules


def _rule(line: str, source: str, rank: int, *, ignore_case: bool) -> Rule | None:
    """One line as git reads it; None for a comment or what cannot match."""
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > MAX_PATTERN_CHARS:
        return None
    body = line.removeprefix("!")
    glob = nfc(body.removesuffix("/"))
    folder, name = _split(glob.lower() if ignore_case else glob)
    if "" in glob.removeprefix("/").split("/") or not _is_readable(folder, name):
        return None
    return Rule(folder, name, body != line, body.endswith("/"), rank, f"{source}: {line}")


def _split(glob: str) -> tuple[str | None, str]:
    """What a glob says of folders, and of the name in them; one without a slash holds anywhere."""
    if "/" not in glob:
        return None, glob
    folder, _, name = glob.removeprefix("/").rpartition("/")
    if name == "**":
        return f"{folder}/**" if folder else None, "*"
    return None if folder == "**" else folder, name


def _is_readable(folder: str | None, name: str) -> bool:
    """As with git, a rule that cannot be read matches nothing."""
    try:
        path_regex(f"{folder or ''}/{name}", anchored=True)
    except InvalidPatternError:
        return False
    return True


def _without_trailing_spaces(line: str) -> str:
    """Trailing spaces do not count, but for one that a backslash keeps."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare


def _put(rules: dict[str, Rule], key: str, rule: Rule) -> None:
    other = rules.get(key)
    rules[key] = rule if other is None or rule.rank > other.rank else other
