"""The one place that runs git, in repositories that may be anybody's.

A repository's configuration can name programs: filters, hooks, monitors, the command of a remote. None of
them may run because somebody searches, so git reads what is there and does nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import check_exhausted
from findspot.core.platforms import NO_WINDOW, find_program

TIMEOUT_S = 30.0

MOST_COMMITS = 2_000
"""Of a history: older commits say little about the files of today."""

History = tuple[tuple[str, ...], ...]
"""The paths that each commit changed, the latest commit first."""

_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("core.bigFileThreshold", "1m"),  # of a larger file, a diff says only that it differs
    ("diff.ignoreSubmodules", "all"),
    ("diff.interHunkContext", "0"),
    ("diff.orderFile", os.devnull),
    ("diff.submodule", "short"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
)
"""Settings of ours that replace those of the repository."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # of a remote, whatever its configuration says
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_UNFILTERED = frozenset({"rev-parse", "rev-list", "ls-files", "cat-file", "log"})
"""Commands that compare no file of the work tree, and so need no filter."""

_FILTER_OFF = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
_PLAIN_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_ATTRIBUTES = Path(__file__).with_name("git_attributes")
"""With these, git names the definition around each hunk in the languages that it knows."""
_MAX_REVISION_CHARS = 200
_NOTHING_SET = 1
"""The exit status of `git config` where no key matches."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


class GitMissingError(InvalidArgumentError):
    def __init__(self) -> None:
        super().__init__("This needs git, which is not installed.", hint="Install git, or ask without it.")


def run_git(root: Path, command: str, *arguments: str) -> str | None:
    """Return what a git command that only reads prints, or None where git refuses."""
    off = [] if command in _UNFILTERED else _filters_off(root)
    status, output = _run(root, (command, *arguments), off)
    return output if status == 0 else None


def differing(root: Path, commit: str) -> str | None:
    """Return the paths below a folder whose files differ from a commit, each ended by a NUL."""
    return run_git(root, "diff", "--name-only", "-z", "--relative", *_PLAIN_DIFF, commit, "--", ".")


def find_commit(root: Path, revision: str, what: str, hint: str) -> str:
    """Return the commit of a revision; `what` names, in an error, that which needs a repository."""
    if not revision.strip() or len(revision) > _MAX_REVISION_CHARS or "\0" in revision:
        raise InvalidArgumentError(f"{what} must name a revision, such as 'main' or 'HEAD~3'.")
    if run_git(root, "rev-parse", "--is-inside-work-tree") is None:
        raise InvalidArgumentError(f"{what} needs a git repository, and {root} is in none.", hint=hint)
    if commit := object_named(root, f"{revision}^{{commit}}"):
        return commit
    if object_named(root, "HEAD") is None:
        raise InvalidArgumentError(f"{what} needs a commit, and this repository has none yet.", hint=hint)
    raise InvalidArgumentError(
        f"'{revision}' is not a revision of this repository.",
        hint="Name a branch, a tag or a commit, such as 'main' or 'HEAD~3'.",
    )


def untracked(root: Path) -> str | None:
    """Return the paths below a folder that git neither tracks nor ignores, each ended by a NUL."""
    return run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")


def tracked_files(root: Path) -> list[str] | None:
    """Return the paths below a folder that git tracks; None where git is missing or refuses."""
    try:
        listed = run_git(root, "ls-files", "-z", "--cached", "--", ".")
    except GitMissingError:
        return None
    return None if listed is None else [path for path in listed.split("\0") if path]


def configured(file: Path, key: str) -> str | None:
    """Return the value of a key in a configuration file of the user's; None where git finds none."""
    with contextlib.suppress(InvalidArgumentError):
        status, output = _run(file.parent, ("config", "--file", str(file), "--includes", "-z", "--get", key))
        return output.removesuffix("\0") if status == 0 else None
    return None


def diff_from(root: Path, commit: str, path: str = ".") -> str | None:
    """Return the changed lines below a folder, without any around them, as a unified diff."""
    named = ("--src-prefix=a/", "--dst-prefix=b/", "--no-color")
    return run_git(root, "diff", "-U0", *named, "--relative", *_PLAIN_DIFF, commit, "--", f":(literal){path}")


class Hunk(NamedTuple):
    """The lines of a hunk before and after; where there are none, `old` or `new` is the line before them."""

    old: int
    removed: int
    """How many lines it has of the old side, with those that stay."""
    new: int
    added: int
    around: str
    """The line that git names it by."""


def hunk_of(line: str) -> Hunk | None:
    found = _HUNK.match(line)
    if found is None:
        return None
    old, removed, new, added = (int(number or 1) for number in found.group(1, 2, 3, 4))
    return Hunk(old, removed, new, added, found[5])


def read_history(root: Path) -> History:
    """Return what the last commits reachable from HEAD changed below a folder; none where git cannot say.

    Merges and first commits are left out.
    """
    try:
        head = current_commit(root)
    except InvalidArgumentError:
        return ()
    return changed_together(root, head) if head else ()


def object_named(root: Path, name: str) -> str | None:
    """Return the hash of what a name means to git, such as `HEAD:./path`; None where it means nothing."""
    found = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    return found.strip() if found else None


def current_commit(root: Path) -> str | None:
    return object_named(root, "HEAD^{commit}")


@lru_cache(maxsize=8)
def changed_together(root: Path, commit: str) -> History:
    """Return the paths below a folder that each of the last commits up to one changed, latest first."""
    chosen = (f"--max-count={MOST_COMMITS}", "--min-parents=1", "--max-parents=1")
    shape = ("--name-only", "--format=%x00", "--no-show-signature", "--relative")
    try:
        listed = run_git(root, "log", *chosen, *shape, *_PLAIN_DIFF, commit, "--", ".")
    except InvalidArgumentError:  # remembered too: a history that takes so long is not read twice
        return ()
    commits = (listed or "").split("\0")
    return tuple(tuple(filter(None, each.split("\n"))) for each in commits if each.strip())


def read_lines(root: Path, given: str, command: str, *arguments: str) -> Iterator[str]:
    """Yield the lines that git prints as they come; `given` is its standard input.

    `InvalidArgumentError` at the end if git failed: a clone that has not everything says so late.
    """
    settings = [("core.attributesFile", str(_ATTRIBUTES)), ("log.showRoot", "false")]
    with _started(root, (command, *arguments), settings) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given.encode())
        process.stdin.close()
        for line in process.stdout:
            yield line.decode("utf-8", "replace")
    if process.returncode:
        raise InvalidArgumentError(f"git {command} ended with status {process.returncode}.")


@contextlib.contextmanager
def _started(
    root: Path, arguments: Iterable[str], settings: Iterable[tuple[str, str]]
) -> Iterator[subprocess.Popen[bytes]]:
    command, environment = _command(root, arguments, settings)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        creationflags=NO_WINDOW,
    )
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _filters_off(root: Path) -> list[tuple[str, str]]:
    """Return the settings that switch every filter off, the user's own too.

    The user's filter would run on the repository's word, and may read its program from the repository's
    configuration, as git-lfs does with its extensions.
    """
    asked = ("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
    status, output = _run(root, asked)
    if status not in (0, _NOTHING_SET):
        raise InvalidArgumentError(f"git cannot read the configuration of {root}.")
    names = sorted({key.rsplit(".", 1)[0] for key in output.split("\0") if "." in key})
    return [(f"{name}.{key}", value) for name in names for key, value in _FILTER_OFF]


def _run(root: Path, arguments: Iterable[str], settings: Iterable[tuple[str, str]] = ()) -> tuple[int, str]:
    command, environment = _command(root, arguments, settings)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            env=environment,
            creationflags=NO_WINDOW,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidArgumentError(f"git did not answer within {TIMEOUT_S:g} seconds.") from None
    except OSError as error:
        check_exhausted(error, root)
        raise
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")


def _command(
    root: Path, arguments: Iterable[str], settings: Iterable[tuple[str, str]] = ()
) -> tuple[list[str], dict[str, str]]:
    program = find_program("git")
    if program is None:
        raise GitMissingError
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    switches, counted = _spelled([*_SETTINGS, *settings])
    environment = {**inherited, **counted, **_ENVIRONMENT}
    return [program, "--no-pager", *switches, "-C", str(root), *arguments], environment


def _spelled(settings: Iterable[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    """Return settings as arguments, and as environment those with "=" in their name, which `-c` cuts at."""
    listed = list(settings)
    switches = [part for key, value in listed if "=" not in key for part in ("-c", f"{key}={value}")]
    others = [(key, value) for key, value in listed if "=" in key]
    counted = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(others)}
    counted |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(others)}
    return switches, counted | {"GIT_CONFIG_COUNT": str(len(others))}


MOST_ANCESTORS = 20_000
"""Commits of the history that are compared: git lists so many in about 0.2 seconds."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """What git says about a folder; empty where it says nothing."""

    ancestors: Sequence[str] = ()
    """The commit of HEAD and its ancestors, the nearest first."""
    branch: str = ""
    default_branch: str = ""

    @property
    def commit(self) -> str:
        return self.ancestors[0] if self.ancestors else ""


def read_checkout(root: Path) -> Checkout:
    """Return what git says about a folder; nothing where there is no git, or no commit."""
    with contextlib.suppress(InvalidArgumentError):
        listed = run_git(root, "log", "--format=%H", "--no-show-signature", f"--max-count={MOST_ANCESTORS}")
        default = _branch_of(root, "origin/HEAD").removeprefix("origin/")
        return Checkout(tuple((listed or "").split()), _branch_of(root, "HEAD"), default)
    return Checkout()


def _branch_of(root: Path, reference: str) -> str:
    """Return the branch that a reference names; nothing for a commit without a branch."""
    name = (run_git(root, "rev-parse", "--abbrev-ref", reference) or "").strip()
    return "" if name == reference else name
