"""The first index of a project: made in a thread, while a question is answered from what is ready."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

from findspot.core.model import IndexReport, Progress
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.search.likely_files import likely_files

if TYPE_CHECKING:
    from findspot.project import Project

_LOOK_S = 0.05
_FEWEST = 25
"""Files, those that fit the question best, that must be indexed before it is answered."""


class FirstIndex:
    """An indexing run that goes on after the question that began it was answered."""

    def __init__(self, project: Project, question: str, cancel: CancelToken) -> None:
        self.progress: ProgressSink = ignore_progress
        """Where the run shows how far it is; somebody may look at times."""
        self.run: Future[IndexReport] = Future()
        self._project, self._question, self._cancel = project, question, cancel
        self._begun = False

    def begin(self, *, allow_large: bool) -> None:
        """Begin to index, the files that may answer the question before the others."""
        threads = ThreadPoolExecutor(2, "first-index")
        likely = threads.submit(likely_files, self._project.root, self._question)
        self.run = threads.submit(
            copy_context().run,
            lambda: self._project.update(
                allow_large=allow_large,
                first=lambda: () if likely.exception() else likely.result(),
                progress=self._note,
                cancel=self._cancel,
            ),
        )
        threads.shutdown(wait=False)

    def wait_for_first(self) -> None:
        """Wait until files that may answer are indexed; an error ends the waiting."""
        while not self.run.done():
            if self._begun and int(self._project.store.meta().get("done", "0")) >= _FEWEST:
                return
            time.sleep(_LOOK_S)
        self.run.result()

    def interrupt(self) -> None:
        """Stop, because the process ends; the next question goes on with it."""
        self._cancel.interrupt()
        self.run.exception()

    def _note(self, progress: Progress) -> None:
        self._begun |= progress.phase == "indexing" and progress.done > 0
        self.progress(progress)
