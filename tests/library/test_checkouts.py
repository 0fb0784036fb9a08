"""Which project a folder belongs to, where checkouts lie in each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import write_files
from findspot import Engine
from findspot.index_folders import covering_root


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A project with a package, and with a checkout of its own inside."""
    root = tmp_path / "outer"
    files = {"a.py": "a = 1\n", "pkg/package.json": "{}", "inner/b.py": "b = 1\n", "inner/pkg/go.mod": ""}
    write_files(root, files)
    (root / ".git").mkdir()
    (root / "inner/.git").write_text("gitdir: elsewhere\n")
    return root


def test_the_nearest_checkout_wins_against_an_index_around_it(engine: Engine, outer: Path) -> None:
    """first-impression B1."""
    engine.project(outer).update()
    assert engine.detect(outer / "pkg").root == outer
    assert engine.detect(outer / "inner").root == outer / "inner"
    assert engine.detect(outer / "inner/pkg").root == outer / "inner/pkg"
    engine.project(outer / "inner").update()
    assert engine.detect(outer / "inner/pkg").root == outer / "inner"


def test_an_index_that_names_a_checkout_in_its_roots_covers_it(engine: Engine, outer: Path) -> None:
    write_files(outer, {".findspot.json": json.dumps({"roots": ["inner", "pkg"]})})
    engine.project(outer).update()
    assert engine.detect(outer / "inner").root == outer
    assert covering_root(outer / "inner/pkg") == outer
    assert covering_root(outer / "inner", lambda root: root != outer) is None
    (outer / "inner/pkg/.git").mkdir()
    assert covering_root(outer / "inner/pkg") is None
