"""Projects and programs for the tests of the command line."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import write_files
from program import InThisProcess, Program


@pytest.fixture
def findspot(tmp_path: Path) -> Program:
    return InThisProcess(home=tmp_path / "home", cwd=tmp_path)


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Makes a small real project: a marker, a module, a document, a folder git would ignore."""

    def make(name: str = "project", **files: str) -> Path:
        root = tmp_path / name
        contents = {
            "pyproject.toml": '[project]\nname = "small"\n',
            "src/greet.py": 'def greet(name):\n    """Say hello."""\n    return f"hello {name}"\n',
            "README.md": "# Small\n\nA project that greets.\n",
            ".gitignore": "ignored/\n",
            "ignored/secret.py": "x = 1\n",
            **files,
        }
        write_files(root, contents)
        return root

    return make


@pytest.fixture
def script(tmp_path: Path) -> tuple[Path, Path]:
    """A program that writes its arguments and what it reads to a file."""
    program, seen = tmp_path / "program", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\n{{ echo "$@"; [ -z "$KEEP" ] || cat; }} > "{seen}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, seen


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A program whose project is indexed once for the tests of a module, which only look at it."""
    folder = tmp_path_factory.mktemp("shared")
    root = folder / "project"
    files = {
        "src/greet.py": "def greet(name):\n    return name\n",
        "src/part.py": "def part():\n    return 1\n",
        "README.md": "# Small\n\nA project that greets.\n",
        "logo.png": b"\x89PNG\r\n\x1a\n\0\0",
    }
    write_files(root, files)
    (root / ".git").mkdir()
    program = InThisProcess(home=folder / "home", cwd=root)
    program.make_index(root)
    return program
