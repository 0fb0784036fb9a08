"""When a server of several projects is ready."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot import Engine, Project
from findspot.serve.mcp.served_projects import Readiness


@pytest.mark.parametrize(("damaged", "status"), [(0, 200), (1, 200), (2, 503)])
def test_a_server_is_ready_while_one_of_its_projects_is(
    damaged: int, status: int, make_project: Callable[..., Project]
) -> None:
    projects = []
    for name in ("one", "two"):
        project = make_project({"a.py": "def login(): ...\n"}, name=name)
        project.update()
        project.close()
        projects.append(project)
    for project in projects[:damaged]:
        project.store.database.write_bytes(b"no database" * 1_000)
    with contextlib.closing(Engine()) as engine:
        answer = Readiness().answer(engine, names=True)
    content = json.loads(bytes(answer.body))
    assert (answer.status_code, content["projects"]) == (status, 2)
    assert content["status"] == ("ready" if status == 200 else "not ready")
    assert {each["project"] for each in content.get("reasons", [])} == {
        str(project.root) for project in projects[:damaged]
    }


def test_a_server_without_projects_is_ready(home: Path) -> None:
    with contextlib.closing(Engine()) as engine:
        assert Readiness().answer(engine, names=False).status_code == 200
