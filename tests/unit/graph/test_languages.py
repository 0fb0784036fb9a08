"""What is known of each language of the graph, and what the documentation says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.graph.languages import language_of
from findspot.graph.languages.by_name import ModulesByPath
from findspot.graph.sources import Sources
from graphs import graph_of, stored

PAGE = Path(__file__).parents[3] / "docs" / "graph.md"
NAMES = {"C#": "csharp", "C++": "cpp"}


def _names(text: str) -> set[str]:
    words = re.split(r",\s+|\s+and\s+", text.partition("(TSX)")[0] + text.partition("(TSX)")[2])
    return {NAMES.get(word.strip(), word.strip().lower()) for word in words if word.strip()}


def test_the_page_lists_exactly_the_languages_by_name() -> None:
    page = PAGE.read_text(encoding="utf-8")
    every = re.search(r"^Languages: ([^.]+)\.", page, re.MULTILINE)
    partial = re.search(r"\*\*By name\*\* are ([^:]+):", page)
    assert every
    assert partial
    assert _names(partial[1]) == {name for name in _names(every[1]) if language_of(name).by_name}


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


def test_an_included_file_is_the_nearest_whose_path_ends_in_what_is_named(tmp_path: Path) -> None:
    add = "static int add(int value) { return value; }\n"
    files = {
        "base/include/math/add.h": add,
        "base/include/add.h": add,
        "shop/include/math/add.h": add,
        "shop/include/math/xadd.h": add,
        "shop/src/cart.c": '#include "math/add.h"\nint twice(int value) { return add(value + value); }\n',
    }
    with graph_of(files, tmp_path) as graph:
        included = [edge.target.path for edge in graph.imports_of("shop/src/cart.c")]
    assert included == ["shop/include/math/add.h"]


class _Counted(dict[str, int]):
    """Paths that count how often somebody looks through all of them."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def test_all_paths_are_looked_through_once_for_all_imports(tmp_path: Path) -> None:
    """Of a project with a hundred thousand files, each import looked through all of them."""
    store = stored({f"lib/{n}.h": "int x;\n" for n in range(3)}, tmp_path)
    with store.snapshot() as snapshot:
        finder = ModulesByPath(Sources(snapshot).project)
        paths = finder.paths = _Counted(finder.paths)
        found = [list(finder.files("src/a.c", f"{n}.h")) for n in range(5)]
    store.close()
    assert found == [["lib/0.h"], ["lib/1.h"], ["lib/2.h"], [], []]
    assert paths.looks == 1


@pytest.mark.parametrize(
    ("ending", "hiding", "function"),
    [
        ("c", "static", "void {}(int x)"),
        ("kt", "private", "fun {}(x: Int)"),
        ("swift", "fileprivate", "func {}()"),
    ],
)
def test_what_only_its_file_sees_is_meant_nowhere_else(
    ending: str, hiding: str, function: str, tmp_path: Path
) -> None:
    tidy, main, run = (function.format(name) for name in ("tidy", "main", "run"))
    files = {
        f"own.{ending}": f"{hiding} {tidy} {{ }}\n{main} {{ tidy(1); }}\n",
        f"other.{ending}": f"{tidy} {{ }}\n",
        f"caller.{ending}": f"{run} {{ tidy(1); }}\n",
    }
    with graph_of(files, tmp_path) as graph:
        for asked, found in (("run", "other"), ("main", "own")):
            (node,) = graph.find(asked)
            assert [edge.target.path for edge in graph.callees(node)] == [f"{found}.{ending}"]
