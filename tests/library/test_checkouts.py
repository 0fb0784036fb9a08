"""Which project a folder belongs to, where checkouts lie in each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import write_files
from findspot import Engine


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
