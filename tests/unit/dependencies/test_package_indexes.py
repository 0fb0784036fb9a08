"""Several packages answer as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from findspot import Query
from findspot.project import Project
from kept_workers import KeptEngine

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
    opened = KeptEngine().project(root)
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
