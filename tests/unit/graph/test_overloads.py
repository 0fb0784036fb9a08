"""Overloads in Java."""

from __future__ import annotations

from pathlib import Path

from findspot.graph import Graph
from graphs import graph_of

PRINTER = """\
class Printer {
    Printer() {}

    Printer(int width) {}

    void print(String text) {
        print(text, 1);
    }

    void print(Object thing) {}

    void print(String text, int times) {}

    void print(String text, Object... more) {}
}
"""
USE = """\
class Use {
    void run(Printer given) {
        new Printer(3).print("a");
        given.print("a", 2);
        given.print("a", 2, 3);
    }
}
"""


def _calls(graph: Graph, node_id: str) -> list[int]:
    node = graph.node(node_id)
    assert node is not None
    return [edge.line for edge in graph.callers(node) if edge.path == "Use.java"]


def test_every_overload_has_its_callers(tmp_path: Path) -> None:
    """Overloads that take the same number of arguments share their callers."""
    with graph_of({"Printer.java": PRINTER, "Use.java": USE}, tmp_path) as graph:
        name = "Printer.java#Printer"
        assert _calls(graph, f"{name}.print") == _calls(graph, f"{name}.print~2") == [3]
        assert _calls(graph, f"{name}.print~3") == [4]
        assert 5 in _calls(graph, f"{name}.print~4")
        assert _calls(graph, f"{name}.Printer") == _calls(graph, f"{name}.Printer~2") == [3]
