"""Watch a folder, and call back when it changed and has been quiet for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from findspot.core.file_events import but_for, reported
from findspot.core.log import get_logger

_log = get_logger("chunkfiles")

QUIET_S = 0.5
"""Several files are usually written in a row: wait until the last is done."""

_LOOK_ANYWAY_MS = 5_000
_STEP_MS = 50
_ABSENT_S = 1.0


class FolderWatch:
    """Calls `changed` from its own thread when the folder has a new state that is stable.

    System events only say when to look; the state decides, so that a missed event or a replaced folder is
    noticed a little later instead of never.
    """

    def __init__(
        self, folder: Path, state: Callable[[], Hashable], changed: Callable[[], None], seen: Hashable
    ) -> None:
        self._folder = folder
        self._state = state
        self._changed = changed
        self._seen = seen
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chunk-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._look()
                if self._folder.is_dir():
                    self._follow()
                else:
                    self._stop.wait(_ABSENT_S)
            except Exception:  # noqa: BLE001 - a watcher's batch: the next one may go well
                _log.exception("watching %s failed", self._folder)
                self._stop.wait(_ABSENT_S)

    def _follow(self) -> None:
        """Look after each batch of events, until the folder is replaced or the watch is stopped."""
        identity = self._folder.stat().st_ino
        batches = reported(
            [self._folder], self._stop, tick_ms=_LOOK_ANYWAY_MS, step_ms=_STEP_MS, recursive=False
        )
        for _ in batches:
            self._look()
            if not self._folder.is_dir() or self._folder.stat().st_ino != identity:
                return

    def _look(self) -> None:
        now = self._state()
        if now == self._seen:
            return
        while True:
            if self._stop.wait(QUIET_S):
                return
            before, now = now, self._state()
            if now == before:
                break
        self._seen = now
        self._changed()


def watch_tree(
    folder: Path, ignored: Sequence[Path], stopped: Callable[[], bool], changed: Callable[[], None]
) -> None:
    """Call `changed` after each burst of changes below a folder, until stopped; blocks."""
    batches = reported(
        [folder],
        _Asked(stopped),
        tick_ms=_LOOK_ANYWAY_MS // 5,
        step_ms=int(QUIET_S * 1000),
        wanted=but_for(ignored),
    )
    looked = False
    for batch in batches:
        if batch or not looked:  # once in any case: something may have changed before we watched
            looked = True
            changed()


class _Asked:
    """An event for the watcher that is set when `stopped` returns true."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.is_set = stopped
