"""Asked is done: what was stopped stays stopped, and what was deleted stays deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.harness import Pipe, until
from findspot.core.locks import is_locked
from held import Gate
from program import Program
from trust.conftest import MakeFolder, Serve

MANY = {f"pkg/module{n}.py": f"def function_{n}():\n    return {n}\n" for n in range(40)} | {
    "pyproject.toml": "[project]\nname = 'many'\n"
}


def watched(pipe: Pipe) -> None:
    until(lambda: pipe.values("get_index_status")["watcherActive"])


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "project", tmp_path / "gate")


def begin(pipe: Pipe, project: Path) -> int:
    """Start a first index, and wait until it has begun and cannot end before the gate opens."""
    number = pipe.ask_tool("index_codebase", {"path": str(project)}, token="t")
    pipe.progress_above(0)
    return number


def comes_to_rest(pipe: Pipe, home: Path) -> dict[str, object]:
    """The status once nothing is being written; a cancelled call is answered before its work has stopped."""
    until(lambda: pipe.values("get_index_status")["status"] != "indexing")
    until(lambda: not any(map(is_locked, (home / "indexes").glob("*/writer.lock"))))
    return pipe.values("get_index_status")


def test_a_cancelled_first_index_stays_stopped_until_somebody_asks(
    make: MakeFolder, serve: Serve, findspot: Program, gate: Gate
) -> None:
    """protocol-and-research B1, search-mcp B2, first-impression B10."""
    project = make(MANY)
    pipe = serve(project, PYTHONPATH=gate.path)
    number = begin(pipe, project)
    pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    stopped = comes_to_rest(pipe, findspot.home)
    assert stopped["status"] == "incomplete"
    assert "Indexing was stopped" in str(stopped["notes"])
    gate.open()

    # Neither a change on disk nor another server finishes it: a watcher would hold its lock by now.
    (project / "new.py").write_text("def brand_new():\n    return 1\n")
    other = serve(project)
    for server in (pipe, other, pipe, other):
        now = server.values("get_index_status")
        assert (now["status"], now["totalFiles"], now["watcherActive"]) == (
            "incomplete",
            stopped["totalFiles"],
            False,
        )
    answer = other.values("search_code", query="function_3")
    assert "Indexing was stopped" in answer["warning"]
    assert "still being built" not in answer["warning"]
    assert other.values("reindex_file", path="new.py")["status"] == "success"
    held = f"Indexing was stopped: only {stopped['totalFiles'] + 1} of "
    assert other.values("search_by_path", pattern="*.py")["warning"].startswith(held)
    assert held in str(other.values("get_index_status")["notes"])

    assert findspot("index", cwd=project).code == 0
    watched(pipe)
    done = pipe.values("get_index_status")
    assert (done["status"], done["totalFiles"]) == ("ready", len(MANY) + 2)
    assert "notes" not in done


def test_a_build_that_was_cut_off_goes_on_by_itself(make: MakeFolder, serve: Serve, gate: Gate) -> None:
    """A crash is no wish to stop (surface 3.18), nor is the end of the server."""
    project = make(MANY)
    killed = serve(project, PYTHONPATH=gate.path)
    begin(killed, project)
    killed.process.kill()
    ended = serve(project, PYTHONPATH=gate.path)
    until(lambda: ended.values("get_index_status")["status"] == "indexing")  # its watcher goes on
    begin(ended, project)
    ended.process.terminate()
    assert ended.ended() == 0
    gate.open()
    last = serve(project)
    until(lambda: last.values("get_index_status")["status"] == "ready")
    assert last.values("get_index_status")["totalFiles"] == len(MANY) + 1


def test_a_deleted_index_stays_deleted(make: MakeFolder, serve: Serve, gate: Gate, home: Path) -> None:
    """protocol-and-research B2: a change was being indexed, and its file still waited."""
    project = make(MANY)
    gate.open()
    pipe = serve(project, PYTHONPATH=gate.path)
    pipe.values("create_index")
    watched(pipe)
    gate.shut()
    gate.file.write_text("def held_again():\n    return 2\n")
    (lock,) = (home / "indexes").glob("*/writer.lock")
    until(lambda: is_locked(lock))
    assert pipe.values("delete_index", confirm=True)["status"] == "success"
    for _ in range(20):
        assert pipe.values("get_index_status")["status"] == "not_found"
    assert pipe.call("search_code", query="held")["structuredContent"]["code"] == "INDEX_NOT_FOUND"
    assert list((home / "indexes").iterdir()) == []
    gate.open()
    for number in range(3):  # as well where a change and the check after a rebuild are still pending
        pipe.values("create_index")
        pipe.values("reindex_project", confirm=True)
        (project / "late.py").write_text(f"late = {number}\n")
        pipe.values("delete_index", confirm=True)
        assert {pipe.values("get_index_status")["status"] for _ in range(40)} == {"not_found"}


def test_a_folder_of_an_indexed_project_gets_no_index_of_its_own(
    make: MakeFolder, serve: Serve, findspot: Program, tmp_path: Path
) -> None:
    """search-mcp A6, protocol-and-research AWKWARD, search-mcp B11 (`reindex_file` echoes)."""
    project = make({**MANY, ".gitignore": "vendor/\n", "vendor/lib/a.py": "x = 1\n"}, git=True)
    nested = make({"b.py": "y = 1\n"}, "project/nested", git=True)
    pipe = serve(project)
    assert pipe.values("index_codebase", path=str(project / "pkg"))["path"] == str(project / "pkg")
    total = pipe.values("create_index")["totalFiles"]
    assert pipe.values("delete_index", project=str(project / "pkg"), confirm=True)["status"] == "success"
    for folder in ("pkg", str(project / "pkg")):
        answer = pipe.values("index_codebase", path=folder)
        assert (answer["path"], answer["totalFiles"]) == (str(project), total)
        assert f"{project / 'pkg'} is part of the index of {project}" in answer["warning"]
    typed = findspot("index", project / "pkg", "--json", cwd=tmp_path)
    assert typed.json["path"] == str(project)
    assert f"{project / 'pkg'} is part of the index of {project}" in typed.json["warning"]
    assert pipe.values("list_projects")["total"] == 1
    # A repository of its own is a project of its own, and so is what the index around it leaves out.
    assert pipe.values("index_codebase", path=str(nested))["path"] == str(nested)
    assert pipe.values("index_codebase", path=str(project / "vendor"))["path"] == str(project / "vendor")

    named = pipe.values("reindex_file", path=str(project / "pkg" / "module1.py"))
    assert named["path"] == "pkg/module1.py"
