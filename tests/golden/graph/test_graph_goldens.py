"""The graph of each language's fixture, reviewed as text; `UPDATE_GOLDEN=1` rewrites the files."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from benchmarks.graph.measure import every_node
from findspot.core.facts import Relation
from findspot.graph import Edge, Graph, Node
from goldens import compare
from graphs import LANGUAGES, fixture_of, graph_of

HERE = Path(__file__).parent
LEAST_EDGES = 15


def shown(edge: Edge) -> str:
    return (
        f"{edge.relation:9} {edge.source.id} -> {edge.target.id}"
        f"  [{edge.path.rpartition('/')[2]}:{edge.line}, {edge.confidence:.2f}{edge.mark and f', {edge.mark}'}]"
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
    with graph_of(fixture_of(language), tmp_path) as graph:
        result = list(lines(graph))
    assert sum("->" in line for line in result[: result.index("# in doubt")]) >= LEAST_EDGES
    compare(HERE / f"{language}.txt", "\n".join(result) + "\n")


def test_every_language_with_a_query_of_references_has_a_golden() -> None:
    queries = resources.files("findspot.chunk") / "queries" / "references"
    named = {path.name.removesuffix(".scm") for path in queries.iterdir()}
    assert named - {"tsx"} == set(LANGUAGES)
