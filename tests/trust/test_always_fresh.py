"""Always fresh: the command line brings the index up to date before it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from program import Program
from trust.conftest import MakeFolder

FILES = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "pkg/base.py": "def known_function():\n    return 1\n",
    "docs/guide.md": "# Guide\n\nHow to begin.\n",
}
NEW = "from pkg.base import known_function\n\n\ndef brand_new_helper_xyz():\n    return known_function()\n"


@pytest.fixture
def project(make: MakeFolder, findspot: Program) -> Path:
    root = make(FILES)
    findspot.make_index(root)
    return root


def test_every_question_sees_what_was_just_written(project: Path, findspot: Program) -> None:
    """first-impression B5, surface 8.10: each command is the first to meet another change."""
    commands = (
        ("search", "brand_new_helper_xyz", "-n", "1", "--json"),
        ("search", r"def brand_new_helper_xyz\(", "--mode", "regex", "--json"),
        ("files", "pkg/new*.py"),
        ("callers", "known_function"),
        ("research", "what calls known_function"),
    )
    for number, command in enumerate(commands):
        (project / f"pkg/new{number}.py").write_text(NEW.replace("xyz", f"xyz{number}"))
        answer = findspot(*(part.replace("xyz", f"xyz{number}") for part in command), cwd=project)
        assert f"pkg/new{number}.py" in answer.out, command
        assert answer.err == ""
    (project / "docs/new.md").write_text("# Zebras\n\nOn stripes.\n")
    assert "docs/new.md" in findspot("docs", "zebras stripes", cwd=project).out


@contextmanager
def writing(findspot: Program, project: Path) -> Iterator[None]:
    """While another process has the index's writer."""
    script = (
        "import sys; from findspot import Project\n"
        "with Project(sys.argv[1]).store.writer():\n"
        "    print('writing', flush=True); sys.stdin.readline()\n"
    )
    environment = {"FINDSPOT_HOME": str(findspot.home)}
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(project)], env=os.environ | environment, stdin=PIPE, stdout=PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"writing\n"
    try:
        yield
    finally:
        other.communicate(b"\n")


def test_an_answer_without_an_update_says_what_it_lacks(project: Path, findspot: Program) -> None:
    """first-impression B5: it was not asked for, or somebody else is writing."""
    told = "1 change on disk not indexed (--no-update)."
    unchanged = findspot("search", "known_function", "--no-update", "--json", cwd=project)
    assert "warning" not in unchanged.json
    (project / "pkg/new.py").write_text(NEW)
    for command in (("search", "known_function"), ("files", "**")):
        answer = findspot(*command, "--no-update", "--json", cwd=project)
        assert told in answer.json["warning"], command
        assert "pkg/new.py" not in answer.out
    assert told in findspot("callers", "known_function", "--no-update", cwd=project).err
    with writing(findspot, project):
        answer = findspot("search", "known_function", "--json", cwd=project)
    assert answer.code == 0
    assert "Another process is updating the index" in answer.json["warning"]
    assert "pkg/base.py" in answer.out
