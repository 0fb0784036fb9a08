"""The structured answer about a relation: each fact once, and lines of production code before all else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from findspot.research.findings import Aim, Findings, FoundEdge, FoundNode, PossiblePlace
from findspot.search.token_budget import token_count
from findspot.serve.research_answers import findings_object, fitted_findings, report

CALLED = "src/shop/links.py#link_to"
PRODUCTION, TESTS = 8, 32


def findings(production: int = PRODUCTION, tests: int = TESTS) -> Findings:
    """Callers of one function, each with a line; every eighth with a second one."""
    paths = [f"src/shop/views/page_{n // 4}.py" for n in range(production)]
    paths += [f"tests/test_links_{n // 8}.py" for n in range(tests)]
    nodes = [FoundNode(CALLED, "link_to", "function", "src/shop/links.py", 20, 41, 0)]
    edges = []
    for number, path in enumerate(paths):
        name = f"show_the_summary_of_order_{number:02}"
        nodes.append(FoundNode(f"{path}#{name}", name, "function", path, 10 * number, 10 * number + 8, 1))
        for line in (10 * number + 2, 10 * number + 5)[: 1 + (number % 8 == 0)]:
            text = f'assert link_to("orders.show", number={line}, absolute=True) == expected'
            edges.append(FoundEdge(f"{path}#{name}", CALLED, "call", path, line, 0.95, text))
    return Findings(
        "what calls link_to",
        2,
        None,
        f"link_to (src/shop/links.py:20) is called by {len(paths)}.",
        tuple(nodes),
        tuple(edges),
        relation=Aim.CALLERS,
        possible=(PossiblePlace("src/shop/app.py", 3, "App", "passed as a value", 0.0, "link=link_to,"),),
        names={node.id: node.id.partition("#")[2] for node in nodes},
    )


def size(values: dict[str, Any]) -> int:
    return token_count(json.dumps(values, ensure_ascii=False))


def lines_of(values: dict[str, Any]) -> list[tuple[str, int]]:
    return [(edge["path"], edge["line"]) for edge in values["edges"]]


def test_a_long_answer_says_each_fact_once() -> None:
    found = findings()
    values = fitted_findings(found)
    sent = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    assert token_count(sent) <= 2.2 * token_count(report(found))
    assert lines_of(values) == [(edge.path, edge.line) for edge in found.edges]
    carried = json.dumps(values)
    assert all(carried.count(json.dumps(edge.text)) == 1 for edge in found.edges)
    assert [node["id"] for node in values["nodes"]] == ["link_to"]
    assert values["edges"][2] == {
        "from": "show_the_summary_of_order_01",
        "to": "link_to",
        "relation": "call",
        "path": "src/shop/views/page_0.py",
        "line": 12,
        "confidence": 0.95,
        "text": 'assert link_to("orders.show", number=12, absolute=True) == expected',
    }
    assert "warning" not in values


def test_a_short_answer_has_every_field() -> None:
    found = findings(3, 1)
    assert fitted_findings(found, 1_200) == findings_object(found)
    assert set(findings_object(found)["edges"][0]) == {
        "from", "to", "relation", "path", "line", "confidence", "text",
    }  # fmt: skip


def test_a_full_answer_has_every_field_however_long() -> None:
    found = findings()
    assert fitted_findings(found, full=True) == findings_object(found)
    short = fitted_findings(found, 1_200, full=True)
    assert size(short) <= 1_200
    assert short["nodes"][0]["id"] == found.nodes[0].id


def test_the_default_limit_has_room_for_fifteen_lines() -> None:
    values = fitted_findings(findings(), 1_200)
    assert len(lines_of(values)) >= 15
    assert values.keys() == findings_object(findings()).keys() | {"warning"}
    assert size(values) <= 1_200


@pytest.mark.parametrize("limit", [200, 300, 500, 800, 1_200])
def test_lines_of_production_code_stay_longest_and_the_rest_is_counted(limit: int) -> None:
    found = findings()
    values = fitted_findings(found, limit)
    assert size(values) <= limit
    shown = lines_of(values)
    production = [(edge.path, edge.line) for edge in found.edges if edge.path.startswith("src/")]
    assert shown[: len(production)] == production[: len(shown)]
    if len(shown) < len(production):
        assert not values.get("possible")
        assert "1 of 1 possible places" in values["warning"]
    left = len(found.edges) - len(shown)
    tests = left - max(0, len(production) - len(shown))
    assert f"left out: {left} of {len(found.edges)} references ({tests} in tests)" in values["warning"]


def test_what_is_not_usual_is_said() -> None:
    """Of two definitions with one name the ids differ; an uncertain edge says how sure it is."""
    found = findings()
    other = FoundNode("lib/links.py#link_to", "link_to", "function", "lib/links.py", 1, 2, 0)
    edge = FoundEdge(found.nodes[1].id, other.id, "value", found.nodes[1].path, 3, 0.4)
    names = found.names | {other.id: "link_to"}
    found = replace(found, nodes=(other, *found.nodes), edges=(*found.edges, edge), names=names)
    values = fitted_findings(found)
    ids = [node["id"] for node in values["nodes"]]
    assert ids == [other.id, CALLED]
    assert {edge["to"] for edge in values["edges"]} == {other.id, CALLED}
    unusual = [edge for edge in values["edges"] if edge["relation"] != "call"]
    assert [(edge["relation"], edge["confidence"]) for edge in unusual] == [("value", 0.4)]
