"""The first index of a project: made in a thread, while a question is answered from what is ready."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from findspot.core.errors import FindspotError
from findspot.core.model import IndexReport, Progress
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.search.likely_files import likely_files

if TYPE_CHECKING:
    from findspot.project import Project

T = TypeVar("T")

_LOOK_S = 0.05
_FEWEST = 25
"""Files, those that fit the question best, that must be indexed before it is answered."""


class FirstIndex:
    """An indexing run that goes on after the question that began it was answered."""

    def __init__(self, project: Project, question: str, cancel: CancelToken) -> None:
        self.progress: ProgressSink = ignore_progress
        """Where the run shows how far it is; somebody may look at times."""
        self._project = project
        self._question = question
        self._cancel = cancel
        self._enough = _FEWEST
        self._done = 0
        self._run: Future[IndexReport] = Future()

    def begin(self, *, allow_large: bool) -> None:
        """Begin to index, the files that may answer the question before the others."""
        self._run = Future()
        likely: Future[list[str]] = Future()

        def index() -> IndexReport:
            return self._project.update(
                allow_large=allow_large,
                first=likely.result,
                progress=self._note,
                cancel=self._cancel,
            )

        def look() -> list[str]:
            with contextlib.suppress(OSError, FindspotError):
                found = likely_files(self._project.root, self._question)
                self._enough = min(len(found), _FEWEST)
                return found
            return []

        _start(look, likely)
        _start(index, self._run)

    def wait_for_first(self) -> None:
        """Wait until files that may answer are indexed; an error ends the waiting."""
        while not self._run.done():
            if self._done and int(self._project.store.meta().get("done", "0")) >= max(1, self._enough):
                return
            time.sleep(_LOOK_S)
        self._run.result()

    def _note(self, progress: Progress) -> None:
        if progress.phase == "indexing":
            self._done = progress.done
        self.progress(progress)

    @property
    def is_done(self) -> bool:
        return self._run.done()

    def wait(self) -> IndexReport:
        """Wait for the rest."""
        return self._run.result()

    def interrupt(self) -> None:
        """Stop, because the process ends; the next question goes on with it."""
        self._cancel.interrupt()
        self._run.exception()


def _start(work: Callable[[], T], outcome: Future[T]) -> None:
    """Do some work in a thread, on behalf of the same client."""

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001
            outcome.set_exception(error)

    threading.Thread(target=copy_context().run, args=(run,), name="first-index", daemon=True).start()
