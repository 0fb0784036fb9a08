"""A home of its own, small real projects, the installed command, and a server on a real pipe."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from contents import write_files
from e2e.harness import Pipe
from program import Program

MakeFolder = Callable[..., Path]
Serve = Callable[..., Pipe]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """FINDSPOT_HOME of this test only; the command creates it."""
    return tmp_path / "home"


@pytest.fixture
def findspot(home: Path, tmp_path: Path) -> Program:
    """The installed command: `findspot("index", cwd=project)` returns its code, output and errors."""
    return Program(home=home, cwd=tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> MakeFolder:
    """Write files into a new folder: `make({"a.py": "x = 1"}, "name", git=True)`."""

    def written(files: Mapping[str, str | bytes], name: str = "project", *, git: bool = False) -> Path:
        return make_folder(tmp_path / name, files, git=git)

    return written


def make_folder(root: Path, files: Mapping[str, str | bytes], *, git: bool) -> Path:
    """Write files into a folder, which `git` makes a repository with one commit."""
    root.mkdir(parents=True, exist_ok=True)
    write_files(root, files)
    if git:
        run_git(root, "init", "-q", "-b", "main")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "-m", "start", "--allow-empty")
    return root


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Start `findspot serve` in a folder; the connection is initialized: `pipe = serve(project)`."""
    with ExitStack() as servers:

        def started(
            cwd: Path,
            *,
            capabilities: Mapping[str, Any] | None = None,
            version: str = "2025-11-25",
            **settings: str,
        ) -> Pipe:
            pipe = servers.enter_context(Pipe(home, cwd, **settings))
            pipe.initialize(version, **(capabilities or {}))
            return pipe

        yield started


def run_git(cwd: Path, *arguments: str) -> str:
    """Run git in a folder with an identity of its own and without the machine's settings."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout
