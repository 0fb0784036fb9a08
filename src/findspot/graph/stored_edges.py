"""Resolved references as the index stores them, and the work that resolves those of pending files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from findspot.core.errors import CancelledError
from findspot.core.facts import LOCAL, TYPING, ReferenceFact, Relation
from findspot.core.progress import CancelToken
from findspot.graph.edges import FAR, PACKAGE, Edge, Node
from findspot.graph.outgoing import Doubt, Doubtful, Outgoing, doubt_about
from findspot.graph.shared_tables import RESOLVED, Tables
from findspot.graph.sources import Sources, SourceView
from findspot.store.edge_rows import EdgeRows
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.store.vector_segments import VectorReader
from findspot.store.writer import Writer

Kind = tuple[Relation, str]
"""A relation and a mark."""

_KINDS: tuple[Kind, ...] = (
    *((relation, "") for relation in Relation),
    (Relation.OVERRIDE, FAR),
    *((Relation.IMPORT, mark) for mark in (TYPING, LOCAL, PACKAGE)),
)
"""What edges are stored as, by number: their relation and mark."""
_CODES = {kind: code for code, kind in enumerate(_KINDS)}
_COLUMNS = 4
"""Numbers of a stored edge: of its kind, its line, its confidence in thousandths, and of its source."""
FEW = 300
"""Files that are resolved after a few have changed; the rest wait for the next update."""
_DOUBTFUL = "?"
"""Before a name: what the references to it that lead nowhere are stored by, with a doubt for a confidence."""
_LEVEL = 1
"""Of compression."""


@lru_cache(maxsize=50_000)
def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class StoredEdges:
    """The edges that an index has stored, and which files have none yet."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._rows = snapshot.edges
        self._files = snapshot.files.by_id
        self._sources: dict[int, list[Node]] = {}
        self.pending = frozenset(self._rows.pending())
        """The numbers of the files whose references have to be resolved by whoever asks."""

    def to(self, target: Node, relation: Relation) -> Iterator[Edge]:
        """Yield the edges of one relation to a node that start in files which are not pending."""
        for (kind, mark), line, confidence, node in self._stored(target.id):
            if kind is relation:
                yield Edge(node, target, relation, node.path, line, confidence / 1000, mark)

    def doubtful(self, name: str) -> Iterator[Doubtful]:
        """Yield the references to a name that lead nowhere known, of files which are not pending."""
        for (relation, _), line, doubt, node in self._stored(f"{_DOUBTFUL}{name}"):
            yield Doubtful(node, relation, line, Doubt(doubt))

    def _stored(self, target: str) -> Iterator[tuple[Kind, int, int, Node]]:
        for file_id, data in self._rows.to(_key(target)):
            if file_id in self._files and file_id not in self.pending:
                numbers = array("i", data)
                for at in range(0, len(numbers), _COLUMNS):
                    code, line, value, source = numbers[at : at + _COLUMNS]
                    yield _KINDS[code], line, value, self._source(file_id, source)

    def _source(self, file_id: int, number: int) -> Node:
        if file_id not in self._sources:
            path = self._files[file_id].path
            stored = json.loads(zlib.decompress(self._rows.sources(file_id)))
            self._sources[file_id] = [Node(path, *fields) for fields in stored]
        return self._sources[file_id][number]


def store_edges(store: Store, writer: Writer, cancel: CancelToken, limit: int | None = None) -> None:
    """Resolve what an update made pending. Stopping is no failure: questions resolve what is left."""
    with store.snapshot() as snapshot:
        files_alone = replace(snapshot.derived, keywords={}, vectors=VectorReader(()))
    with contextlib.suppress(CancelledError), writer.storing_edges() as edges:
        # Without a write-ahead log nothing can be stored while another connection reads.
        resolve_pending(Snapshot(edges.db, files_alone), edges, cancel, limit)


def resolve_pending(snapshot: Snapshot, rows: EdgeRows, cancel: CancelToken, limit: int | None = None) -> int:
    """Resolve the references of pending files and store the edges; return how many files that were."""
    known = snapshot.files.by_id
    waiting = sorted(rows.pending() & known.keys(), key=lambda number: known[number].path)[:limit]
    resolver: _FileResolver | None = None
    for file_id in waiting:  # by path, since neighbours refer to each other
        cancel.check()
        if resolver is None or resolver.tables.crowded:
            resolver = _FileResolver(snapshot)
        rows.put(file_id, *resolver.edges_of(file_id))
    return len(waiting)


class _FileResolver:
    """Resolves whole files, with tables of its own that go when it is done."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.tables = Tables({})
        self._sources = Sources(snapshot, self.tables)
        self._outgoing = Outgoing(self._sources)
        self._defined = set(snapshot.facts.defined_names())

    def edges_of(self, file_id: int) -> tuple[bytes, dict[int, bytes]]:
        """Return the definitions that the edges of a file start at, and the edges by target, encoded."""
        encoder = _Encoder()
        view = self._sources.view(file_id)
        if view is not None:
            references = view.facts.references
            for edge in edges_from(self._outgoing, view, references):
                kind, confidence = (edge.relation, edge.mark), round(edge.confidence * 1000)
                encoder.add(edge.target.id, kind, edge.line, confidence, edge.source)
            for each in self._doubtful(view, references):
                encoder.add(*each)
        self.tables.table(RESOLVED).clear()
        return encoder.encoded()

    def _doubtful(
        self, view: SourceView, references: Sequence[ReferenceFact]
    ) -> Iterator[tuple[str, Kind, int, int, Node]]:
        for reference in references:
            if reference.name in self._defined:
                doubt = doubt_about(self._outgoing, view, reference)
                if doubt is not None:
                    kind, source = (Relation(reference.relation), ""), view.node_at(reference.owner)
                    yield f"{_DOUBTFUL}{reference.name}", kind, reference.line, doubt, source


class _Encoder:
    """Gathers the edges of one file."""

    def __init__(self) -> None:
        self._sources: dict[Node, int] = {}
        self._edges: dict[int, array[int]] = {}

    def add(self, target: str, kind: Kind, line: int, value: int, source: Node) -> None:
        number = self._sources.setdefault(source, len(self._sources))
        self._edges.setdefault(_key(target), array("i")).extend((_CODES[kind], line, value, number))

    def encoded(self) -> tuple[bytes, dict[int, bytes]]:
        fields = [(n.start_line, n.end_line, n.name, n.qualified, n.kind, n.id) for n in self._sources]
        sources = zlib.compress(json.dumps(fields, separators=(",", ":")).encode(), _LEVEL)
        return sources, {target: numbers.tobytes() for target, numbers in self._edges.items()}


def edges_from(outgoing: Outgoing, view: SourceView, references: Sequence[ReferenceFact]) -> Iterable[Edge]:
    """Return every edge that starts in a file."""
    edges = [edge for reference in references for edge in outgoing.edges(view, reference)]
    edges += outgoing.imports(view)
    for definition in view.definitions:
        edges += outgoing.structural(definition)
        edges += outgoing.all_overridden(definition)
    return dict.fromkeys(edges)
