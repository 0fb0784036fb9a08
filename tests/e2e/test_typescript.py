"""The TypeScript client: every tool once with success and once with an error."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.door import serving
from e2e.harness import COMMAND, environment
from e2e.sample import FILES
from e2e.test_listing import ORDER, in_order

SOURCES = Path(__file__).parent / "ts"

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's program with its package, installed outside the checkout."""
    folder = tmp_path_factory.mktemp("typescript")
    for source in SOURCES.iterdir():
        shutil.copy(source, folder)
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(install, cwd=folder, check=True, timeout=300)
    return folder / "client.js"


def test_every_tool_in_success_and_in_error(program: Path, fresh: Path, tmp_path: Path) -> None:
    project = str(fresh)
    successes: list[tuple[str, dict[str, Any]]] = [
        ("create_index", {"project": project}),
        ("index_codebase", {"path": project, "force": True}),
        ("search_code", {"query": "check a password", "path": project, "explain": True, "limit": 500}),
        ("search_docs", {"query": "installer", "path": project}),
        ("search_by_path", {"pattern": "**/*.py", "project": project}),
        ("code_research", {"query": "what calls check_password()", "path": project}),
        ("code_context", {"signal": "a wrong password is accepted", "project": project}),
        ("get_index_status", {"project": project}),
        ("list_projects", {}),
        ("reindex_project", {"project": project}),
        ("reindex_file", {"path": "README.md", "project": project}),
        ("delete_index", {"project": project}),
    ]
    errors: list[tuple[str, dict[str, Any], str]] = [
        ("create_index", {"project": "/no/such/folder"}, "PATH_NOT_FOUND"),
        ("index_codebase", {}, "INVALID_ARGUMENT"),
        ("search_code", {"query": ""}, "INVALID_ARGUMENT"),
        ("search_docs", {"query": "x", "limit": 0}, "INVALID_ARGUMENT"),
        ("search_by_path", {"pattern": "x" * 2000, "project": project}, "INVALID_PATTERN"),
        ("code_research", {"query": "x", "depth": 9, "path": project}, "INVALID_ARGUMENT"),
        ("code_context", {"signal": "x", "nonsense": 1}, "INVALID_ARGUMENT"),
        ("get_index_status", {"nonsense": 1}, "INVALID_ARGUMENT"),
        ("list_projects", {"nonsense": 1}, "INVALID_ARGUMENT"),
        ("reindex_project", {"project": "/no/such/folder"}, "PATH_NOT_FOUND"),
        ("reindex_file", {"path": "gone.py", "project": project}, "FILE_NOT_FOUND"),
        ("delete_index", {"project": "/no/such/folder"}, "PATH_NOT_FOUND"),
    ]
    told = _run(program, fresh, tmp_path / "home", [*successes, *((n, a) for n, a, _ in errors)])

    assert in_order(tool["name"] for tool in told["tools"])
    assert told["instructions"]
    assert told["progress"]
    assert "Delete the index for this project? This cannot be undone.\n" + project in told["asked"]
    done, failed = told["results"][: len(ORDER)], told["results"][len(ORDER) :]
    for name, result in zip(ORDER, done, strict=True):
        assert not result.get("isError"), (name, result)
        assert result["structuredContent"]
    assert done[2]["structuredContent"]["results"][0]["path"] == "src/auth/login.py"
    assert done[9]["structuredContent"]["filesIndexed"] == len(FILES)
    for (name, _, code), result in zip(errors, failed, strict=True):
        assert result["isError"], (name, result)
        assert result["structuredContent"]["code"] == code


def test_over_http(program: Path, fresh: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create_index", {"project": str(fresh)}),
        ("search_code", {"query": "check a password", "path": str(fresh)}),
        ("search_code", {"query": ""}),
    ]
    with serving(home, fresh) as address:
        told = _run(program, fresh, home, calls, url=address)
    made, found, refused = told["results"]
    assert made["structuredContent"]["status"] == "success"
    assert told["asked"] == [f"Index this project?\n{fresh}"]
    assert found["structuredContent"]["results"][0]["path"] == "src/auth/login.py"
    assert refused["structuredContent"]["code"] == "INVALID_ARGUMENT"


def _run(
    program: Path, cwd: Path, home: Path, calls: list[tuple[str, dict[str, Any]]], url: str | None = None
) -> dict[str, Any]:
    asked = {
        "url": url,
        "command": COMMAND[0],
        "args": COMMAND[1:],
        "cwd": str(cwd),
        "env": environment(home),
        "calls": calls,
    }
    done = subprocess.run(
        ["node", str(program), json.dumps(asked)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
