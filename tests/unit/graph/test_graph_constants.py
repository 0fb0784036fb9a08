"""How sure the graph is of each kind of edge, and how far it follows code: one small project per constant."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.facts import Relation
from findspot.graph import Graph
from graphs import graph_of

RUNNER = "class Runner:\n    def go_far(self): ...\n"


def calls(graph: Graph, name: str, floor: float = 0.0) -> dict[str, float]:
    """Return what the definition of a name calls, with the confidence."""
    (node,) = graph.find(name)
    return {edge.target.qualified: edge.confidence for edge in graph.callees(node, floor)}


def test_each_of_two_functions_is_less_sure(tmp_path: Path) -> None:
    """The goldens show how sure each other kind of edge is."""
    text = "if 1:\n    def far(): ...\nelse:\n    def far(): ...\ndef start():\n    far()\n"
    with graph_of({"a.py": text}, tmp_path) as graph:
        assert calls(graph, "start") == {"far": 0.8}


def test_a_call_that_may_reach_an_override_is_in_doubt(tmp_path: Path) -> None:
    text = "class Runner:\n    def go_far(self):\n        return 1\n"
    text += "class Fast(Runner):\n    def go_far(self): ...\ndef start(r: Runner):\n    r.go_far()\n"
    with graph_of({"a.py": text}, tmp_path) as graph:
        (fast,) = graph.find("Fast.go_far")
        assert graph.callers(fast) == []
        assert [(e.source.name, e.confidence) for e in graph.callers(fast, floor=0.4)] == [("start", 0.4)]
        assert graph.callers(fast, floor=0.41) == []


def test_four_returns_are_looked_at(tmp_path: Path) -> None:
    kinds = [f"class K{n}:\n    def act_{n}(self): ...\n" for n in range(6)]
    returns = "".join(f"    if x == {n}: return K{n}()\n" for n in range(6))
    uses = "".join(f"    made.act_{n}()\n" for n in range(6))
    text = "".join(kinds) + f"def make(x):\n{returns}def start():\n    made = make(1)\n{uses}"
    with graph_of({"a.py": text}, tmp_path) as graph:
        by_type = {name for name, confidence in calls(graph, "start").items() if confidence == 0.85}
        assert by_type == {f"K{n}.act_{n}" for n in range(4)}


def chain(hops: int) -> dict[str, str]:
    """Return a constant that nothing says the value of, imported by way of so many files."""
    files = {"m0.py": "from outside import make\nHANDLE = make()\n"}
    for n in range(1, hops):
        files[f"m{n}.py"] = f"from m{n - 1} import HANDLE\n"
    files["last.py"] = f"from m{hops - 1} import HANDLE\ndef start():\n    HANDLE()\n"
    return files


@pytest.mark.parametrize("hops", [1, 7])
def test_a_constant_is_followed_through_several_files(hops: int, tmp_path: Path) -> None:
    with graph_of(chain(hops), tmp_path) as graph:
        assert set(calls(graph, "start")) == {"HANDLE"}


@pytest.mark.parametrize("count", [40, 41])
def test_a_name_that_forty_methods_have_says_nothing(count: int, tmp_path: Path) -> None:
    """One base and its overrides count as one method, as long as they are not too many."""
    below = "".join(f"class Fast{n}(Runner):\n    def go_far(self): ...\n" for n in range(count - 1))
    with graph_of({"a.py": RUNNER + below, "b.py": "def start(x):\n    x.go_far()\n"}, tmp_path) as graph:
        assert set(calls(graph, "start")) == ({"Runner.go_far"} if count == 40 else set())
        (start,) = graph.find("start")
        assert [len(u.candidates) for u in graph.unresolved(start)] == ([] if count == 40 else [40])


@pytest.mark.parametrize(("levels", "found"), [(60, True), (61, False)])
def test_sixty_ancestors_are_followed(levels: int, found: bool, tmp_path: Path) -> None:
    text = "class C0:\n    def go_far(self): ...\n"
    text += "".join(f"class C{n}(C{n - 1}): ...\n" for n in range(1, levels + 1))
    text += f"class Other:\n    def go_far(self): ...\ndef start(c: C{levels}):\n    c.go_far()\n"
    with graph_of({"a.py": text}, tmp_path) as graph:
        assert ("C0.go_far" in calls(graph, "start")) is found
        (last,) = graph.find(f"C{levels}")
        assert len(graph.supertypes(last, transitive=True)) == 60 + (levels == 61)


def test_only_calls_of_the_floor_and_above_are_shown(tmp_path: Path) -> None:
    files = {"a.py": RUNNER, "b.py": "def start(x):\n    x.go_far()\n"}
    with graph_of(files, tmp_path) as graph:
        assert calls(graph, "start", floor=0.6) == {"Runner.go_far": 0.6}
        assert calls(graph, "start", floor=0.61) == {}
        (start,), (far,) = graph.find("start"), graph.find("go_far")
        assert graph.callees(start) == graph.callers(far) == graph.references_to(far, (Relation.CALL,))


METHOD = "class Helper:\n    def settle_up(self): ...\n"
CALL = "def start(x):\n    x.settle_up()\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.py": METHOD, "b.py": CALL}, {"Helper.settle_up"}),
        ({"tests/test_a.py": METHOD, "b.py": CALL}, set()),
        ({"tests/test_a.py": METHOD, "tests/test_b.py": CALL}, {"Helper.settle_up"}),
        ({"a.py": METHOD, "tests/test_a.py": METHOD, "b.py": CALL}, {"Helper.settle_up"}),
        ({"a.py": METHOD, "tests/test_a.py": METHOD, "tests/test_b.py": CALL}, set()),
        ({"a.py": METHOD, "b.go": "package b\nfunc start(x X) { x.settle_up() }\n"}, set()),
        ({"a.py": METHOD.replace("settle_up", "append"), "b.py": CALL.replace("settle_up", "append")}, set()),
        ({"a.py": METHOD.replace("settle_up", "__enter__"), "b.py": CALL.replace("settle_up", "__enter__")},
         set()),
        ({"a.py": "def settle_up(): ...\n", "b.py": CALL}, set()),
        ({"a.py": "class Helper:\n    settle_up = 1\n", "b.py": CALL}, set()),
    ],
)  # fmt: skip
def test_a_method_of_an_unknown_receiver(files: dict[str, str], found: set[str], tmp_path: Path) -> None:
    """Code does not call what only tests define, nor what values of every library have."""
    with graph_of(files, tmp_path) as graph:
        assert set(calls(graph, "start")) == found


@pytest.mark.parametrize(("levels", "followed"), [(20, True), (60, False)])
def test_what_functions_return_is_followed_through_others(
    levels: int, followed: bool, tmp_path: Path
) -> None:
    makers = "".join(f"def make_{n}():\n    return make_{n + 1}()\n" for n in range(levels))
    text = f"{RUNNER}{makers}def make_{levels}():\n    return Runner()\ndef start():\n    make_0().go_far()\n"
    other = "class Other:\n    def go_far(self): ...\n"
    with graph_of({"a.py": text + other}, tmp_path) as graph:
        assert calls(graph, "start").get("Runner.go_far") == (0.85 if followed else None)


def test_types_and_functions_are_found_before_values(tmp_path: Path) -> None:
    files = {"a.py": "thing = 1\n", "b.py": "def thing(): ...\n", "c.py": "class thing: ...\n"}
    swift = {"a.swift": "extension Shape { func draw() {} }\n", "b.swift": "class Shape {}\n"}
    with graph_of(files | swift, tmp_path) as graph:
        assert [node.kind for node in graph.find("thing")] == ["function", "class", "constant"]
        assert [node.kind for node in graph.find("Shape")] == ["class", "extension"]
