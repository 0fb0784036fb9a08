"""What a status says beside its figures."""

from __future__ import annotations

from findspot.core.roots import Roots
from findspot.core.settings import Settings
from findspot.discover.notes import NOTED, left_out_notes
from findspot.store.journal import NOTE as JOURNAL_NOTE
from findspot.store.snapshot import Snapshot
from findspot.sync.on_commit import OnCommit, without_git
from findspot.sync.realtime import Realtime


def status_notes(
    snapshot: Snapshot, settings: Settings, roots: Roots, *others: str | None
) -> tuple[str, ...]:
    """Return what a user should know of the last full run, of what is left out, and of the strategy."""
    meta = snapshot.meta()
    left_out = left_out_notes(skip for reason in NOTED for skip in snapshot.skips(reason))
    strategy = strategy_note(settings.sync.strategy, roots)
    notes = (*meta.get("notes", "").split("\n"), *left_out, strategy, meta.get(JOURNAL_NOTE), *others)
    return tuple(filter(None, notes))


def strategy_note(wanted: str, roots: Roots) -> str | None:
    """Return what a user should know where the strategy is not the one that they chose."""
    if wanted != OnCommit.name or not (without := without_git(roots)):
        return None
    where = ", ".join(map(str, without))
    return (
        f"The strategy is '{OnCommit.name}', but {where} is in no git repository: "
        f"changes are indexed as they happen ('{Realtime.name}')."
    )
