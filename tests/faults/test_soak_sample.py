"""A seeded sample of what `make soak` measures at length."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from benchmarks.soaking import cancel, clients, edits, fuzz, kills, s3kills, switch

from contents import write_files

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def test_processes_that_are_killed(home: Path, tmp_path: Path) -> None:
    found = kills.run(tmp_path, 3, seed=11)
    assert (found["unclean"], found["lost"], found["same"]) == (0, 0, True)


def test_publishers_that_are_killed(home: Path, tmp_path: Path) -> None:
    found = s3kills.run(tmp_path, 2, seed=15, together=False)
    assert found["acknowledged"]
    assert (found["lost"], found["unreadable"], found["same"]) == (0, 0, True)


def test_edits_of_a_history(home: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for turn in range(4):
        (repository / f"m{turn % 3}.py").write_text(f"def turn_{turn}():\n    return {turn}\n")
        (repository / "README.md").write_text(f"# Title {turn}\n\nSome words.\n")
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
            identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
            subprocess.run(["git", "-C", str(repository), *identity, *command], check=True)
    found = edits.run(tmp_path, repository, 4)
    assert found["edits"] == 4
    assert found["checkpoints"] == found["equal"]


def test_a_branch_switch(home: Path, tmp_path: Path) -> None:
    assert switch.run(tmp_path, 120)["same"]


@pytest.mark.parametrize("seed", [3])
def test_random_input(home: Path, tmp_path: Path, seed: int) -> None:
    found = fuzz.run(tmp_path, 1_500, seed)
    assert (found["crashes"], found["hangs"], found["opened_outside"]) == (0, 0, 0), found["first"]


def test_clients_while_another_process_indexes(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write_files(root, {f"m{n}.py": f"def handled_{n}(error):\n    return {n}\n" for n in range(30)})
    found = clients.run(root, 2.0, count=2)
    assert found["errors"] == 0
    assert found["searches"] >= 2
    assert found["full_indexings"] >= 1


def test_runs_that_are_stopped(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write_files(root, {f"m{n}.py": f"def first_{n}():\n    return {n}\n" for n in range(400)})
    found = cancel.run(root, 2, seed=5)
    assert found["files"] == 400
    assert found["files_kept_after_each"] == sorted(found["files_kept_after_each"])
