"""Several packages answer as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from findspot import Engine, Query
from findspot.core.caller import Caller, on_behalf_of
from findspot.project import Project

PACKAGE = "def wait_between_attempts():\n    '''Return how long to wait before the next attempt.'''\n"
SITE = ".venv/lib/python3.12/site-packages"
FILES = {
    "requirements.txt": "alpha\nbeta\n",
    "app.py": "pass\n",
    ".venv/pyvenv.cfg": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    files = dict(FILES)
    for name in ("alpha", "beta"):
        files[f"{SITE}/{name}/__init__.py"] = PACKAGE
        files[f"{SITE}/{name}-1.dist-info/METADATA"] = f"Name: {name}\nVersion: 1\n"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    opened = Engine().project(root)
    opened.update()
    yield opened
    opened.close()


def test_pages_of_several_packages_follow_one_another(project: Project) -> None:
    query = Query("wait before the next attempt", dependency="*")
    every = [hit.path for hit in project.search(query).hits]
    pages = [project.search(replace(query, limit=1, offset=offset)) for offset in range(len(every))]
    assert [hit.path for page in pages for hit in page.hits] == every
    assert len(every) == 2
    assert project.packages.indexed() == {"pypi/alpha@1", "pypi/beta@1"}


def test_the_environment_is_that_of_whoever_asks(project: Project, tmp_path: Path) -> None:
    """One process answers many clients: what one of them has active is no other one's."""
    site = tmp_path / "active" / "lib/python3.12/site-packages"
    (site / "gamma").mkdir(parents=True)
    (site / "gamma" / "__init__.py").write_text(PACKAGE)
    (site / "gamma-1.dist-info").mkdir()
    (site / "gamma-1.dist-info" / "METADATA").write_text("Name: gamma\nVersion: 1\n")
    (tmp_path / "active" / "pyvenv.cfg").write_text("")

    def found(environ: dict[str, str]) -> set[str]:
        with on_behalf_of(Caller(project.root, environ)):
            return {each.name for each in project.packages.listed()}

    assert found({}) == {"alpha", "beta"}
    assert found({"VIRTUAL_ENV": str(tmp_path / "active")}) == {"alpha", "beta", "gamma"}
    assert found({}) == {"alpha", "beta"}
