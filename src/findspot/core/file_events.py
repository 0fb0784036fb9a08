"""What the system reports as changed below some folders; the only module that knows watchfiles."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from watchfiles import Change

Reports = Generator[set[str], None, None]
"""Batches of changed paths, absolute; an empty one when nothing happened for a while."""

Wanted = Callable[["Change", str], bool]


class Stop(Protocol):
    """Whether to stop; an event of `threading` is one."""

    def is_set(self) -> bool: ...


def reported(
    folders: Iterable[str | Path],
    stop: Stop,
    *,
    tick_ms: int,
    step_ms: int,
    gather_ms: int = 1_600,
    recursive: bool = True,
    wanted: Wanted | None = None,
) -> Reports:
    """Yield changes as they are reported, until stopped; OSError where the system refuses to watch.

    A batch ends when nothing more comes within `step_ms`, after `gather_ms` in any case.
    """
    from watchfiles import watch
    from watchfiles._rust_notify import WatchfilesRustInternalError

    stop_event: Any = stop
    source = watch(
        *folders,
        watch_filter=wanted,
        debounce=gather_ms,
        step=step_ms,
        stop_event=stop_event,
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


def but_for(ignored: Sequence[Path]) -> Wanted:
    """Return all changes but those below these folders and those that tools make for themselves."""
    from watchfiles import DefaultFilter

    return DefaultFilter(ignore_paths=[str(path) for path in ignored])
