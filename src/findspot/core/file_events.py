"""What the system reports as changed below some folders; the only module that knows watchfiles."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from pathlib import Path

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
