"""Bringing an index up to date before it answers, where no watcher does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Protocol

from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
)
from findspot.core.roots import Roots
from findspot.core.settings import Settings
from findspot.discover.admission import NOTED, left_out_notes
from findspot.indexing.pipeline import is_current
from findspot.store.database import JOURNAL_NOTE
from findspot.store.index_meta import COMPLETE
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.sync.strategies import strategy_note


class Indexed(Protocol):
    """A project that may have an index."""

    store: Store

    @property
    def settings(self) -> Settings: ...

    @property
    def roots(self) -> Roots: ...

    @property
    def wanted(self) -> bool: ...


def catch_up(project: Indexed, update: Callable[[], object]) -> str | None:
    """Run `update` if files changed since they were indexed; returns a warning where it could not.

    Nobody asked for the update itself, so that its failure is no reason to give no answer.
    """
    if project.store.remote or not project.wanted:  # a shared index follows its one indexer
        return None
    if project.store.being_written and not _is_complete(project.store):
        return None  # whoever builds it goes on, and the answer says how far that is
    try:
        if not _is_current(project):
            update()
    except CancelledError:
        raise
    except IndexBusyError:
        return "Another process is updating the index: what changed a moment ago may be missing."
    except FileLimitError as error:
        return (
            f"The index is not up to date: the project has grown to {error.count} files. Index it to go on."
        )
    except FindspotError as error:
        return f"The index could not be brought up to date: {error.user_message}"
    return None


def run_options(store: Store) -> dict[str, object]:
    """Return the settings that were given for the last run that somebody asked for, and for it alone."""
    with contextlib.suppress(FindspotError, ValueError):
        return dict(json.loads(store.meta().get("options", "{}"))) if store.exists else {}
    return {}


def status_notes(
    snapshot: Snapshot, settings: Settings, roots: Roots, *others: str | None
) -> tuple[str, ...]:
    """Return what a user should know of the last full run, of what is left out, and of the strategy."""
    meta = snapshot.meta()
    left_out = left_out_notes(skip for reason in NOTED for skip in snapshot.skips.all(reason))
    strategy = strategy_note(settings.sync.strategy, roots)
    notes = (*meta.get("notes", "").split("\n"), *left_out, strategy, meta.get(JOURNAL_NOTE), *others)
    return tuple(dict.fromkeys(filter(None, notes)))


def _is_complete(store: Store) -> bool:
    try:
        return store.meta().get("build") == COMPLETE
    except FindspotError:
        return False


def _is_current(project: Indexed) -> bool:
    try:
        with project.store.snapshot() as snapshot:
            return is_current(project.roots.checked(), snapshot, project.settings)
    except IndexCorruptError:  # the update repairs it
        return False
