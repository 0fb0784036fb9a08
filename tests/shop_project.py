"""The fixture project `shop`, indexed once for all tests of a process, which only ask it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from findspot import Engine, Project, Query
from findspot.core.model import Hit

FILES = Path(__file__).parent / "fixtures" / "shop"


@cache
def shop() -> Project:
    """A copy of the fixture, outside of this repository and its ignore files, with an index."""
    folder = Path(tempfile.mkdtemp(prefix="findspot-shop-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = shutil.copytree(FILES, folder / "shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(folder / "home"))
        engine = Engine()
        project = engine.project(root)
        project.update()
    atexit.register(engine.close)
    return project


def hits(text: str, **options: object) -> tuple[Hit, ...]:
    return shop().search(Query(text, **options)).hits  # type: ignore[arg-type]


def paths(text: str, **options: object) -> list[str]:
    return [hit.path for hit in hits(text, **options)]
