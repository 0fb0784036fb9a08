"""The transcript in the README is what the program says."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from pages import ROOT, run


@pytest.fixture(scope="module")
def transcript() -> ModuleType:
    """The script that records it."""
    spec = importlib.util.spec_from_file_location("transcript", ROOT / "docs" / "transcript.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def block(transcript: ModuleType) -> str:
    page = (ROOT / "README.md").read_text("utf-8")
    recorded: str = transcript.recorded(page)
    assert transcript.replaced(page, recorded) == page
    return recorded


def test_it_runs_what_the_makefile_runs(transcript: ModuleType, block: str) -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ntry:")[2].partition("\n\n")[0]
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()[1:]]
    assert re.findall(r"^\.venv/bin/findspot .*$", block, re.MULTILINE) == commands
    assert re.findall(r"^\$ (.*)$", block, re.MULTILINE) == [transcript.CLONE, transcript.TRY]


def test_it_says_what_the_program_says(tmp_path: Path, transcript: ModuleType, block: str) -> None:
    """Which lines of an answer are shown depends on all files, so those of a clone are indexed."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tmp_path / name)
    indexed, searched = block.split(".venv/bin/findspot ")[1:]
    question = re.search(r'"(.+)" --limit 1$', searched.splitlines()[0])
    assert question is not None
    for recorded, arguments in (
        (indexed, ["index", "."]),
        (searched, ["search", question[1], "--limit", "1", "--project", "."]),
    ):
        done = run(tmp_path, "-m", "findspot", *arguments)
        assert done.returncode == 0, done.stderr
        said = [line for line in recorded.splitlines()[1:] if line]
        told = [line for line in (done.stdout + done.stderr).splitlines() if line]
        assert _sorted(transcript, told) == _sorted(transcript, said), "run `python docs/transcript.py`"


def _sorted(transcript: ModuleType, lines: list[str]) -> list[str]:
    """Standard output and standard error come by two ways here, and by one there."""
    return sorted(transcript.comparable("\n".join(lines)).splitlines())
