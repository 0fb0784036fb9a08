"""Resolved references as the index stores them, and the work that resolves those of pending files."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from struct import Struct
from typing import Any

from findspot.core.errors import CancelledError
from findspot.core.facts import LOCAL, TYPING, ReferenceFact, Relation
from findspot.core.model import LINKING, Progress
from findspot.core.platforms import memory_given_back
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.graph.edges import FAR, PACKAGE, Edge, Node
from findspot.graph.memo import NOT_OURS
from findspot.graph.outgoing import Doubt, Doubtful, Outgoing, doubt_about
from findspot.graph.resolve import GIVEN_UP
from findspot.graph.source_view import SourceView
from findspot.graph.sources import MOST_ANSWERS, Sources, Tables, hand_on, own_tables
from findspot.store.edge_rows import EdgeRows
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.store.vector_segments import VectorReader
from findspot.store.writer import Writer

_log = logging.getLogger(__name__)

Kind = tuple[Relation, str]
"""A relation and a mark."""

_KINDS: tuple[Kind, ...] = (
    *((relation, "") for relation in Relation),
    (Relation.OVERRIDE, FAR),
    *((Relation.IMPORT, mark) for mark in (TYPING, LOCAL, PACKAGE)),
)
"""What edges are stored as, by number: their relation and mark."""
_CODES: dict[tuple[str, str], int] = {kind: code for code, kind in enumerate(_KINDS)}
_COLUMNS, _VALUE = 4, 2
"""Numbers of a stored edge: of its kind, its line, its confidence in thousandths, and of its source."""
FEW = 300
"""Files that are resolved after a few have changed; the rest wait for the next update."""
_LOOK = 1_000
"""References of one file after which it is checked that the tables are not crowded."""
_DOUBTS = {doubt.value: doubt for doubt in Doubt}
_GIVEN_UP = "!"
"""What the references that had to be given up are stored by, with how many for a confidence."""
_DOUBTFUL = "?"
"""Before a name: what the references to it that lead nowhere are stored by, with a doubt for a confidence."""
_json = json.JSONEncoder(separators=(",", ":")).encode
_LEVEL = 1
"""Of compression."""


@lru_cache(maxsize=50_000)
def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class StoredEdges:
    """The edges that an index has stored. Those of pending files are missing, or of an earlier time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._rows = snapshot.edges
        self._files = snapshot.files.by_id
        self._sources: dict[int, list[list[Any]]] = {}
        self._nodes: dict[tuple[int, int], Node] = {}

    def to(self, target: Node, relation: Relation) -> Iterator[Edge]:
        """Yield the edges of one relation to a node."""
        for (_, mark), line, confidence, *source in self._stored(target.id, relation):
            node = self._source(*source)
            yield Edge(node, target, relation, node.path, line, confidence / 1000, mark)

    def lines_to(self, target: str, relation: Relation) -> Iterator[tuple[str, int, float]]:
        """Yield path, line and confidence of the edges of one relation to the node of an id."""
        for _, line, confidence, file_id, _ in self._stored(target, relation):
            yield self._files[file_id].path, line, confidence / 1000

    def doubtful(self, name: str) -> Iterator[Doubtful]:
        """Yield the references to a name that lead nowhere known."""
        for (relation, _), line, doubt, *source in self._stored(f"{_DOUBTFUL}{name}"):
            if doubt in _DOUBTS:
                yield Doubtful(self._source(*source), relation, line, _DOUBTS[doubt])

    def given_up(self) -> dict[str, int]:
        """Return how many references had to be given up, by the path of their file."""
        return {
            self._files[file_id].path: sum(array("i", data)[_VALUE::_COLUMNS])
            for file_id, data in self._rows.to(_key(_GIVEN_UP))
            if file_id in self._files
        }

    def _stored(
        self, target: str, relation: Relation | None = None
    ) -> Iterator[tuple[Kind, int, int, int, int]]:
        """Yield kind, line and value of edges, and the file and the number of where they start."""
        for file_id, data in self._rows.to(_key(target)):
            if file_id in self._files:
                numbers = array("i", data)
                for at in range(0, len(numbers), _COLUMNS):
                    code, line, value, source = numbers[at : at + _COLUMNS]
                    if relation in (None, _KINDS[code][0]):
                        yield _KINDS[code], line, value, file_id, source

    def _source(self, file_id: int, number: int) -> Node:
        node = self._nodes.get((file_id, number))
        if node is None:
            if file_id not in self._sources:
                self._sources[file_id] = json.loads(zlib.decompress(self._rows.sources(file_id)))
            fields = self._sources[file_id][number]
            node = self._nodes[file_id, number] = Node(self._files[file_id].path, *fields)
        return node


def store_edges(
    store: Store,
    writer: Writer,
    cancel: CancelToken,
    limit: int | None = None,
    progress: ProgressSink = ignore_progress,
) -> None:
    """Resolve what an update made pending. Stopping is no failure: the next update goes on."""
    with store.snapshot() as snapshot:
        files_alone = replace(snapshot.derived, keywords={}, vectors=VectorReader(()))
    with contextlib.suppress(CancelledError), writer.storing_edges() as edges:
        # Without a write-ahead log nothing can be stored while another connection reads.
        resolve_pending(Snapshot(edges.db, files_alone), edges, cancel, limit, progress)


def resolve_pending(
    snapshot: Snapshot,
    rows: EdgeRows,
    cancel: CancelToken,
    limit: int | None = None,
    progress: ProgressSink = ignore_progress,
) -> int:
    """Resolve the references of pending files and store the edges; return how many files that were.

    With a limit, those that were written last are resolved. Of more than a few, progress is reported.
    """
    known = snapshot.files.by_id
    newest = sorted(rows.pending() & known.keys(), key=lambda number: -known[number].mtime_ns)[:limit]
    waiting = sorted(newest, key=lambda number: known[number].path)  # since neighbours refer to each other
    resolver = FileResolver(snapshot)
    for done, file_id in enumerate(waiting):
        cancel.check()
        if len(waiting) > FEW:
            progress(Progress(done, len(waiting), LINKING))
        rows.put(file_id, *resolver.edges_of(file_id))
        rows.save_many()
    hand_on(snapshot, resolver.tables)
    return len(waiting)


class FileResolver:
    """Resolves whole files, with tables of its own, which it empties when they are crowded."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._defined: dict[str, bool] = {}
        self._use(own_tables(snapshot))

    def _use(self, tables: Tables) -> None:
        self.tables = tables
        self._sources = Sources(self._snapshot, tables)
        self._outgoing = Outgoing(self._sources)

    def _make_room(self) -> bool:
        """Empty the tables if they are crowded; definitions found before are not those found afterwards."""
        crowded = self.tables.crowded
        if crowded:
            full = self.tables
            self._use(full.emptied())
            full.views.clear()
            full.answers.clear()
            with memory_given_back():
                gc.collect()  # definitions and files name each other, so that only the collector frees them
        if len(self._defined) > MOST_ANSWERS:
            self._defined.clear()
        return crowded

    def edges_of(self, file_id: int) -> tuple[bytes, dict[int, bytes]]:
        """Return the definitions that the edges of a file start at, and the edges by target, encoded."""
        self._make_room()
        try:
            return self._edges_of(file_id)
        except NOT_OURS:
            raise
        except Exception:  # noqa: BLE001  # a mistake of ours costs the edges of one file, not the run
            _log.exception("the references of file %s could not be resolved", file_id)
            self._use(self.tables.emptied())
            encoder = _Encoder()
            encoder.add(_GIVEN_UP, 0, 0, 1, -1)
            return encoder.encoded(None)

    def _edges_of(self, file_id: int) -> tuple[bytes, dict[int, bytes]]:
        self._outgoing.evaluator.memo.begin()
        view = self._sources.view(file_id)
        encoder = _Encoder()
        if view is not None:
            self._add_references(view, encoder)
            view, memo = self._sources.view(file_id) or view, self._outgoing.evaluator.memo
            given_up = memo.given_up
            for place in range(-1, len(view.definitions)):
                for link in self._outgoing.unwritten(view, place):
                    code = _CODES[link.relation, link.mark]
                    encoder.add(link.target.id_of_node, code, link.line, round(link.confidence * 1000), place)
            if memo.given_up > given_up:
                encoder.add(_GIVEN_UP, 0, 0, memo.given_up - given_up, -1)
        self._outgoing.resolver.done.clear()
        return encoder.encoded(view)

    def _add_references(self, view: SourceView, encoder: _Encoder) -> None:
        for number, row in enumerate(zip(*view.facts.columns, strict=True), 1):
            if number % _LOOK == 0 and self._make_room():
                view = self._sources.view(view.id) or view
            reference = ReferenceFact._make(row)
            name, line, place = reference.name, reference.line, reference.owner
            code = _CODES[reference.relation, ""]
            resolution = self._outgoing.resolver.resolve(view, reference)
            for target, confidence in resolution.targets:
                encoder.add(target.id_of_node, code, line, round(confidence * 1000), place)
            if resolution.reason == GIVEN_UP:
                encoder.add(_GIVEN_UP, code, line, 1, place)
            if resolution.targets:
                continue
            if name not in self._defined:
                self._defined[name] = self._sources.stored_facts.is_defined(name)
            doubt = doubt_about(self._outgoing, view, reference, resolution) if self._defined[name] else None
            if doubt is not None:
                encoder.add(f"{_DOUBTFUL}{name}", code, line, doubt, place)


_fields = attrgetter("start_line", "end_line", "name", "qualified", "kind", "id")
"""What is stored of a node: all but its path."""
_packed = Struct(f"{_COLUMNS}i").pack


class _Encoder:
    def __init__(self) -> None:
        self._sources: dict[int, int] = {}
        self._edges: dict[str, dict[bytes, None]] = {}
        """By target, each edge once."""

    def add(self, target: str, code: int, line: int, value: int, place: int) -> None:
        """Add an edge that starts at the definition at a place of the file, or in none (-1)."""
        number = self._sources.setdefault(place, len(self._sources))
        self._edges.setdefault(target, {})[_packed(code, line, value, number)] = None

    def encoded(self, view: SourceView | None) -> tuple[bytes, dict[int, bytes]]:
        fields = [_fields(view.node_at(place)) for place in self._sources] if view is not None else []
        sources = zlib.compress(_json(fields).encode(), _LEVEL)
        edges: dict[int, bytes] = {}
        for target, rows in self._edges.items():
            key = _key(target)
            edges[key] = edges.get(key, b"") + b"".join(rows)
        return sources, edges
