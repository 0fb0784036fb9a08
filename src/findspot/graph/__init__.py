"""The reference graph: who calls, uses, imports, inherits, overrides and decorates what.

Most processes that keep an index fresh have no reference to resolve: the package is imported without its
modules, and they when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from findspot.core.facts import Relation
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress

if TYPE_CHECKING:
    from findspot.graph.edges import Edge, Node, Outline, Unresolved
    from findspot.graph.graph import Graph
    from findspot.store.store_protocol import Store
    from findspot.store.writer import Writer

__all__ = ["Edge", "Graph", "Node", "Outline", "Relation", "Unresolved", "store_edges"]


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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'graph' if name == 'Graph' else 'edges'}"), name)
