"""The command line says what to do next, suggests what was meant, and fits a narrow terminal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from findspot.serve.cli.app import COMMANDS, PURPOSES
from findspot.serve.cli.app import findspot as program
from program import Program
from trust.conftest import MakeFolder

terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;;[^\x1b]*\x1b\\")
NARROW = {"COLUMNS": "80", "NO_COLOR": "1"}
FILES = {"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"}


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that run it."""
    context = click.Context(program, info_name="findspot")
    waiting = [(name, program.get_command(context, name)) for name in COMMANDS]
    for name, command in waiting:
        if isinstance(command, click.Group):
            waiting += [(f"{name} {inner}", below) for inner, below in command.commands.items()]
        elif command is not None:
            yield name, command


def test_every_command_answers_with_json() -> None:
    """surface 6; but for those that serve, and the script of a shell."""
    without = {name for name, command in every_command() if "--json" not in _names(command)}
    assert without == {"serve", "gateway", "ui", "completion"}


def _names(command: click.Command) -> list[str]:
    return [name for parameter in command.params for name in parameter.opts]


def test_help_starts_with_three_steps_and_groups_the_commands(findspot: Program) -> None:
    """first-impression A5, A6: three first steps, commands by purpose, one line each, nothing cut."""
    shown = findspot("--help", env=NARROW).out
    steps = re.findall(r"^    findspot (\w+|\"[^\"]+\")", shown, re.MULTILINE)
    assert steps == ['"how is it done"', "callers", "setup"]
    assert re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE) == ["Options", *PURPOSES]
    listed = re.findall(r"^  ([a-z]+)  +[A-Z].*\.$", shown, re.MULTILINE)
    assert listed == list(COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80
    nested = findspot("config", "--help", env=NARROW).out
    assert "..." not in nested.partition("Commands:")[2]


def test_limits_have_the_same_letter_everywhere() -> None:
    """first-impression A12: `-n` is the limit of every command that has one."""
    limited = {name: _names(command) for name, command in every_command()}
    limited = {name: names for name, names in limited.items() if {"--limit", "--lines"} & {*names}}
    assert {"search", "docs", "files", "chunks search", "documents search", "tools search"} <= limited.keys()
    assert [name for name, names in limited.items() if "-n" not in names] == []


@terminal
def test_serve_on_a_terminal_says_what_it_is_for(findspot: Program, make: MakeFolder) -> None:
    """first-impression A5: nothing would look as if it hung."""
    shown = findspot.on_terminal("serve", answers={"press Ctrl-C.": "\x04"}, cwd=make(FILES))
    assert "the server that assistants start" in shown.err
    assert "findspot setup" in shown.err
    assert shown.out == ""


@terminal
def test_tables_fit_a_narrow_terminal(findspot: Program, make: MakeFolder) -> None:
    """first-impression A6: no line is wider than 80 columns unless a path in it is long."""
    root = make(FILES | {"logo.png": b"\x89PNG\r\n\x1a\n\0\0"})
    findspot.make_index(root)
    for command in ("config", "models", "projects", "status", "status --skipped all"):
        shown = findspot.on_terminal(*command.split(), answers={}, whole=True, cwd=root, env=NARROW).err
        lines = [line.rstrip() for line in ESCAPES.sub("", shown).splitlines()]
        assert lines
        wide = [line for line in lines if len(line) > 80 and max(map(len, line.split())) < 40]
        assert wide == [], command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed_and_work(findspot: Program, shell: str, tmp_path: Path) -> None:
    """first-impression M1: a command prints the script; a shell that is here accepts it."""
    script = findspot("completion", shell)
    assert script.code == 0
    assert "_FINDSPOT_COMPLETE" in script.out
    interpreter = shutil.which(shell)
    if interpreter:
        (tmp_path / "script").write_text(script.out)
        subprocess.run([interpreter, "-n", tmp_path / "script"], check=True)
    words = {"COMP_WORDS": "findspot comp", "COMP_CWORD": "1"}
    if shell == "fish":
        words["COMP_CWORD"] = "comp"
    offered = findspot(env={"_FINDSPOT_COMPLETE": f"{shell}_complete"} | words)
    assert "completion" in offered.out
    assert "search" not in offered.out


def test_completion_runs_no_program_of_the_folder(findspot: Program, tmp_path: Path) -> None:
    """security S18: `PATH` may have the working folder in it."""
    for name in ("bash", "zsh", "fish"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\necho 5.0\n")
        (tmp_path / name).chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        shown = findspot("completion", shell, cwd=tmp_path, env={"PATH": f".::{os.environ['PATH']}"})
        assert (shown.code, shown.err) == (0, "")
    assert not (tmp_path / "ran").exists()
