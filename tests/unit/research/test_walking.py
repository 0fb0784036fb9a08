"""The parts of walks that have answers of their own: layers, limits, patterns."""

from __future__ import annotations

from itertools import pairwise

import pytest

from contents import MakeProject
from findspot.core.errors import CancelledError, InvalidArgumentError
from findspot.core.progress import CancelToken
from findspot.research.findings import Aim, Inquiry
from findspot.research.graph_walks import MOST_NODES
from findspot.research.module_map import layered


class TestLayers:
    def test_dependence_leads_downwards(self) -> None:
        edges = [("app", "http"), ("http", "auth"), ("auth", "store"), ("app", "store")]
        layers, cycles = layered(["app", "auth", "http", "store"], edges)
        assert layers == (("app",), ("http",), ("auth",), ("store",))
        assert cycles == ()

    def test_a_cycle_shares_a_layer(self) -> None:
        edges = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]
        layers, cycles = layered(["a", "b", "c", "d"], edges)
        assert layers == (("a",), ("b", "c"), ("d",))
        assert cycles == (("b", "c"),)

    def test_a_long_chain(self) -> None:
        """Longer than Python's stack is deep."""
        names = [f"m{n:05}" for n in range(1_500)]
        layers, _ = layered(names, list(pairwise(names)))
        assert len(layers) == 1_500


def many(count: int) -> dict[str, str]:
    body = "\n".join(f"def caller_{n}():\n    return hub()\n\n" for n in range(count))
    return {"hub.py": f"def hub():\n    return 1\n\n\n{body}"}


def test_a_walk_stops_where_it_finds_too_much(make_project: MakeProject) -> None:
    project = make_project(many(MOST_NODES + 50))
    project.update()
    found = project.research("what calls hub()")
    assert len(found.nodes) == MOST_NODES
    assert found.unresolved == (f"Stopped at {MOST_NODES} nodes; ask about less, or with less depth.",)
    assert found.summary.startswith(f"At least {MOST_NODES}: ")


def test_a_cancelled_walk_stops(make_project: MakeProject) -> None:
    project = make_project(many(3))
    project.update()
    cancel = CancelToken()
    hops: list[int] = []

    def stop(progress: object) -> None:
        hops.append(1)
        cancel.cancel()

    with pytest.raises(CancelledError):
        project.research(Inquiry("what calls hub()", 5), progress=stop, cancel=cancel)
    assert hops == [1]


@pytest.mark.parametrize(("question", "depth"), [(" ", 2), ("x", 0), ("x", 6)])
def test_what_cannot_be_asked(make_project: MakeProject, question: str, depth: int) -> None:
    project = make_project(many(1))
    project.update()
    with pytest.raises(InvalidArgumentError):
        project.research(question, depth)


def test_a_call_goes_on_in_what_overrides_the_called(make_project: MakeProject) -> None:
    project = make_project(
        {
            "shapes.py": "class Shape:\n    def draw(self):\n        raise NotImplementedError\n\n\n"
            "class Circle(Shape):\n    def draw(self):\n        return ink()\n\n\n"
            "def ink():\n    return 'ink'\n\n\n"
            "def show(shape: Shape):\n    return shape.draw()\n"
        }
    )
    project.update()
    (way,) = project.research("path from show to ink").chains
    assert [node.partition("#")[2] for node in way] == ["show", "Shape.draw", "Circle.draw", "ink"]


def test_a_path_from_an_unknown_symbol_says_so_first(make_project: MakeProject) -> None:
    project = make_project(many(1))
    project.update()
    found = project.research(Inquiry(relation=Aim.PATH, symbol="caler_0", to="hub"))
    assert found.unknown
    assert found.summary == "No definition named caler_0 in the index. Did you mean caller_0 (hub.py:5)?"
    asked = project.research("path from caler_0 to hub")
    assert asked.summary.startswith("No definition named caler_0 in the index.")


def test_a_word_that_the_graph_does_not_know_is_not_denied(make_project: MakeProject) -> None:
    """A field of a struct is no definition for the graph, and yet it is there."""
    project = make_project({"command.go": "package cli\n\ntype Command struct {\n\tValidArgs []string\n}\n"})
    project.update()
    found = project.research(Inquiry(relation=Aim.CALLERS, symbol="ValidArgs"))
    assert found.summary == "No definition named ValidArgs in the index, but the word is in command.go."
