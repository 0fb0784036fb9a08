"""What is known of each language of the graph, and what the documentation says of it."""

from __future__ import annotations

import re
from pathlib import Path

from findspot.graph.languages import language_of
from graphs import graph_of

PAGE = Path(__file__).parents[3] / "docs" / "graph.md"
NAMES = {"C#": "csharp", "C++": "cpp"}


def _names(text: str) -> set[str]:
    words = re.split(r",\s+|\s+and\s+", text.partition("(TSX)")[0] + text.partition("(TSX)")[2])
    return {NAMES.get(word.strip(), word.strip().lower()) for word in words if word.strip()}


def test_the_page_lists_exactly_the_partial_languages() -> None:
    page = PAGE.read_text(encoding="utf-8")
    every = re.search(r"^Languages: ([^.]+)\.", page, re.MULTILINE)
    partial = re.search(r"\*\*Partial\*\* are ([^:]+):", page)
    assert every
    assert partial
    assert _names(partial[1]) == {name for name in _names(every[1]) if language_of(name).partial}


def test_a_declaration_has_the_callers_of_its_definition(tmp_path: Path) -> None:
    files = {
        "a.h": "int add(int left, int right);\n",
        "a.c": '#include "a.h"\nint add(int left, int right) { return left + right; }\n',
        "b.c": '#include "a.h"\nint twice(int value) { return add(value, value); }\n',
    }
    with graph_of(files, tmp_path) as graph:
        nodes = graph.find("add")
        assert {node.path for node in nodes} == {"a.h", "a.c"}
        for node in nodes:
            assert [edge.source.name for edge in graph.callers(node)] == ["twice"]


def test_variables_of_one_name_are_kept_apart_by_block(tmp_path: Path) -> None:
    text = """package shop
type A struct{}
type B struct{}
func (a *A) Run() {}
func (b *B) Run() {}
func use(x any) {
	switch v := x.(type) {
	case *A:
		v.Run()
	case *B:
		v.Run()
	}
	for _, v := range []*B{} {
		v.Run()
	}
}
"""
    with graph_of({"shop.go": text}, tmp_path) as graph:
        (use,) = graph.find("use")
        calls = [(edge.line, edge.target.qualified) for edge in graph.callees(use)]
    assert calls == [(9, "A.Run"), (11, "B.Run"), (14, "B.Run")]
