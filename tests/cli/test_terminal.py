"""What people see on a terminal: colours, pages, their editor, and the picker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from program import Program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
NO_PAGER = {"PAGER": ""}


def test_matches_and_places_stand_out(shared: Program) -> None:
    shown = shared.on_terminal("search", "greet", "-n", "1", answers={}, whole=True, env=NO_PAGER).err
    assert "\x1b[36m\x1b[1msrc/greet.py\x1b[0m" in shown
    assert "\x1b[33m\x1b[1mgreet\x1b[0m" in shown


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(shared: Program, plain: dict[str, str]) -> None:
    shown = shared.on_terminal("search", "greet", answers={}, whole=True, env=NO_PAGER | plain).err
    assert "\x1b[" not in shown
    assert "def greet(name)" in shown


def test_long_lines_are_cut_to_the_width(findspot: Program, make_project: object) -> None:
    root = make_project(**{"src/long.py": f"wide = '{'x' * 300}'\n"})  # type: ignore[operator]
    findspot.make_index(root)
    env = NO_PAGER | {"NO_COLOR": "1", "COLUMNS": "60"}
    shown = findspot.on_terminal("search", "wide", answers={}, whole=True, cwd=root, env=env).err
    (line,) = [line.rstrip() for line in shown.splitlines() if "wide = " in line]
    assert len(line) <= 60
    assert line.endswith("…")


def test_long_answers_go_through_the_pager(shared: Program, script: tuple[Path, Path]) -> None:
    program, seen = script
    env = {"PAGER": str(program), "KEEP": "1"}
    assert shared.on_terminal("search", "greet", answers={}, whole=True, env=env).code == 0
    assert "src/greet.py" in seen.read_text()
    new = shared.cwd / "src" / "new.py"
    new.write_text("NEW = 1\n")
    stale = shared.on_terminal("search", "greet", "--no-update", answers={}, whole=True, env=env).err
    new.unlink()
    assert "1 change on disk not indexed" in stale
    assert "src/greet.py" in seen.read_text()
    seen.unlink()
    assert "src/greet.py" in shared("search", "greet", env=env).out
    assert not seen.exists()


def test_the_picker_answers_until_an_empty_line(shared: Program) -> None:
    answers = {"an empty line leaves.": "part\n", "1  src/part.py:1-2": "\n"}
    outcome = shared.on_terminal(answers=answers, whole=True, env={"NO_COLOR": "1"})
    assert outcome.code == 0, outcome.err
