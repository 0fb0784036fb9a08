"""Commits as git has them: message, date, and the files and definitions that each changed.

Nothing old is parsed: git names the definition around each hunk, and changed lines that define something say
what. Messages are cleaned before anybody stores them: secrets are masked, addresses of people left out.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import hunk_of, read_lines, run_git
from findspot.discover.secrets import masked

MOST_COMMITS = 20_000
"""The last ones reachable from HEAD."""

MOST_FILES = 100
MOST_LINES = 3_000
MOST_WORDS = 300
MOST_NAMES = 30
"""Of a commit, and of one of its files: a commit that changes more changes the layout, or brings in the code
of somebody else."""

_MOST_CHARS = 20_000
_LAST_SECOND = 253_402_300_799
_ADDRESS = re.compile(r"(?<![\w.+'-])[\w.+'-]++@(?:[\w+'-]+\.)+[a-z]+(?![\w+-])", re.ASCII | re.IGNORECASE)
"""Not `lodash@4.17.21`."""
_LONGEST_LINE = 1_000
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([a-z ]+\))?|public|private|protected|internal|static|async|final|"
    r"abstract|override|unsafe|open|sealed|inline|virtual|declare|local|data)\s+)*"
    r"(?:def[pm]?|defmodule|class|func|fun|function|fn|interface|type|struct|enum|trait|impl|module|object|"
    r"protocol|record|macro|sub|namespace|(?<!\s)const)\s+(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]*)"
)
_CONSTANT = re.compile(r"^[ \t]*([A-Z][A-Z0-9_]{2,})\s*[:=]")
_NO_TYPES = re.compile(
    r"and|assert|await|catch|del|elif|else|except|for|from|if|import|in|is|new|not|or|print|raise|return|switch"
    r"|throw|while|with|yield|.*[=.\"'#/!|+-].*"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_HEADERS = ("diff ", "index ", "new ", "deleted ", "old ", "Binary ", "--- ", "+++ ", "similarity ", "\\")
_PROSE = (".md", ".rst", ".txt", ".adoc", ".rdoc", ".json", ".yml", ".yaml", ".xml", ".html", ".css")
"""Files whose lines define nothing."""
_TRAILER = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id|git-svn-id|cc):.*$", re.I | re.M
)


@dataclass(slots=True)
class Change:
    """What a commit did to a file."""

    path: str
    names: list[str] = field(default_factory=list)
    """Definitions that were changed, in the order of the file."""


@dataclass(slots=True)
class Commit:
    """One commit: of some, only what one line shows is known."""

    hash: str
    time: int
    author: str
    subject: str
    body: str = ""
    removed: list[str] = field(default_factory=list)
    """Definitions that the commit took out, and whose names it put nowhere else."""
    changes: list[Change] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """Of the changed lines."""


def commit_ids(root: Path, most: int = MOST_COMMITS) -> list[str]:
    """Return the last commits reachable from HEAD that concern a folder, the newest first."""
    inside = (run_git(root, "rev-parse", "--show-prefix") or "").strip()
    listed = run_git(root, "rev-list", f"--max-count={most}", "HEAD", "--", *(["."] if inside else []))
    if listed is None:
        raise InvalidArgumentError(f"git cannot list the commits of {root}.")
    return listed.split()


_FILES = ("--relative", "--no-renames", "--ignore-submodules=all")
_DIFF = ("-U0", "--src-prefix=a/", "--dst-prefix=b/", "--no-ext-diff", "--no-textconv", "--no-color")
_DETAIL = (("-p", *_DIFF, *_FILES), ("--name-only", *_FILES), ("-s",))
"""What to ask of commits: where blobs are missing, as in a partial clone, only what changed; where trees are
missing too, only the messages."""


def read_commits(root: Path, ids: Sequence[str]) -> list[Commit]:
    """Return some commits, with as much of what they changed as the clone has."""
    for detail in _DETAIL[:-1]:
        with contextlib.suppress(InvalidArgumentError):
            return list(_read(root, ids, detail))
    return list(_read(root, ids, _DETAIL[-1]))


def _read(root: Path, ids: Sequence[str], detail: Sequence[str]) -> Iterator[Commit]:
    mark = secrets.token_hex(8)  # no message can hold it
    shape = f"--format={mark}%n%H%n%ct%n%aN%n%B%n{mark}"
    wanted = ("--no-walk=unsorted", "--stdin", shape, *detail)
    lines = iter(read_lines(root, "\n".join(ids) + "\n", "log", *wanted))
    changes: _Changes | None = None
    for line in lines:
        if line.rstrip("\n") == mark:
            if changes is not None:
                yield changes.finished()
            changes = _Changes(_begun(lines, mark))
        elif changes is not None:
            changes.take(line, lines)
    if changes is not None:
        yield changes.finished()


def _begun(lines: Iterator[str], mark: str) -> Commit:
    name, time, author = (next(lines, "").strip() for _ in range(3))
    message: list[str] = []
    for line in lines:
        if line.rstrip("\n") == mark:
            break
        message.append(line)
    subject, _, body = "".join(message).strip().partition("\n")
    return Commit(name, _seconds(time), cleaned(author), cleaned(subject), cleaned(_TRAILER.sub("", body)))


def _seconds(time: str) -> int:
    """Return a time that can be shown: anybody can write any number into a commit."""
    return min(max(int(time or 0), 0), _LAST_SECOND)


def cleaned(text: str) -> str:
    """Return a text without secrets and addresses of people."""
    shown = masked(text[: 2 * _MOST_CHARS])[:_MOST_CHARS]  # no secret is cut before it is masked
    return _ADDRESS.sub("", shown).strip()


class _Changes:
    """Reads what follows the message of a commit."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._file: Change | None = None
        self._lines = 0
        self._gone: dict[str, None] = {}
        self._here: set[str] = set()
        self._words: dict[str, None] = {}

    def take(self, line: str, more: Iterator[str]) -> None:
        """Take a line of a diff, and those of its hunk; or the path of a changed file."""
        if line.startswith("diff --git a/"):
            both = line.removeprefix("diff --git a/").rstrip("\n")
            self._begin(both[: (len(both) - len(" b/")) // 2])  # no renames: twice the same
        elif hunk := hunk_of(line):
            self._take_hunk(hunk.around, hunk.removed + hunk.added, more)
        elif line.strip() and not line.startswith(_HEADERS):
            self._begin(line.rstrip("\n"))

    def _begin(self, path: str) -> None:
        self._file = Change(masked(path))
        if len(self._commit.changes) < MOST_FILES:
            self._commit.changes.append(self._file)

    def _take_hunk(self, around: str, count: int, more: Iterator[str]) -> None:
        """Take the lines of a hunk, without their secrets; `around` is the line that git names it by."""
        hunk = [f" {around}\n"]
        while count:
            line = next(more, "\n")
            count -= not line.startswith("\\")  # no newline at the end of the file
            self._lines += 1
            if self._lines <= MOST_LINES and len(line) <= _LONGEST_LINE:
                hunk.append(line)
        for line in masked("".join(hunk)).split("\n"):
            name, words = self._name(line[1:]), dict.fromkeys(_WORD.findall(line))
            if len(self._words) < MOST_WORDS:
                self._words |= words
            if line[:1] == "-" and name:
                self._gone[name] = None
            elif line[:1] == "+":
                self._here.update(words)

    def finished(self) -> Commit:
        self._commit.removed = [name for name in self._gone if name not in self._here][:MOST_NAMES]
        self._commit.words = list(self._words)[:MOST_WORDS]
        return self._commit

    def _name(self, line: str) -> str | None:
        file = self._file
        name = defined_in(line) if file is not None and not file.path.endswith(_PROSE) else None
        if name and file and len(file.names) < MOST_NAMES and name not in file.names:
            file.names.append(name)
        return name


def defined_in(line: str) -> str | None:
    """Return the name that a line of code defines."""
    found = _DEFINITION.search(line) or _CONSTANT.match(line)
    return found[1] if found else _callable_in(line)


def _callable_in(line: str) -> str | None:
    """Return the function that a line begins as C, Java and their kin do: a type, a name, its parameters."""
    before, parenthesis, after = line.rstrip().partition("(")
    words = before.split()
    if not parenthesis or len(words) < 2 or ";" in after or not after.endswith(("{", ",", ")")):
        return None
    name = words[-1].lstrip("*&").rpartition("::")[2]
    return name if name.isidentifier() and not any(map(_NO_TYPES.fullmatch, words)) else None


def in_words(lines: tuple[int, int]) -> str:
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}-{lines[1]}"


def commits_of_lines(root: Path, path: str, lines: tuple[int, int] | None, most: int) -> list[Commit]:
    """Return the commits that shaped a file or some of its lines, the newest first.

    Lines are those of HEAD. They are followed as git follows them, through renames of the file too.
    """
    shape = (f"--max-count={most}", "--format=%H%x00%ct%x00%aN%x00%s", "-s", "--ignore-submodules=all")
    follows = () if (root / path).is_dir() else ("--follow",)
    chosen = (f"-L{lines[0]},{lines[1]}:{path}",) if lines else (*follows, "--", f":(literal){path}")
    listed = run_git(root, "log", *shape, *chosen)
    if listed is None:
        where = f"{in_words(lines)} of {path}" if lines else path
        raise InvalidArgumentError(
            f"The last commit does not have {where}.", hint="Name lines that are committed."
        )
    rows = (line.split("\0") for line in listed.split("\n") if line)
    return [Commit(name, _seconds(when), cleaned(who), cleaned(subject)) for name, when, who, subject in rows]
