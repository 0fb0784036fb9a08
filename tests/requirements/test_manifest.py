"""The manifest and the tests, checked against each other.

One way: each requirement names a test that exists, or says why there is none yet. The other way:
each file of end-to-end tests about the project tools shows at least one requirement.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
SHOWN = ("arguments", "asking", "assistance", "content", "indexing", "listing", "research", "search", "tasks")


def requirements() -> list[dict[str, Any]]:
    files = sorted(Path(__file__).parent.glob("*.toml"))
    return [entry for file in files for entry in tomllib.loads(file.read_text())["requirement"]]


def functions(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("entry", requirements(), ids=lambda entry: entry["id"])
def test_a_requirement_is_shown_or_has_a_reason(entry: dict[str, Any]) -> None:
    assert set(entry) in ({"id", "says", "test"}, {"id", "says", "not_yet"})
    if "test" in entry:
        path, _, name = entry["test"].partition("::")
        assert name in functions(path)


def test_ids_are_unique_and_begin_with_their_source() -> None:
    ids = [entry["id"] for entry in requirements()]
    assert len(ids) == len(set(ids))
    assert all(identity.partition(".")[0] in ("S0", "S1", "S2", "S3", "S4") for identity in ids)


def test_what_tests_show_is_in_the_manifest() -> None:
    cited = {entry["test"].partition("::")[0] for entry in requirements() if "test" in entry}
    assert {f"e2e/test_{name}.py" for name in SHOWN} <= cited
