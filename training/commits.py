"""Cases from git histories: what a commit's message says → the lines that the commit changed.

One JSON object per line, in the form of the evaluation's issues: `id` (the commit), `repo`, `commit` (its
parent, the state before the change), `query`, `relevant` (lines of the parent's production source files)
and `kind`: `message` for subject and body, `subject` for the subject alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, repeat
from pathlib import Path

from archives import BUILT, VENDORED
from findspot.core.languages import language_of, row
from findspot.rank.roles import Role, role_of
from guard import Guard
from messages import Message, clean, telling_words, words

CACHE = Path(__file__).parent / ".cache"

Case = dict[str, object]

MAX_COMMITS = 4_000
MAX_AGE = 4 * 365 * 24 * 3600
MAX_FILES = 6
MAX_OTHER_FILES = 25
MAX_ADDED_FILES = 2
MIN_LINES_BESIDE_NEW_FILES = 10
"""With fewer, the commit only registers what its new files hold."""

MAX_CHANGED_LINES = 300
MAX_LINE_CHARS = 600
"""A longer changed line is data or generated code."""

SOURCE_FILES = range(20, 3_001)
MESSAGE_CASES = 40
SUBJECT_CASES = 15
MIN_BODY_WORDS = 15
MIN_TELLING_WORDS = 8
MIN_SUBJECT_TELLING_WORDS = 3
SUBJECT_WORDS = range(4, 26)
MAX_QUERY_WORDS = 500
SPARE = 3
"""Candidates to diff per case wanted: some turn out too large."""

_START, _END = b"\1\2\3", b"\3\2\1"
"""Around the head of a log record: messages hold any single character."""
_LOG_FORMAT = "%x01%x02%x03%H%x02%P%x02%ct%x02%an%x02%B%x03%x02%x01"
_DIFF = (
    *("-c", "core.quotePath=false", "diff-tree", "--stdin", "-r", "-p", "-U0"),
    *("--no-renames", "--no-ext-diff", "--no-textconv", "--diff-filter=M"),
)
_BOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|pre-commit-ci|github-actions)\b|-bot\b", re.I
)
_BESIDE = re.compile(
    r"""(?:^|/)(?: docs? | documentation | dist | \.[^/]+ | node_modules | migrations | locales? | i18n
        | translations? )/
      | ^(?: website | site | ci | scripts? | tools? | hack | build | dev | release | contrib )/
      | (?:^|/)(?: _*versions?_* | conf | gruntfile | gulpfile | [\w-]+\.config(?:\.\w+)? )\.[a-z]+$
      | ^(?: setup | noxfile | tasks | build | mix | package )\.[a-z]+$
      | (?:^|/)(?: rakefile | gemfile | sconstruct | podfile | fastfile | brewfile | configure | \.[^/]+ )$
      | \.(?: gradle\.kts | gemspec | rake | sbt | podspec | rockspec | designer\.cs | g\.cs )$
      | [_.]generated\. | (?:^|/)zz_generated""",
    re.IGNORECASE | re.VERBOSE,
)
"""Code beside the product: documentation, builds, releases, settings, generated files."""

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True)
class Commit:
    """A commit that may become a case: its message and the paths that it changed."""

    id: str
    parent: str
    time: int
    message: Message
    modified: tuple[str, ...]
    """Production source files that exist at the parent."""
    added: int
    """Production source files that do not."""
    tests: tuple[str, ...]

    @property
    def score(self) -> float:
        """Return how much the commit resembles an issue and its fix."""
        length = len(words(self.message.text))
        return (
            2.0 * bool(self.tests)
            + math.log2(1 + min(length, 150)) / 2
            - 0.8 * self.added
            - 0.15 * (len(self.modified) - 1)
            - 1.5 * self.message.tidying
        )


@dataclass
class Change:
    """The old side of a commit's diff: which lines of which files it touched."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    size: int = 0
    longest: int = 0

    def relevant(self) -> list[dict[str, str | int]]:
        """Return the touched lines as ranges, neighbours joined."""
        return [
            {"path": path, "start_line": start, "end_line": end}
            for path in self.lines
            for start, end in ranges(self.lines[path])
        ]


def touched(start: int, removed: int, added: int) -> set[int]:
    """Return the old lines that one hunk without context touches.

    Removed lines count themselves; added ones count the old lines on both sides of where they go.
    """
    lines = set(range(start, start + removed))
    if added:
        after = start + removed if removed else start + 1
        lines |= {max(1, after - 1), max(1, after)}
    return lines


def ranges(lines: Iterable[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers as (first, last)."""
    ordered = sorted(lines)
    if not ordered:
        return []
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if two > one + 1]
    starts, ends = [0, *breaks], [*breaks, len(ordered)]
    return [(ordered[start], ordered[end - 1]) for start, end in zip(starts, ends, strict=True)]


@lru_cache(maxsize=100_000)
def has_grammar(path: str) -> bool:
    """Return whether a file is code in a language that is read by a grammar of the package."""
    language = row(language_of(path))
    return language.grammar is not None and not language.extra


def is_production(path: str) -> bool:
    """Return whether a file is source that people write, and neither a test nor an example."""
    return (
        has_grammar(path)
        and role_of(path) is Role.SOURCE
        and not _BESIDE.search(path)
        and not VENDORED.search(f"/{path}")
        and not BUILT.search(f"/{path}")
    )


def names_a_path(query: str, paths: Iterable[str]) -> bool:
    """Return whether a query holds the path or the base name of one of the files."""
    lowered = query.lower()
    return any(path.lower().rpartition("/")[2] in lowered for path in paths)


def log_of(mirror: Path) -> Iterator[bytes]:
    """Yield the records of `git log`, newest first: the head fields, then the raw list of files."""
    command = ["log", "--raw", "--no-renames", "--no-merges", "-z", f"-n{MAX_COMMITS}"]
    answer = git(mirror, *command, f"--format={_LOG_FORMAT}", "HEAD")
    yield from filter(None, answer.split(_START))


def commit_of(record: bytes) -> Commit | None:
    """Return the commit of one log record, None where its message or its files rule it out."""
    head, _, files = record.partition(_END)
    identity, parents, time, author, text = head.decode("utf-8", "replace").split("\x02", 4)
    if len(parents.split()) != 1 or _BOT.search(author):
        return None
    changes = file_changes(files)
    production = [(status, path) for status, path in changes if is_production(path)]
    modified = tuple(path for status, path in production if status == "M")
    added = sum(status == "A" for status, _ in production)
    if (
        not 1 <= len(modified) <= MAX_FILES
        or len(modified) + added < len(production)  # moved or deleted files
        or added > min(MAX_ADDED_FILES, len(modified))
        or len(changes) - len(production) > MAX_OTHER_FILES
    ):
        return None
    message = clean(text)
    if message is None:
        return None
    tests = tuple(path for _, path in changes if role_of(path) is Role.TEST and has_grammar(path))
    return Commit(identity, parents, int(time), message, modified, added, tests)


def file_changes(raw: bytes) -> list[tuple[str, str]]:
    """Return (status, path) of each plain file of a `--raw -z` listing."""
    fields = raw.decode("utf-8", "replace").lstrip("\0\n").split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return [
        (head.split()[-1][:1], path) for head, path in pairs if head.startswith(":") and "100" in head[:15]
    ]


def candidates(mirror: Path) -> list[Commit]:
    """Return the commits of recent history that may become cases, newest first, each subject once."""
    commits: list[Commit] = []
    subjects: set[str] = set()
    newest = 0
    for record in log_of(mirror):
        time = int(record.split(b"\x02", 3)[2])
        newest = newest or time
        commit = commit_of(record) if time >= newest - MAX_AGE else None
        if commit is None:
            continue
        subject = commit.message.subject.lower()
        if subject not in subjects:
            subjects.add(subject)
            commits.append(commit)
    return commits


def spread(commits: Sequence[Commit], count: int) -> list[Commit]:
    """Return the best commit of each of `count` equal stretches of history."""
    if len(commits) <= count:
        return list(commits)
    edges = [len(commits) * at // count for at in range(count + 1)]
    return [max(commits[start:end], key=lambda commit: commit.score) for start, end in pairwise(edges)]


def changes_of(mirror: Path, commits: Sequence[Commit]) -> dict[str, Change]:
    """Return the touched production lines of each commit; a commit whose files are absent is left out."""
    wanted = {commit.id: set(commit.modified) for commit in commits}
    left = list(wanted)
    changes: dict[str, Change] = {}
    while left:
        asked = "".join(f"{commit}\n" for commit in left).encode()
        status, answer = run_git(mirror, _DIFF, asked)
        parsed = parse_diffs(answer, wanted)
        changes |= parsed
        if not status:
            break
        reached = max((left.index(commit) for commit in parsed), default=0)
        changes.pop(left[reached], None)
        left = left[reached + 1 :]
    return changes


def parse_diffs(answer: bytes, wanted: dict[str, set[str]]) -> dict[str, Change]:
    """Read what `diff-tree --stdin -p -U0` printed."""
    found: dict[str, Change] = {}
    change, lines = Change(), None
    left = 0
    for line in answer.split(b"\n"):
        if left > 0:
            left -= line.startswith((b"+", b"-"))
            if lines is not None:
                change.longest = max(change.longest, len(line))
        elif len(line) == 40 and line.decode("latin-1") in wanted:
            commit = line.decode()
            change, lines = found.setdefault(commit, Change()), None
        elif line.startswith(b"diff --git "):
            lines = None
        elif line.startswith(b"--- a/"):
            path = line[6:].rstrip(b"\t").decode("utf-8", "replace")
            lines = change.lines.setdefault(path, set()) if path in wanted[commit] else None
        elif hunk := _HUNK.match(line):
            start, removed, added = (int(number) if number else 1 for number in hunk.groups())
            left = removed + added
            if lines is not None:
                lines |= touched(start, removed, added)
                change.size += removed + added
    return found


def cases_of(mirror: Path, repository: str) -> list[Case]:
    """Return the cases of one repository, newest first."""
    commits = candidates(mirror)
    long = [commit for commit in commits if fits_message(commit.message)]
    long = spread(long, SPARE * MESSAGE_CASES)
    short = [commit for commit in commits if fits_subject(commit.message)]
    short = spread(short, SPARE * (SUBJECT_CASES + MESSAGE_CASES))
    changes = changes_of(mirror, list({commit.id: commit for commit in [*long, *short]}.values()))

    def usable(commit: Commit) -> bool:
        change = changes.get(commit.id)
        return (
            change is not None
            and bool(change.lines)
            and change.size <= MAX_CHANGED_LINES
            and change.longest <= MAX_LINE_CHARS
            and change.size >= MIN_LINES_BESIDE_NEW_FILES * bool(commit.added)
        )

    messages = spread([commit for commit in long if usable(commit)], MESSAGE_CASES)
    taken = {commit.id for commit in messages}
    subjects = spread(
        [commit for commit in short if commit.id not in taken and usable(commit)], SUBJECT_CASES
    )
    fitting = in_fitting_trees(mirror, [*messages, *subjects])
    return [
        case_of(repository, commit, kind, changes[commit.id])
        for kind, chosen in (("message", messages), ("subject", subjects))
        for commit in chosen
        if commit.id in fitting
    ]


def in_fitting_trees(mirror: Path, commits: Sequence[Commit]) -> set[str]:
    """Return the commits whose parents have a fitting number of source files.

    Where the oldest and the newest do, those between them are taken to.
    """
    ordered = sorted(commits, key=lambda commit: commit.time)
    ends = {commit.id: commit for commit in (*ordered[:1], *ordered[-1:])}
    if all(source_files(mirror, commit.parent) in SOURCE_FILES for commit in ends.values()):
        return {commit.id for commit in commits}
    return {commit.id for commit in commits if source_files(mirror, commit.parent) in SOURCE_FILES}


def fits_message(message: Message) -> bool:
    """Return whether subject and body make a question that says more than the subject."""
    return (
        len(words(message.body)) >= MIN_BODY_WORDS
        and len(telling_words(message.text)) >= MIN_TELLING_WORDS
        and len(words(message.text)) <= MAX_QUERY_WORDS
    )


def fits_subject(message: Message) -> bool:
    """Return whether the subject alone makes a question."""
    return (
        len(words(message.subject)) in SUBJECT_WORDS
        and len(telling_words(message.subject)) >= MIN_SUBJECT_TELLING_WORDS
    )


def case_of(repository: str, commit: Commit, kind: str, change: Change) -> Case:
    """Return one case as it is written."""
    query = commit.message.text if kind == "message" else commit.message.subject
    largest = max(change.lines, key=lambda path: (len(change.lines[path]), path))
    case: Case = {
        "id": commit.id,
        "repo": repository,
        "commit": commit.parent,
        "kind": kind,
        "language": language_of(largest),
        "query": query,
        "relevant": change.relevant(),
        "tests": list(commit.tests),
    }
    if names_a_path(query, change.lines):
        case["names_path"] = True
    return case


def source_files(mirror: Path, commit: str) -> int:
    """Return how many files of a commit are code, tests among them."""
    listing = git(mirror, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace")
    return sum(has_grammar(path) for path in listing.split("\0") if path)


def git(mirror: Path, *arguments: str) -> bytes:
    """Return what git prints about a bare mirror; raise CalledProcessError where it fails."""
    status, answer = run_git(mirror, arguments)
    if status:
        raise subprocess.CalledProcessError(status, ["git", *arguments])
    return answer


def run_git(mirror: Path, arguments: Sequence[str], stdin: bytes = b"") -> tuple[int, bytes]:
    """Run git on a bare mirror and return its exit status and output."""
    command = ["git", f"--git-dir={mirror}", *arguments]
    done = subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode, done.stdout


def write(target: Path, lines: Iterable[str]) -> None:
    """Write a file in one step."""
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as opened:
        opened.writelines(lines)
    draft.replace(target)


def collect(mirror: Path, folder: Path) -> str:
    """Write the cases of one mirror to its own file, unless it is there; return what happened."""
    target = folder / f"{mirror.parent.name}.jsonl"
    if target.exists():
        return ""
    repository = repository_of(mirror)
    try:
        cases = cases_of(mirror, repository)
    except subprocess.CalledProcessError as error:
        return f"{repository}: git cannot read it ({error.returncode})\n"
    write(target, (json.dumps(case, ensure_ascii=False) + "\n" for case in cases))
    return f"{repository}: {len(cases)} cases\n"


def main() -> None:
    """Make the cases of every mirror that the guard allows, and write all to one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--guard", type=Path, required=True, metavar="EVALUATION")
    parser.add_argument("--out", type=Path, default=CACHE / "commits.jsonl")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    guard = Guard.of_names(options.guard)
    mirrors = [head.parent for head in sorted(options.mirrors.glob("*+*/repo/HEAD"))]
    mirrors = [mirror for mirror in mirrors if not guard.refuses_repository(repository_of(mirror))]
    by_name = {repository_of(mirror).lower().rpartition("/")[2]: mirror for mirror in reversed(mirrors)}
    mirrors = sorted(by_name.values())  # a fork would put one repository on both sides of a split
    folder = CACHE / "commits"
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for report in pool.map(collect, mirrors, repeat(folder)):
            sys.stderr.write(report)
    files = [folder / f"{mirror.parent.name}.jsonl" for mirror in mirrors]
    write(options.out, (file.read_text("utf-8") for file in files if file.exists()))


def repository_of(mirror: Path) -> str:
    """Return `owner/name` of `owner+name/repo`."""
    return mirror.parent.name.replace("+", "/", 1)


if __name__ == "__main__":
    main()
