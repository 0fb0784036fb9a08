"""Overloads and types without a name in Java."""

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
    interface Rule {
        void apply();
    }

    void run(Printer given) {
        new Printer(3).print("a");
        given.print("a", 2);
        given.print("a", 2, 3);
        new Rule() {
            public void apply() {}
        };
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
        assert _calls(graph, f"{name}.print") == _calls(graph, f"{name}.print~2") == [7]
        assert _calls(graph, f"{name}.print~3") == [8]
        assert 9 in _calls(graph, f"{name}.print~4")
        assert _calls(graph, f"{name}.Printer") == _calls(graph, f"{name}.Printer~2") == [7]


def test_an_anonymous_class_implements_and_overrides(tmp_path: Path) -> None:
    """protocol-and-research 2: anonymous classes were missing among the implementers."""
    with graph_of({"Use.java": USE, "Printer.java": PRINTER}, tmp_path) as graph:
        (rule,) = graph.find("Rule")
        assert [edge.source.qualified for edge in graph.implementers(rule)] == ["Use.run.new Rule"]
        (apply, _) = graph.find("apply")
        assert [edge.source.qualified for edge in graph.overrides(apply)] == ["Use.run.new Rule.apply"]
