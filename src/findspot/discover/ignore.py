"""Ignore files, read as git reads them: nested, last match wins, deepest file first.

`pathspec` gives the same answers, but its patterns can be made to take for ever.

The rules from outside a project's root count too: the user's, the repository's, and those of folders in
between, as if the whole repository were indexed. Git is run for the list of tracked files, which it never
ignores, and for what the user's own configuration says: what a repository's `.git/config` says about
`core.excludesFile` would let its author choose what is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from findspot.core.config import git_configuration
from findspot.core.errors import InvalidPatternError
from findspot.core.files import State, check_exhausted, read_below, read_named, reason, state_of
from findspot.core.git import configured, tracked_files
from findspot.core.globs import MAX_PATTERN_CHARS, path_regex
from findspot.core.paths import GITIGNORE, expanded, stat_of
from findspot.core.platforms import IGNORES_CASE
from findspot.discover.checkouts import checkout_around, exclude_file, git_folder
from findspot.discover.root_folder import nfc

OWN_IGNORE = ".findspotignore"
MAX_IGNORE_BYTES = 1024 * 1024
MAX_RULES = 3_000
MAX_RULE_CHARS = 150_000
"""Rules of one kind, and their characters, that hold in one folder: each is tried on each name that git does
not track. Files that people write have fewer than 1,000."""

_BATCH = 32
"""Rules per regex: the time of a match grows with the square of the number of groups."""

_FLAGS = re.DOTALL | re.IGNORECASE if IGNORES_CASE else re.DOTALL


@dataclass(frozen=True, slots=True)
class Rule:
    regex: str
    """Of a folder, a slash ends what it matches."""
    on_path: bool
    """Whether it is about paths below the folder of its file; else about names."""
    negated: bool
    source: str
    """The file and the line as written, for the reason of a skip."""


class UnusableIgnoreFileError(Exception):
    """An ignore file that cannot be read or has too many rules; what it governs must be left out."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")


Tracked = Callable[[str], bool]
"""Tells whether git tracks a file or, of a path with a slash at its end, a file below that folder."""


class _Batch:
    """Rules that follow each other as one regex, in which the last one is tried first."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.on_path = rules[0].on_path
        regexes = "|".join(f"({rule.regex})" for rule in rules)
        self.match = re.compile(f"(?:{regexes})\\Z", _FLAGS).match


@dataclass(frozen=True, slots=True)
class _File:
    """The rules of an ignore file in a folder of the root, or above: one of `place` and `above` is empty."""

    place: str
    """The folder that it is in, below the root."""
    above: str
    """The path that leads from its folder down to the root."""
    batches: list[_Batch]

    def match(self, path: str, name: str) -> Rule | None:
        """Return the rule that decides about an entry, whether it leaves it out or brings it back."""
        spelled = self.above + path[len(self.place) :]
        for batch in self.batches:
            if (found := batch.match(spelled if batch.on_path else name)) and found.lastindex:
                return batch.rules[found.lastindex - 1]
        return None


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules of one kind of ignore file that hold in a folder and below; the deepest file comes first."""

    files: tuple[_File, ...] = ()
    rules: int = 0
    chars: int = 0

    def ignored(self, prefix: str, name: str) -> Rule | None:
        """Return the rule by which an entry of a folder is left out; the name of a folder ends in a slash."""
        path = prefix + name
        rule = next((rule for file in self.files if (rule := file.match(path, name))), None)
        return rule if rule and not rule.negated else None

    def with_file(self, prefix: str, text: str, source: str, above: str) -> Ignores:
        lines = text.removeprefix("\ufeff").split("\n")
        rules = [rule for line in lines if (rule := _rule(line, source))]
        count, chars = self.rules + len(rules), self.chars + sum(len(rule.regex) for rule in rules)
        if count > MAX_RULES or chars > MAX_RULE_CHARS:
            limits = f"{MAX_RULES:,} rules or {MAX_RULE_CHARS:,} characters"
            raise UnusableIgnoreFileError(source, f"with it, more than {limits} hold here")
        return Ignores((_File(prefix, above, _batches(rules)), *self.files), count, chars)


def _batches(rules: list[Rule]) -> list[_Batch]:
    """Return rules as regexes, the last ones first."""
    runs = (list(run) for _, run in groupby(reversed(rules), lambda rule: rule.on_path))
    return [_Batch(run[at : at + _BATCH]) for run in runs for at in range(0, len(run), _BATCH)]


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

    def ignored(self, prefix: str, name: str) -> Rule | None:
        """Return the rule by which an entry of a folder is left out; the name of a folder ends in a slash."""
        gits = None if self.tracked(prefix + name) else self._gits(prefix, name)
        return gits or self.own.ignored(prefix, name)

    def entering(self, prefix: str, name: str) -> Rules:
        """Return the rules that hold below an entry that is a folder."""
        cover = self._gits(prefix, name)
        return replace(self, cover=cover) if cover else self

    def _gits(self, prefix: str, name: str) -> Rule | None:
        return self.cover or self.git.ignored(prefix, name)

    def with_file(self, prefix: str, text: str, source: str, *, own: bool, above: str = "") -> Rules:
        if own:
            return replace(self, own=self.own.with_file(prefix, text, source, above))
        return replace(self, git=self.git.with_file(prefix, text, source, above))


NO_RULES = Rules(Ignores(), Ignores(), lambda _: False)


def _rule(line: str, source: str) -> Rule | None:
    """Return one line as git reads it; None for a comment or what cannot match."""
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    if len(line) > MAX_PATTERN_CHARS:
        raise UnusableIgnoreFileError(source, f"a rule has more than {MAX_PATTERN_CHARS:,} characters")
    body = line.removeprefix("!")
    glob, on_path = _split(nfc(body.removesuffix("/")))
    if "" in glob.split("/"):
        return None
    try:
        regex = path_regex(glob, anchored=True) + ("/" if body.endswith("/") else "/?")
    except InvalidPatternError:  # as with git, it matches nothing
        return None
    return Rule(regex, on_path, body != line, f"{source}: {line}")


def _split(glob: str) -> tuple[str, bool]:
    """Return a glob of paths or, where the name of an entry alone decides, that of a name."""
    on_path, glob = "/" in glob, glob.removeprefix("/")
    if not on_path or glob == "**":
        return glob, False
    if glob.endswith("/**"):
        glob += "/*"  # what is below the folder, but not the folder
    folder, _, name = glob.rpartition("/")
    return (name, False) if folder == "**" else (glob, True)


def _without_trailing_spaces(line: str) -> str:
    """Return a line without trailing spaces, except one after a backslash."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare


@dataclass(frozen=True, slots=True)
class _OuterFile:
    """An ignore file outside a root, and the folder that its rules begin at."""

    path: Path
    folder: Path
    own: bool = False
    in_tree: bool = True
    """Whether it lies in the working tree, where git follows no links either."""


def rules_above(root: Path, *, respect_gitignore: bool) -> Rules:
    """Return the rules that hold at a root before its own; UnusableIgnoreFileError if one cannot be known."""
    rules = Rules(Ignores(), Ignores(), _tracked_at(root))
    for file in _outer_files(root, checkout_around(root)):
        text = _text_of(file, root) if file.own or respect_gitignore else None
        if text:
            above = f"{root.relative_to(file.folder).as_posix()}/".removeprefix("./")
            rules = rules.with_file("", text, _shown(file.path, root), own=file.own, above=above)
    return rules


def _tracked_at(root: Path) -> Tracked:
    """Return the function that tells what git tracks below a root."""
    known = tracked_below(root) or frozenset()
    if not IGNORES_CASE:
        return known.__contains__
    lower = frozenset(map(str.lower, known))
    return lambda path: path.lower() in lower


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
        yield _OuterFile(excludes, checkout or root, in_tree=False)
    if checkout is None:
        return
    if excludes := exclude_file(checkout):
        yield _OuterFile(excludes, checkout, in_tree=False)
    for folder in reversed([folder for folder in root.parents if folder.is_relative_to(checkout)]):
        yield _OuterFile(folder / GITIGNORE, folder)
        yield _OuterFile(folder / OWN_IGNORE, folder, own=True)


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
