"""The lock of an index: whoever writes holds it, in whichever store and process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from findspot.core.errors import IndexNotFoundError
from findspot.core.locks import is_locked, writer_lock

LOCK_NAME = "writer.lock"
SET_ASIDE = "index.bak"
"""Where a damaged index is kept when it is rebuilt."""

REBUILT = f"The index was damaged and has been rebuilt; the damaged one is kept in {SET_ASIDE}."
"""What a report says once, and the status for as long as the damaged index is kept."""

DELETE_WAIT_S = 1.0
"""How long a deletion waits for a writer: saved files are stored in less than that."""


class IndexLock:
    """The writer's lock of one index; `location` is where errors say that the index is missing."""

    def __init__(self, folder: Path, project_path: str, location: str) -> None:
        self._folder = folder
        self._project_path = project_path
        self._location = location

    @property
    def is_held(self) -> bool:
        """Whether some process of this machine holds it."""
        return is_locked(self._folder / LOCK_NAME)

    def hold(
        self, wait_s: float = 0.0, *, make_folder: bool = True
    ) -> contextlib.AbstractContextManager[None]:
        """Hold the lock; `IndexBusyError` when it is not free in time."""
        return writer_lock(self._folder / LOCK_NAME, wait_s, make_folder=make_folder)

    @contextlib.contextmanager
    def hold_for_writer(self, wait_s: float, exists: Callable[[], bool], *, create: bool) -> Iterator[None]:
        """Hold the lock of an index that exists, that was set aside, or that may be created."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self.hold(wait_s, make_folder=create))
            except IndexNotFoundError:
                raise self.not_found() from None
            if not (create or exists() or (self._folder / SET_ASIDE).is_dir()):
                raise self.not_found()
            yield

    def not_found(self) -> IndexNotFoundError:
        """Return the error of an index that does not exist."""
        return IndexNotFoundError(self._project_path, self._location)
