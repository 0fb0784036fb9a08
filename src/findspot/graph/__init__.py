"""The reference graph: who calls, uses, imports, inherits, overrides and decorates what.

Most processes that keep an index fresh have no reference to resolve: the package is imported without its
modules, and they when they are first used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from findspot.core.facts import Relation
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress

if TYPE_CHECKING:
    from findspot.graph.edges import Edge, Node, Outline, Unresolved
    from findspot.graph.graph import Graph
    from findspot.graph.second_resolver import SecondResolver
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
    second: SecondResolver | None = None,
) -> None:
    """Resolve what an update made pending, or a few files of it; `second` is a process that helps with it."""
    with store.snapshot() as snapshot:
        if not snapshot.edges.pending():
            return
    from findspot.graph import stored_edges

    limit = stored_edges.FEW if few else None
    stored_edges.store_edges(store, writer, cancel, limit, progress, second=second)


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


@contextlib.contextmanager
def starting_second(store: Store, files: int) -> Iterator[SecondResolver | None]:
    """Start the process that helps to resolve the references of many files before they are all stored."""
    from findspot.graph.second_resolver import start_second

    second = start_second(store, files)
    try:
        yield second
    finally:
        if second is not None:
            second.close()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'graph' if name == 'Graph' else 'edges'}"), name)
