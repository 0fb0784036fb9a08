"""The reference graph: who calls, uses, imports, inherits, overrides and decorates what.

Most processes that keep an index fresh have no reference to resolve: the package is imported without its
modules, and they when they are first used.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from findspot.core.errors import FindspotError
from findspot.core.facts import Relation
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress

if TYPE_CHECKING:
    from findspot.graph.edges import Edge, Node, Outline, Unresolved
    from findspot.graph.graph import Graph
    from findspot.store.snapshot import Snapshot
    from findspot.store.store_protocol import Store
    from findspot.store.writer import Writer

__all__ = ["Edge", "Graph", "Node", "Outline", "Relation", "Unresolved", "store_edges"]

_FEW = 3
"""Files that a note names."""


def store_edges(
    store: Store,
    writer: Writer,
    cancel: CancelToken,
    *,
    few: bool = False,
    progress: ProgressSink = ignore_progress,
) -> None:
    """Resolve what an update made pending, or a few files of it."""
    with store.snapshot() as snapshot:
        if not snapshot.edges.pending():
            return
    from findspot.graph import stored_edges

    stored_edges.store_edges(store, writer, cancel, stored_edges.FEW if few else None, progress)


def resolve_waiting(store: Store, progress: ProgressSink, cancel: CancelToken) -> bool:
    """Resolve what is pending, where nobody else is at it; return whether there is more to do.

    Of an index that is kept fresh only a few files are resolved, those that were written last first: edits
    must not wait for long.
    """
    before = _pending(store)
    if before:
        with contextlib.suppress(FindspotError), store.writer(create=False) as writer:
            store_edges(store, writer, cancel, few=True, progress=progress)
    return before > 0 and 0 < _pending(store) < before


def _pending(store: Store) -> int:
    with store.snapshot() as snapshot:
        return len(snapshot.edges.pending())


def pending_note(snapshot: Snapshot) -> str | None:
    """Return how many files have references that are not resolved yet; None where none has."""
    count = len(snapshot.edges.pending())
    files = f"{count:,} files" if count > 1 else "1 file"
    return f"{files} pending: what they refer to may be missing or out of date." if count else None


def given_up_note(snapshot: Snapshot) -> str | None:
    """Return how many references could not be followed, and in which files; None where all were."""
    from findspot.graph.stored_edges import StoredEdges

    by_path = StoredEdges(snapshot).given_up()
    if not by_path:
        return None
    files, rest = ", ".join(sorted(by_path)[:_FEW]), len(by_path) - _FEW
    more = f" and {rest:,} more files" if rest > 0 else ""
    count = sum(by_path.values())
    said = f"{count:,} references were" if count > 1 else "1 reference was"
    return f"{said} too involved to follow: in {files}{more}."


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'graph' if name == 'Graph' else 'edges'}"), name)
