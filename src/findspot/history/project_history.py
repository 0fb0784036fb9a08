"""The history of one project: kept current, and asked."""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from findspot.core.errors import FindspotError, IndexCorruptError, InvalidArgumentError
from findspot.core.git import Hunk, current_commit, diff_from, hunk_of
from findspot.core.log import get_logger
from findspot.core.model import Progress
from findspot.core.platforms import NO_WINDOW, python_command, python_environment
from findspot.core.progress import CancelToken, ProgressSink
from findspot.discover.checkouts import head_commit, is_shallow
from findspot.embed.embedder import Embedder
from findspot.history.commit_log import Commit, commits_of_lines, in_words
from findspot.history.commit_store import CommitStore
from findspot.history.commit_worker import bring_up_to_date
from findspot.text.tokens import STOP_WORDS, tokens

_log = get_logger("history")

FEW_NEW = 20
"""Commits that are read before a question about history is answered; more are read beside it."""
DEFAULT_LIMIT = 10
_NO_COMMIT = "There is no commit here: history is that of a git repository."
_SHALLOW = "This clone is shallow: older commits are not in it. `git fetch --unshallow` gets them."
_LOOK_S = 0.2
_LAST_LINE = 100_000
_FRAME = re.compile(
    r"\b(?:when|since|why|which|who|did|do(?:es)?|change[ds]?|commit|made|makes?|bec[ao]me|able|first|"
    r"fix(?:e[sd])?|introduced?|add(?:ed)?|stop(?:ped)?|los[et]|reason|motivated|instead|rather|"
    r"any ?more|(?:no )?longer)\b",
    re.IGNORECASE,
)
"""Words that ask for a change of any kind: thousands of commits have them."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"(])|\n\s*\n|\n(?=\s*[-*•] )")


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """A commit that answers a question; of its changes, those that the question is about come first."""

    commit: Commit
    score: float = 0.0
    sentence: str = ""
    """Of the message's body, the one that fits best."""
    project: str = ""
    """The member of a workspace that it is of, where several were asked."""


@dataclass(frozen=True, slots=True)
class Commits:
    """The answer to a question about history."""

    query: str
    """Or the place whose commits these are."""
    found: tuple[FoundCommit, ...]
    elapsed_ms: float = 0.0
    warning: str | None = None
    is_of_place: bool = False
    """Whether they are those that shaped a place that was named."""


TURNS = threading.BoundedSemaphore(2)
"""Held by whoever runs a process that reads commits: a workspace may have fifty members."""


class ProjectHistory:
    """The commits of a project's repository, kept current. Safe to use from several threads."""

    def __init__(self, root: Path, folder: Path, open_model: Callable[[], Embedder]) -> None:
        """`folder` is where the index is; `open_model` opens the model of the box."""
        self._open_model = open_model
        self._root = root
        self._store = CommitStore(folder)
        self._guard = threading.Lock()
        self._few = threading.Lock()
        """Held while a few commits are read: whoever asks meanwhile waits for them."""
        self._reading: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._progress: Progress | None = None
        self._is_closed = False

    @property
    def commits(self) -> CommitStore | None:
        """What is read of the commits so far; None before that, and where it is damaged."""
        with contextlib.suppress(IndexCorruptError):
            return self._store if self._store.exists else None
        return None

    def update_soon(self) -> None:
        """Begin to read the commits that are missing, in a process of its own."""
        with self._guard:
            if self._reading is not None and self._reading.is_alive():
                return
            self._is_closed = False
            self._reading = threading.Thread(target=self._update, name="history", daemon=True)
            self._reading.start()

    def _update(self) -> None:
        with contextlib.suppress(FindspotError, OSError):
            if not self._store.folder.is_dir() or self._is_current():
                return
            while not TURNS.acquire(timeout=_LOOK_S):
                if self._is_closed:
                    return
            try:
                self._run_worker()
            finally:
                TURNS.release()

    def _run_worker(self) -> None:
        process = self._process = subprocess.Popen(
            python_command("-m", "findspot.history.commit_worker", str(self._root), str(self._store.folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=python_environment(),
            creationflags=NO_WINDOW,
        )
        if self._is_closed:
            process.kill()
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                done, total = map(int, line.split())
                self._progress = Progress(done, total, "history")
            failure = process.stderr.read().decode(errors="replace") if process.stderr else ""
        if process.returncode > 0:
            _log.warning("the history of %s cannot be read: %s", self._root, failure[-500:])
        self._progress = self._process = None

    def wait(self, cancel: CancelToken, progress: ProgressSink) -> None:
        """Wait until the commits are read, or to be cancelled: what was read is kept."""
        while (reading := self._reading) is not None and reading.is_alive():
            reading.join(_LOOK_S)
            if cancel.cancelled:
                self.close()
            if self._progress:
                progress(self._progress)

    def close(self) -> None:
        self._is_closed = True
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        if self._reading is not None:
            self._reading.join(10)
        self._store.close()

    def _head(self) -> str | None:
        """Return the commit of HEAD; None where there is none. git is run only if its files do not say."""
        return head_commit(self._root) or current_commit(self._root)

    def _is_current(self) -> bool:
        """Return whether all commits are stored, after reading a few that are new."""
        head = self._head()
        try:
            with self._few:
                if head is None or self._store.complete_at() == head:
                    return True
                return bring_up_to_date(self._root, self._store, FEW_NEW)
        except IndexCorruptError:  # it is made of what git has: nothing is lost
            self._store.remove()
            return False

    def search(self, question: str, limit: int = DEFAULT_LIMIT, offset: int = 0) -> Commits:
        started = time.perf_counter()
        store, warning = self._current()
        topic = _FRAME.sub(" ", question)
        ranked = store.ranked(question, topic, self._open_model()) if store else []
        shown = tuple(_shown(store, ranked[offset : offset + limit], _words(question))) if store else ()
        return Commits(question, shown, (time.perf_counter() - started) * 1000, warning)

    def _current(self) -> tuple[CommitStore | None, str | None]:
        """Read a few new commits; of many, say that they are not all read yet."""
        try:
            if self._head() is None:
                return None, _NO_COMMIT
            if self._is_current():
                return self.commits, _SHALLOW if is_shallow(self._root) else None
        except InvalidArgumentError as error:  # git is missing, or refuses
            return self.commits, error.user_message
        self.update_soon()
        now = self._progress
        so_far = f" ({now.done:,} of {now.total:,})" if now else ""
        return self.commits, f"Not all commits are read yet{so_far}, the newest first. Ask again in a moment."

    def of_lines(self, path: str, lines: tuple[int, int] | None, limit: int = DEFAULT_LIMIT) -> Commits:
        """Return the commits that shaped a file or some lines of it, as it is on disk, the newest first."""
        place = f"{path}:{lines[0]}-{lines[1]}" if lines else path
        if self._head() is None:
            return Commits(place, (), warning=_NO_COMMIT, is_of_place=True)
        found = commits_of_lines(self._root, path, self._at_head(path, lines) if lines else None, limit)
        gap = _SHALLOW if is_shallow(self._root) else None
        return Commits(place, tuple(map(FoundCommit, found)), warning=gap, is_of_place=True)

    def _at_head(self, path: str, lines: tuple[int, int]) -> tuple[int, int]:
        """Return where HEAD has lines of a file that may have been edited since."""
        if not 0 < lines[0] <= lines[1]:
            raise InvalidArgumentError(f"{lines[0]}-{lines[1]} is not a range of lines, such as 10-40.")
        edits = diff_from(self._root, "HEAD", path) or ""
        hunks = list(filter(None, map(hunk_of, edits.split("\n"))))
        within = range(lines[0], min(lines[1], _LAST_LINE) + 1)
        first = next(filter(None, (_moved(line, hunks) for line in within)), None)
        last = next(filter(None, (_moved(line, hunks) for line in reversed(within))), None)
        if first is None or last is None:
            raise InvalidArgumentError(f"Not committed yet: {in_words(lines)} of {path}.")
        return first, last


def _shown(store: CommitStore, found: Sequence[tuple[int, float]], asked: set[str]) -> Iterator[FoundCommit]:
    commits = store.commits([number for number, _ in found])
    for number, score in found:
        if (commit := commits.get(number)) is None:  # HEAD reaches it no longer
            continue
        commit.changes.sort(key=lambda each: -len(asked & _words(" ".join((each.path, *each.names)))))
        yield FoundCommit(commit, round(score, 3), _sentence(commit, asked))


def _moved(line: int, hunks: Sequence[Hunk]) -> int | None:
    """Return the line before an edit that is now at `line`; None for a line that is new."""
    shift = 0
    for old, before, new, after, _ in hunks:
        if line < new + (not after):
            break
        if line < new + after:  # inside of what was changed
            return old + min(line - new, before - 1) if before else None
        shift = old + before + (not before) - new - after - (not after)
    return line + shift


def _words(text: str) -> set[str]:
    return {word for word in tokens(text) if word not in STOP_WORDS}


def _sentence(commit: Commit, asked: set[str]) -> str:
    """Return the sentence of a message that has most words of a question; the first where none has any."""
    best = max(_SENTENCE.split(commit.body), key=lambda sentence: len(asked & _words(sentence)))
    return " ".join(best.split())
