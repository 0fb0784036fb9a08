"""Seeing changes below a project: by the system's notifications, or by looking every few seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

from findspot.core.log import get_logger
from findspot.core.model import Stamp
from findspot.core.paths import is_folder, path_below
from findspot.core.platforms import remote_kind
from findspot.core.settings import DiscoverSettings
from findspot.discover.walk import walk
from findspot.sync.changed_paths import EVERYTHING, changed_path

Reports = Generator[set[str], None, None]
"""Batches of changed paths, absolute; an empty one when nothing happened for a while."""


def reported(
    folders: Iterable[str | Path],
    stop: threading.Event,
    *,
    tick_ms: int,
    step_ms: int,
    gather_ms: int,
    recursive: bool,
) -> Reports:
    """Yield changes as they are reported, until stopped; OSError where the system refuses to watch.

    A batch ends when nothing more comes within `step_ms`, after `gather_ms` in any case.
    """
    from watchfiles import watch
    from watchfiles._rust_notify import WatchfilesRustInternalError

    source = watch(
        *folders,
        watch_filter=None,
        debounce=gather_ms,
        step=step_ms,
        stop_event=stop,
        rust_timeout=tick_ms,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=False,
        recursive=recursive,
        ignore_permission_denied=True,
    )
    try:
        for changes in source:
            yield {path for _, path in changes}
    except WatchfilesRustInternalError as error:
        raise OSError(str(error)) from error
    finally:
        source.close()


_log = get_logger("sync")

_STEP_MS = 25
"""Changes that follow each other faster than this are handed on together."""

_GATHER_MS = 400
"""A burst of changes is handed on at least this often."""

TICK_MS = 100
"""A batch comes at least this often, if only an empty one."""

POLL_S = 2.0
"""How often a project is looked at where the system does not notify."""

_BY_FOLDER = sys.platform == "linux"
"""inotify takes a watch for each folder: those that are left out anyway need none. Elsewhere one
watch covers a whole tree."""

Batches = Generator[frozenset[str], None, None]
"""Paths that have to be looked at; empty ones come so that the caller can do other things."""

CurrentSettings = Callable[[], DiscoverSettings]


class Watcher:
    """The changes of one project. `message` says why it polls, where it does."""

    def __init__(
        self, root: Path, settings: CurrentSettings, stop: threading.Event, *, polling: bool = False
    ) -> None:
        self._root = root
        self._settings = settings
        self._stop = stop
        self.message = ""
        if polling:
            self.message = "Notifications are switched off"
        elif kind := remote_kind(root):
            self.message = f"The project is on a file system ({kind}) that does not notify of all changes"

    @property
    def polling(self) -> bool:
        return bool(self.message)

    def batches(self) -> Batches:
        """Yield batches until stopped, or the project is gone; after the first one, nothing is missed."""
        if not self.polling:
            try:
                yield from self._notified()
                return
            except OSError as error:
                if not is_folder(self._root):
                    return
                self.message = f"The system refuses to watch more folders ({error})"
        _log.warning("%s; looking every %.0f s instead.", self.message, POLL_S)
        try:
            yield from self._polled()
        except OSError:
            if is_folder(self._root):
                raise

    def _notified(self) -> Batches:
        folders = self._folders()
        source = self._open(folders)
        first = True
        try:
            while not self._stop.is_set():
                reported = next(source, None)
                if reported is None:
                    return
                paths = self._paths(reported)
                folders = _still_watched(reported, folders)
                is_new = any(path == EVERYTHING or (self._root / path).is_dir() for path in paths)
                if _BY_FOLDER and (first or is_new):
                    folders, source, late = self._watch_new_folders(folders, source)
                    paths |= late
                first = False
                yield frozenset(paths)
        finally:
            source.close()

    def _watch_new_folders(
        self, watched: frozenset[str], source: Reports
    ) -> tuple[frozenset[str], Reports, set[str]]:
        """Watch the folders that there are now; the new watches begin before the old ones end.

        The folders are listed again once they are watched: a folder that came after the last listing is
        found by the next one, and one that comes after that is reported by the folder it is in.
        """
        late: set[str] = set()
        while (folders := self._folders()) != watched:
            new = self._open(folders)
            reported = next(new, set()) | next(source, set())
            source.close()
            # Files may have come into a new folder before it was watched.
            late |= {path_below(self._root, Path(folder)) or EVERYTHING for folder in folders - watched}
            late |= self._paths(reported)
            watched, source = _still_watched(reported, folders), new
        return watched, source, late

    def _open(self, folders: Iterable[str]) -> Reports:
        return reported(
            folders,
            self._stop,
            tick_ms=TICK_MS,
            step_ms=_STEP_MS,
            gather_ms=_GATHER_MS,
            recursive=not _BY_FOLDER,
        )

    def _folders(self) -> frozenset[str]:
        if not _BY_FOLDER:
            return frozenset((str(self._root),))
        entered = walk(self._root, self._settings()).folders
        return frozenset(str(self._root / folder) for folder in entered)

    def _paths(self, reported: Iterable[str]) -> set[str]:
        found = {changed_path(self._root, path) for path in reported}
        return {path for path in found if path is not None}

    def _polled(self) -> Batches:
        """Compare sizes and times of writing with those of the last look."""
        before = self._look()
        while not self._stop.is_set():
            for _ in range(round(POLL_S * 1000 / TICK_MS)):
                yield frozenset()
                if self._stop.wait(TICK_MS / 1000):
                    return
            now = self._look()
            changed = {path for path, _ in before.items() ^ now.items()}
            yield frozenset(changed)
            before = now

    def _look(self) -> dict[str, Stamp]:
        found = walk(self._root, self._settings())
        return {file.path: file.stamp for file in found.files}


def _still_watched(reported: Iterable[str], folders: frozenset[str]) -> frozenset[str]:
    """Return the folders whose watches still hold: one that is itself reported came, went or was replaced."""
    lost = folders.intersection(reported)
    if not lost:
        return folders
    return frozenset(folder for folder in folders - lost if lost.isdisjoint(map(str, Path(folder).parents)))
