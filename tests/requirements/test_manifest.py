"""The manifest of requirements and the tests, checked against each other.

One way: each requirement names tests that exist, the benchmark that measures it, or the reason why
there is nothing yet. The other way: every file of end-to-end tests shows some requirement, and an id
that a test mentions is one of the manifest.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SOURCES = ("s0", "s1", "s2", "s3", "s4", "surface")
FEWEST = {"s0": 150, "s1": 40, "s2": 70, "s3": 40, "s4": 60, "surface": 60}
"""Requirements are added, not dropped."""

MENTION = re.compile(r"\bS[0-4]\.[a-z0-9_]+(?:\.[a-z0-9_]+)*")


@cache
def requirements() -> dict[str, list[dict[str, Any]]]:
    return {source: tomllib.loads((HERE / f"{source}.toml").read_text())["requirement"] for source in SOURCES}


def every() -> list[dict[str, Any]]:
    return [entry for entries in requirements().values() for entry in entries]


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests of a file, as pytest names them."""
    tree = ast.parse((REPOSITORY / path).read_text())
    alone = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    grouped = {
        f"{group.name}::{node.name}"
        for group in tree.body
        if isinstance(group, ast.ClassDef)
        for node in group.body
        if isinstance(node, ast.FunctionDef)
    }
    return frozenset(name for name in alone | grouped if name.rpartition("::")[2].startswith("test_"))


@pytest.mark.parametrize("source", SOURCES)
def test_each_requirement_is_shown_measured_or_has_a_reason(source: str) -> None:
    entries = requirements()[source]
    assert len(entries) >= FEWEST[source]
    for entry in entries:
        (shown,) = set(entry) - {"id", "source", "text"}
        assert entry["source"].startswith("surface" if source == "surface" else source.upper()), entry
        assert entry["id"].startswith(source if source == "surface" else source.upper()), entry
        if shown == "tests":
            missing = [test for test in entry["tests"] if not _exists(test)]
            assert entry["tests"], entry["id"]
            assert not missing, f"{entry['id']} names tests that do not exist: {missing}"
        elif shown == "measured":
            assert (REPOSITORY / entry["measured"]).is_file(), entry
        else:
            assert shown == "not_yet", entry
            assert len(entry["not_yet"]) > 10, entry


def _exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return (REPOSITORY / path).is_file() and name in named_in(path)


def test_no_id_stands_for_two_things() -> None:
    counted = Counter(entry["id"] for entry in every())
    assert [identity for identity, times in counted.items() if times > 1] == []


def test_every_file_of_end_to_end_tests_shows_a_requirement() -> None:
    cited = {test.partition("::")[0] for entry in every() for test in entry.get("tests", ())}
    files = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "tests/e2e").glob("test_*.py")}
    assert files - cited == set(), "add what these tests show to tests/requirements/"


def test_ids_that_tests_mention_are_in_the_manifest() -> None:
    known = {entry["id"] for entry in every()}
    mentioned = {
        (path.name, found)
        for path in (REPOSITORY / "tests").rglob("*.py")
        for found in MENTION.findall(path.read_text(errors="replace"))
    }
    assert {(name, found) for name, found in mentioned if found not in known} == set()
