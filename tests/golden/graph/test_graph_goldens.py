"""The graph of each language's fixture, reviewed as text; `UPDATE_GOLDEN=1` writes the files anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.chunk.dispatch import chunk_file
from findspot.core.facts import Relation, names_of, pack
from findspot.core.languages import language_of
from findspot.core.model import Corpus, SourceFile
from findspot.graph import Edge, Graph, Node
from findspot.graph.graph import every_node
from findspot.store.index import IndexStore
from findspot.store.records import ChunkRecord, FileRecord

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures" / "graph"
LANGUAGES = sorted(path.name for path in FIXTURES.iterdir())

LEAST_EDGES = 15


def stored(folder: Path, home: Path) -> IndexStore:
    """The facts of a project's files; of settings, their text."""
    store = IndexStore(home, str(folder))
    with store.writer() as writer:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                writer.put(_record(path.relative_to(folder).as_posix(), path.read_text("utf-8")))
        writer.commit()
    return store


def _record(path: str, text: str) -> FileRecord:
    file = SourceFile(path, Corpus.CODE, language_of(path), len(text), 0)
    chunked = chunk_file(file, text)
    if chunked.facts is None:
        chunks = tuple(ChunkRecord(chunk, "", b"", 1.0, bytes(64)) for chunk in chunked.chunks)
        return FileRecord(file, "", chunks)
    return FileRecord(file, "", (), pack(chunked.facts), names_of(chunked.facts))


def shown(edge: Edge) -> str:
    return (
        f"{edge.relation:9} {edge.source.id} -> {edge.target.id}"
        f"  [{edge.path.rpartition('/')[2]}:{edge.line}, {edge.confidence:.2f}]"
    )


def lines(graph: Graph) -> Iterator[str]:
    nodes: list[Node] = every_node(graph)
    for relation in Relation:
        yield f"# {relation}"
        yield from (shown(edge) for node in nodes for edge in graph.edges_of(node, (relation,)))
    yield "# in doubt"
    for node in nodes:
        for left in graph.unresolved(node):
            if left.reason != "external":
                receiver = f"{left.receiver}." if left.receiver else ""
                yield f"{left.relation:9} {node.id} -> {receiver}{left.name}  [{left.line}, {left.reason}]"


@pytest.mark.parametrize("language", LANGUAGES)
def test_graph(language: str, tmp_path: Path) -> None:
    store = stored(FIXTURES / language, tmp_path)
    with store.snapshot() as snapshot:
        result = list(lines(Graph(snapshot)))
    store.close()
    assert sum("->" in line for line in result[: result.index("# in doubt")]) >= LEAST_EDGES
    golden = HERE / f"{language}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text("\n".join(result) + "\n", "utf-8")
    assert result == golden.read_text("utf-8").splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
def test_edges_are_the_same_from_both_ends(language: str, tmp_path: Path) -> None:
    store = stored(FIXTURES / language, tmp_path)
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        nodes = every_node(graph)
        out = {edge for node in nodes for edge in graph.edges_of(node) if edge.target.kind != "file"}
        back = {edge for node in nodes for edge in graph.references_to(node, floor=0.0)}
        assert out == back
    store.close()
