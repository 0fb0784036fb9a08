"""How far research goes: one project with more of everything than an answer shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contents import indexed_project
from findspot import Project
from findspot.research.findings import Aim, Findings, Focus, Inquiry
from findspot.serve.research_answers import report


def functions(*bodies: tuple[str, str]) -> str:
    return "\n\n\n".join(f"def {name}():\n    {body}" for name, body in bodies) + "\n"


def files() -> dict[str, str]:
    callers = [(f"caller_{n:02}", "return hub()") for n in range(45)]
    callers += [(f"outer_{n:02}", f"return caller_{n:02}()") for n in range(45)]
    way = [(f"way_{n}", f"return way_{n + 1}()") for n in range(12)]
    unknown = "\n    ".join(f"x.unheard_of_{n:02}()" for n in range(25))
    found = {
        "hub/hub.py": functions(("hub", "return 1"), *callers),
        "way/way.py": functions(*way, ("way_12", "return 1")),
        "doubt/doubt.py": f"def doubtful(x):\n    {unknown}\n",
        "entry/shared.py": "def tool():\n    return 1\n",
    }
    for n in range(25):
        found[f"many/m{n:02}.py"] = functions(("repeated", "return 1"), (f"uses_{n}", "return repeated()"))
    for n in range(14):
        main = "from entry.shared import tool\n\n\ndef main():\n    return tool()\n"
        found[f"entry/e{n:02}.py"] = main
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("research"), files()) as project:
        yield project


def ask(project: Project, name: str, aim: Aim, depth: int = 1) -> Findings:
    return project.research(Inquiry(relation=aim, symbol=name, depth=depth))


def test_every_line_of_a_caller_is_quoted_and_no_edge_is_a_chain(project: Project) -> None:
    found = ask(project, "hub", Aim.CALLERS)
    assert len(found.nodes) == 46
    assert (sum(bool(edge.text) for edge in found.edges), len(found.chains)) == (45, 0)


def test_thirty_chains_and_their_count(project: Project) -> None:
    """protocol-and-research, smaller: chains are cut with a count, and no longer than the depth."""
    found = ask(project, "hub", Aim.CALLERS, 2)
    assert len(found.chains) == 30
    assert {len(chain) for chain in found.chains} == {3}
    assert "Chains (→ calls, 10 of 30 or more)" in report(found)


@pytest.mark.parametrize(("depth", "end", "steps"), [(1, "way_3", 3), (1, "way_4", None), (2, "way_6", 6),
                                                     (2, "way_7", None), (3, "way_9", 9)])  # fmt: skip
def test_three_steps_per_level_of_depth(project: Project, depth: int, end: str, steps: int | None) -> None:
    found = project.research(f"path from way_0 to {end}", depth)
    assert [len(way) - 1 for way in found.chains] == ([] if steps is None else [steps])


def test_twenty_unresolved_calls_are_listed(project: Project) -> None:
    found = ask(project, "doubtful", Aim.CALLEES)
    assert len(found.unresolved) == 20
    assert found.unresolved[0] == "unheard_of_00 (doubt/doubt.py:2): unknown"


def test_twenty_definitions_of_a_name_are_followed(project: Project) -> None:
    found = ask(project, "repeated", Aim.CALLERS)
    assert sum(node.hop == 0 for node in found.nodes) == 20
    assert sum(node.hop == 1 for node in found.nodes) == 20


def test_twelve_entry_points(project: Project) -> None:
    found = project.research(Inquiry("how is it built", focus=Focus.ARCHITECTURE, under="entry"))
    mains = [node.path for node in found.nodes if node.name == "main"]
    assert mains == [f"entry/e{n:02}.py" for n in range(12)]
