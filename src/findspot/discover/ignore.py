"""Ignore files, read as git reads them: nested, last match wins, deepest file first.

`pathspec` gives the same answers, but its patterns can be made to take for ever, and it takes longer: most
rules are looked up here by name, ending or path.

The rules from outside a project's root count too: the user's, the repository's, and those of folders in
between, as if the whole repository were indexed. Git is run for the list of tracked files, which it never
ignores, and for what the user's own configuration says: what a repository's `.git/config` says about
`core.excludesFile` would let its author choose what is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from findspot.core.config import git_configuration
from findspot.core.errors import InvalidPatternError
from findspot.core.files import State, check_exhausted, read_below, read_named, reason, state_of
from findspot.core.git import configured, tracked_files
from findspot.core.globs import MAX_PATTERN_CHARS, path_regex
from findspot.core.paths import GITIGNORE, expanded, stat_of
from findspot.discover.checkouts import checkout_around, exclude_file, git_folder
from findspot.discover.root_folder import nfc

OWN_IGNORE = ".findspotignore"
MAX_IGNORE_BYTES = 1024 * 1024
MAX_RULES = 10_000
"""Per ignore file. Files that people write have fewer than 1,000."""
MAX_GLOBS = 2_000
MAX_GLOB_CHARS = 50_000
"""Rules with wildcards other than `*.ext`, and their characters, that hold in one folder: each of them
is tried on each name. At this size a name takes 0.8 ms, and compiling a second, at worst."""

_BATCH = 32
"""Rules per regex: the time of a match grows with the square of the number of groups."""

_MAGIC = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*(\.[^./*?\[\\]+)")


@dataclass(frozen=True, slots=True)
class Rule:
    folder: str | None
    """The folders it applies to, a glob below the file's own; None for any."""
    name: str
    negated: bool
    folders_only: bool
    rank: int
    """Later lines outrank the others."""
    source: str
    """The file and the line as written, for the reason of a skip."""


class UnusableIgnoreFileError(Exception):
    """An ignore file that cannot be read or has too many rules; what it governs must be left out."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file = file
        self.why = why


Ignored = Callable[[str, str, bool], Rule | None]
"""Tells, of a folder, a name in it and of whether it is a folder itself, by which rule it is left out."""

Tracked = Callable[[str], bool]
"""Tells whether git tracks a file or, of a path with a slash at its end, a file below that folder."""


class _Globs:
    """Several rules as one regex, in which the last rule is tried first."""

    __slots__ = ("match", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules[::-1]
        globs = "|".join(f"({path_regex(_whole(rule), anchored=True)})" for rule in self.rules)
        self.match = re.compile(f"(?s:{globs})\\Z").match


class RuleTable:
    __slots__ = ("_endings", "_name_globs", "_names", "_path_globs", "_paths")

    def __init__(self, rules: list[Rule]) -> None:
        self._names: dict[str, Rule] = {}
        self._endings: dict[str, Rule] = {}
        self._paths: dict[str, Rule] = {}
        names: list[Rule] = []
        paths: list[Rule] = []
        for rule in rules:  # a later one replaces the same one before it
            if _is_glob(rule):
                (names if rule.folder is None else paths).append(rule)
            elif rule.folder is not None:
                self._paths[_whole(rule)] = rule
            elif _MAGIC.search(rule.name):
                self._endings[rule.name.removeprefix("*")] = rule
            else:
                self._names[rule.name] = rule
        self._name_globs, self._path_globs = _batches(names), _batches(paths)

    def match(self, path: str, name: str) -> Rule | None:
        """Return the rule that decides about an entry, whether it leaves it out or brings it back."""
        best: Rule | None = None
        for rule in (
            self._names.get(name),
            self._endings.get(name[name.rfind(".") :]),
            self._paths.get(path) if self._paths else None,
            _last_match(self._name_globs, name),
            _last_match(self._path_globs, path),
        ):
            if rule and (best is None or rule.rank > best.rank):
                best = rule
        return best


def _whole(rule: Rule) -> str:
    return f"{rule.folder}/{rule.name}" if rule.folder else rule.name


def _batches(rules: list[Rule]) -> list[_Globs]:
    return [_Globs(rules[at : at + _BATCH]) for at in range(0, len(rules), _BATCH)][::-1]


def _last_match(batches: list[_Globs], text: str) -> Rule | None:
    for batch in batches:
        found = batch.match(text)
        if found and found.lastindex:
            return batch.rules[found.lastindex - 1]
    return None


class Ignores:
    """The rules of one kind of ignore file in a folder and below; adding a file returns a new object."""

    __slots__ = ("_base", "_files", "_glob_chars", "_globs", "_ignore_case", "_top")

    def __init__(self, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._top = self._base = ""
        self._globs = self._glob_chars = 0
        self._files: tuple[tuple[str, RuleTable, RuleTable], ...] = ()
        """Of each the folder that it is in, its rules for files and for folders; the deepest comes first."""

    def below(self, top: str, base: str) -> Ignores:
        """Return the same rules, asked about paths below `top`, which the rules know as `base`."""
        moved = copy(self)
        moved._top, moved._base = top, base
        return moved

    def __bool__(self) -> bool:
        return bool(self._files)

    def ignored(self, prefix: str, name: str, folder: bool) -> Rule | None:
        """Return the rule by which an entry of a folder is left out."""
        path = self._spelled(prefix + name)
        name = name.lower() if self._ignore_case else name
        for place, for_files, for_folders in self._files:
            rule = (for_folders if folder else for_files).match(path[len(place) :], name)
            if rule:
                return None if rule.negated else rule
        return None

    def with_file(self, prefix: str, text: str, source: str) -> Ignores:
        rules = parse(text, source, ignore_case=self._ignore_case)
        if not rules:
            return self
        added = copy(self)
        added._count(rules, source)
        for_files = RuleTable([rule for rule in rules if not rule.folders_only])
        added._files = ((self._spelled(prefix), for_files, RuleTable(rules)), *self._files)
        return added

    def _count(self, rules: list[Rule], source: str) -> None:
        globs = [rule for rule in rules if _is_glob(rule)]
        self._globs += len(globs)
        self._glob_chars += sum(len(_whole(rule)) for rule in globs)
        if self._globs > MAX_GLOBS or self._glob_chars > MAX_GLOB_CHARS:
            limits = f"{MAX_GLOBS:,} rules or {MAX_GLOB_CHARS:,} characters"
            raise UnusableIgnoreFileError(source, f"with it, more than {limits} with wildcards hold here")

    def _spelled(self, path: str) -> str:
        """Return a path as the rules know it."""
        path = self._base + path[len(self._top) :]
        return path.lower() if self._ignore_case else path


@dataclass(frozen=True, slots=True)
class Rules:
    """What leaves entries of a folder out: git's ignore files, if git does not track them, and our own.

    Each kind knows nothing of the other: a `!` brings back only what a file of the same kind leaves out.
    """

    git: Ignores
    own: Ignores
    tracked: Tracked
    cover: Rule | None = None
    """Git's rule that leaves out the folder itself; it was entered for the tracked files in it."""

    def ignored(self, prefix: str, name: str, folder: bool) -> Rule | None:
        """Return the rule by which an entry of a folder is left out."""
        rule = self._gits(prefix, name, folder)
        if rule and self.tracked(f"{prefix}{name}/" if folder else prefix + name):
            rule = None
        return rule or (self.own.ignored(prefix, name, folder) if self.own else None)

    def entering(self, prefix: str, name: str) -> Rules:
        """Return the rules that hold below an entry that is a folder."""
        cover = self._gits(prefix, name, True)
        return replace(self, cover=cover) if cover else self

    def _gits(self, prefix: str, name: str, folder: bool) -> Rule | None:
        return self.cover or (self.git.ignored(prefix, name, folder) if self.git else None)

    def with_file(self, prefix: str, text: str, source: str, *, own: bool) -> Rules:
        if own:
            return replace(self, own=self.own.with_file(prefix, text, source))
        return replace(self, git=self.git.with_file(prefix, text, source))


def parse(text: str, source: str, *, ignore_case: bool = False) -> list[Rule]:
    """Return the rules of an ignore file; UnusableIgnoreFileError if they are too many."""
    rules: list[Rule] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _rule(line, source, len(rules), ignore_case=ignore_case)
        if rule:
            rules.append(rule)
        if len(rules) > MAX_RULES:
            raise UnusableIgnoreFileError(source, f"it has more than {MAX_RULES:,} rules")
    return rules


def _rule(line: str, source: str, rank: int, *, ignore_case: bool) -> Rule | None:
    """Return one line as git reads it; None for a comment or what cannot match."""
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    if len(line) > MAX_PATTERN_CHARS:
        raise UnusableIgnoreFileError(source, f"a rule has more than {MAX_PATTERN_CHARS:,} characters")
    body = line.removeprefix("!")
    glob = nfc(body.removesuffix("/"))
    folder, name = _split(glob.lower() if ignore_case else glob)
    if "" in glob.removeprefix("/").split("/") or not _is_readable(folder, name):
        return None
    return Rule(folder, name, body != line, body.endswith("/"), rank, f"{source}: {line}")


def _split(glob: str) -> tuple[str | None, str]:
    if "/" not in glob:
        return None, glob
    folder, _, name = glob.removeprefix("/").rpartition("/")
    if name == "**":
        return f"{folder}/**" if folder else None, "*"
    return None if folder == "**" else folder, name


def _is_glob(rule: Rule) -> bool:
    is_ending = rule.folder is None and _ENDING.fullmatch(rule.name)
    return bool(_MAGIC.search(_whole(rule)) and not is_ending)


def _is_readable(folder: str | None, name: str) -> bool:
    """Compile a rule; as with git, one that cannot be read matches nothing."""
    try:
        path_regex(f"{folder or ''}/{name}", anchored=True)
    except InvalidPatternError:
        return False
    return True


def _without_trailing_spaces(line: str) -> str:
    """Return a line without trailing spaces, except one after a backslash."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare


@dataclass(frozen=True, slots=True)
class _OuterFile:
    """An ignore file outside a root, and the folder of the repository that it applies to."""

    path: Path
    applies_to: str
    own: bool = False
    in_tree: bool = True
    """Whether it lies in the working tree, where git follows no links either."""


def rules_above(root: Path, *, ignore_case: bool, respect_gitignore: bool) -> Rules:
    """Return the rules that hold at a root before its own; UnusableIgnoreFileError if one cannot be known."""
    checkout = checkout_around(root)
    base = _folder_in_repository(root, checkout)
    above = Ignores(ignore_case=ignore_case)
    rules = Rules(above, above, _tracked_at(root, ignore_case=ignore_case))
    for file in _outer_files(root, checkout):
        text = _text_of(file, root) if file.own or respect_gitignore else None
        if text:
            rules = rules.with_file(file.applies_to, text, _shown(file.path, root), own=file.own)
    return replace(rules, git=rules.git.below("", base), own=rules.own.below("", base))


def _tracked_at(root: Path, *, ignore_case: bool) -> Tracked:
    """Return the function that tells what git tracks below a root; git is asked when it is first called."""

    @lru_cache(maxsize=1)
    def known() -> frozenset[str]:
        paths = tracked_below(root) or frozenset()
        return frozenset(map(str.lower, paths)) if ignore_case else paths

    def tracked(path: str) -> bool:
        return (path.lower() if ignore_case else path) in known()

    return tracked


def tracked_below(root: Path) -> frozenset[str] | None:
    """Return the files below a folder that git tracks and, each with a slash at its end, their folders.

    None where there is a list of them that git cannot read, or no git to read it.
    """
    checkout = checkout_around(root)
    git = git_folder(checkout) if checkout else None
    state = state_of(git / "index") if git else None
    return _listed(root, state) if state else frozenset()


@lru_cache(maxsize=8)
def _listed(root: Path, _state: State) -> frozenset[str] | None:
    """Return what `tracked_below` does, for one state of git's list."""
    listed = tracked_files(root)
    if listed is None:
        return None
    found: set[str] = set()
    for path in map(nfc, listed):
        found.add(path)
        end = path.rfind("/")
        while end > 0 and path[: end + 1] not in found:
            found.add(path[: end + 1])
            end = path.rfind("/", 0, end)
    return frozenset(found)


def untold_note(root: Path) -> str:
    """Return a note if git does not tell which files of a root are tracked."""
    if tracked_below(Path(os.path.realpath(root))) is not None:
        return ""
    return (
        f"Git does not tell which files of {root} are tracked, so whatever its ignore files name is left "
        f"out. `git -C {root} status` says why."
    )


def state_above(root: Path) -> tuple[object, ...]:
    """Return a value that changes whenever one of those files changes, appears or disappears, and whenever
    git tracks other files.
    """
    files = (file.path for file in _outer_files(root, checkout_around(root)))
    return *((str(path), state_of(path)) for path in files), hash(tracked_below(root))


def _outer_files(root: Path, checkout: Path | None) -> Iterator[_OuterFile]:
    """Yield the files in the order in which git reads them: a later one outranks those before it."""
    if excludes := global_excludes():
        yield _OuterFile(excludes, "", in_tree=False)
    if checkout is None:
        return
    if excludes := exclude_file(checkout):
        yield _OuterFile(excludes, "", in_tree=False)
    between = [folder for folder in root.parents if folder.is_relative_to(checkout)]
    for folder in reversed(between):
        applies_to = _folder_in_repository(folder, checkout)
        yield _OuterFile(folder / GITIGNORE, applies_to)
        yield _OuterFile(folder / OWN_IGNORE, applies_to, own=True)


def _folder_in_repository(folder: Path, checkout: Path | None) -> str:
    """Return a folder as the rules of its repository know it: with a trailing slash, empty for the top."""
    return f"{folder.relative_to(checkout).as_posix()}/".removeprefix("./") if checkout else ""


def _text_of(file: _OuterFile, root: Path) -> str | None:
    """Return the text of an ignore file; None if there is none that this user can see."""
    try:
        if file.in_tree:
            data = read_below(file.path.parent, file.path.name, MAX_IGNORE_BYTES)
        elif stat_of(file.path) is not None:
            data = read_named(file.path, MAX_IGNORE_BYTES)
        else:
            return None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(_shown(file.path, root), error) from error
    return data.decode("utf-8", "surrogateescape")


def unusable(shown: str, error: OSError) -> UnusableIgnoreFileError:
    check_exhausted(error, shown)
    return UnusableIgnoreFileError(shown, f"it cannot be read ({reason(error)})")


def _shown(path: Path, root: Path) -> str:
    """Return how to name an outer file to the user: from the home folder, or from the project."""
    home = expanded("~")
    if path.is_relative_to(home) and not path.is_relative_to(root):
        return f"~/{path.relative_to(home).as_posix()}"
    return Path(os.path.relpath(path, root)).as_posix()


def global_excludes() -> Path | None:
    """Return where the user's global ignore file is, whether or not it exists."""
    files, default = git_configuration()
    named = [_excludes_in(file, state) for file in files if (state := state_of(file))]
    named = [value for value in named if value is not None]
    if not named:
        return default
    return expanded(named[-1]) if named[-1] else None


@lru_cache(maxsize=32)
def _excludes_in(file: Path, _state: State) -> str | None:
    """Return what a file of the user's configuration, in this state, names as global ignore file."""
    return configured(file, "core.excludesFile")
