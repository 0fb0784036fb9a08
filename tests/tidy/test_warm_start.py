"""A warm start is a start: the same answers, from a child process with its own folder and session."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import warm_start
from warm_start import INSTALLED


def run(kind: type[subprocess.Popen[str]], folder: Path, *arguments: str) -> tuple[int, str, str]:
    environment = os.environ | {"FINDSPOT_HOME": str(folder / "home")}
    with kind(
        [INSTALLED, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize("arguments", [("config", "--json"), ("index",), ("no-such-command",)])
def test_it_answers_like_a_new_process(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert run(warm_start.Popen, tmp_path, *arguments) == run(subprocess.Popen, tmp_path, *arguments)


def test_it_is_a_child_in_its_own_session(tmp_path: Path) -> None:
    with warm_start.Popen(
        [INSTALLED, "serve"],
        cwd=tmp_path,
        env=os.environ | {"FINDSPOT_HOME": str(tmp_path / "home")},
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        state = Path(f"/proc/{process.pid}/stat")
        if state.exists():
            parent, _, session = state.read_text().rpartition(")")[2].split()[1:4]
            assert (int(parent), int(session)) == (os.getpid(), process.pid)
        process.kill()
    assert process.returncode == -9
