"""Damage is noticed, told and repaired; what only looks like damage destroys nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.harness import PATIENCE_S
from findspot.core.locks import writer_lock
from program import Program

from .conftest import MakeFolder, Serve

if sys.platform != "win32":
    import resource

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no limits of this kind")


def with_limit(kind: int, most: int) -> dict[str, object]:
    """Start a process under a limit of the system."""
    return {"preexec_fn": lambda: resource.setrlimit(kind, (most, most))}


def test_a_limit_of_the_system_is_not_called_damage(
    findspot: Program, make: MakeFolder, tmp_path: Path
) -> None:
    """code-review B1, security 19: a size limit told the user to drop an intact index of documents."""
    (tmp_path / "tea.txt").write_text("a cup of tea\n")
    (tmp_path / "big.txt").write_text("".join(f"word{n} of a large text\n" for n in range(30_000)))
    assert findspot("documents", "create", "shelf").code == 0
    assert findspot("documents", "add", "tea.txt", "--index", "shelf").code == 0
    small = with_limit(resource.RLIMIT_FSIZE, 400_000)
    refused = findspot("documents", "add", "big.txt", "--index", "shelf", "--json", **small)
    assert refused.code == 1
    assert refused.json["code"] == "DISK_FULL"
    assert "drop" not in refused.err
    found = findspot("documents", "search", "tea", "--index", "shelf", "--json")
    assert "tea.txt" in found.out

    project = make({f"pkg/mod{n}.py": f"def function_{n}():\n    return {n}\n" for n in range(5)})
    findspot.make_index(project)
    for most, *command in ((9, "index"), (10, "index"), (10, "search", "function_3")):
        few = with_limit(resource.RLIMIT_NOFILE, most)
        asked = findspot(*command, "--json", cwd=project, **few)
        assert asked.json.get("code", "SYSTEM_LIMIT") == "SYSTEM_LIMIT", command
    assert not list(findspot.home.glob("indexes/*/index.bak"))
    assert findspot("search", "function_3", cwd=project).code == 0


SHOP = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    **{
        f"shop/part{n}.py": "".join(
            f"def handle_{n}_{k}(order):\n    return order + {k}\n\n\n" for k in range(9)
        )
        for n in range(40)
    },
}


def damage_a_page(home: Path) -> Path:
    """Zero the first page of the chunks, as a bad disk would: its time of writing stays."""
    (database,) = home.glob("indexes/*/index.sqlite")
    with contextlib.closing(sqlite3.connect(database)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").fetchone()
    with writer_lock(database.parent / "writer.lock", wait_s=30), database.open("r+b") as file:
        info = database.stat()
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
        file.flush()
        os.utime(database, ns=(info.st_atime_ns, info.st_mtime_ns))
    return database.parent


def test_a_damaged_page_is_told_and_rebuilt(findspot: Program, make: MakeFolder) -> None:
    """security 4, search-mcp B11: "Rebuilding it now..." for ever, and status `ready`."""
    project = make(SHOP)
    findspot.make_index(project)
    folder = damage_a_page(findspot.home)
    refused = findspot("search", "handle_7_3", "--no-update", "--json", cwd=project)
    assert refused.json["code"] == "INDEX_CORRUPT"
    status = findspot("status", "--json", cwd=project).json
    assert status["status"] == "failed"
    assert "INDEX_CORRUPT" in status["lastError"]
    assert "Rebuilding" not in status["lastError"]
    indexed = findspot("index", cwd=project)
    assert indexed.code == 0
    assert "damaged and has been rebuilt" in indexed.out + indexed.err
    assert (folder / "index.bak" / "index.sqlite").is_file()
    assert findspot("status", "--json", cwd=project).json["status"] == "ready"
    assert "handle_7_3" in findspot("search", "handle_7_3", "--json", cwd=project).out


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write below a folder: permissions do for a user, root needs a mount."""
    if os.geteuid():
        folders = [path for path in (folder, *folder.rglob("*")) if path.is_dir()]
        for path in folders:
            path.chmod(0o500)
        yield
        for path in folders:
            path.chmod(0o700)
        return
    mount = shutil.which("mount") or "mount"
    if subprocess.run([mount, "--bind", folder, folder], capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount anything")
    subprocess.run([mount, "-o", "remount,ro,bind", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_home_that_cannot_be_written_still_answers(
    findspot: Program, make: MakeFolder, serve: Serve, tmp_path: Path
) -> None:
    """security 16, search-mcp B11: nothing worked, and the message blamed the project."""
    project = make(SHOP | {"README.md": "# Shop\n\nHow orders are handled.\n"})
    findspot.make_index(project)
    with read_only(findspot.home):
        assert "handle_7_3" in findspot("search", "handle_7_3", cwd=project).out
        assert "README.md" in findspot("docs", "orders", cwd=project).out
        assert findspot("status", "--json", cwd=project).json["status"] == "ready"
        assert findspot("callers", "handle_7_3", cwd=project).code == 0
        checks = findspot("doctor", "--json", cwd=project).json["checks"]
        states = {check["name"]: check["state"] for check in checks}
        assert (states["store"], states["index"]) == ("error", "ok")
        refused = findspot("reindex", "--json", "--yes", cwd=project)
        assert refused.json["code"] == "PERMISSION_DENIED"
        assert str(findspot.home) in refused.json["userMessage"]
        assert "FINDSPOT_HOME" in refused.err
        assert "writing" in refused.json["developerMessage"]
        pipe = serve(project)
        found = pipe.values("search_code", query="handle_7_3")["results"]
        assert any("handle_7_3" in str(hit) for hit in found)
        told = pipe.call("index_codebase", path=".")
        assert told["isError"]
        assert str(findspot.home) in str(told)
        pipe.close_input()
        pipe.process.wait(timeout=PATIENCE_S)
    assert findspot("index", cwd=project).code == 0


def test_other_content_of_the_same_size_and_time_is_noticed(findspot: Program, make: MakeFolder) -> None:
    """security 17: with size and mtime restored, the old text was answered, also after `index`."""
    project = make(
        {"pyproject.toml": "[project]\nname = 'shop'\n", "pay.py": "def pay_amount():\n    return 11\n"}
    )
    old = 1_600_000_000_000_000_000
    for path in project.iterdir():
        os.utime(path, ns=(old, old))
    for _ in range(2):  # the second run comes after the files are settled
        assert findspot("index", cwd=project).code == 0
    (project / "pay.py").write_text("def pay_amount():\n    return 22\n")
    os.utime(project / "pay.py", ns=(old, old))
    answer = findspot("search", "pay_amount", "--json", cwd=project)
    assert "return 22" in answer.out
    assert "return 11" not in answer.out
    assert findspot("index", "--json", cwd=project).json["filesIndexed"] in (0, 1)
    status = findspot("status", "--json", cwd=project).json
    assert status["pendingChanges"] == 0
    assert "return 22" in findspot("search", "pay_amount", "--json", cwd=project).out
