"""The command line says what to do next, suggests what was meant, and fits a narrow terminal."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from findspot.serve.cli.app import COMMANDS, PURPOSES
from findspot.serve.cli.app import findspot as program
from program import TIMEOUT_S, Program
from trust.conftest import MakeFolder

terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;;[^\x1b]*\x1b\\")
NARROW = {"COLUMNS": "80", "NO_COLOR": "1"}
FILES = {"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"}


def limited_commands() -> list[tuple[str, list[str]]]:
    """Every command with a limit on its results, with the names of that option."""
    context = click.Context(program, info_name="findspot")
    waiting = [(name, program.get_command(context, name)) for name in COMMANDS]
    limited = []
    for name, command in waiting:
        if isinstance(command, click.Group):
            waiting += [(f"{name} {inner}", below) for inner, below in command.commands.items()]
        elif command is not None:
            limits = (option.opts for option in command.params if {"--limit", "--lines"} & {*option.opts})
            limited += [(name, opts) for opts in limits]
    return limited


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
    limited = limited_commands()
    assert {"search", "docs", "files", "chunks search", "documents search", "tools search"} <= {
        name for name, _ in limited
    }
    assert [name for name, names in limited if "-n" not in names] == []


@terminal
def test_findspot_alone_searches_as_you_type(findspot: Program, make: MakeFolder) -> None:
    """first-impression A5: a pipe gets the help; on a terminal the project is indexed, and asked."""
    root = make(FILES)
    piped = findspot(cwd=root)
    assert (piped.code, piped.err) == (0, "")
    assert "First steps:" in piped.out
    asked = findspot.on_terminal(answers={"type to search": "\x1b"}, whole=True, cwd=root)
    assert asked.code == 0
    assert "has no index yet" in asked.err


def test_misspelt_names_are_answered_with_the_right_ones(findspot: Program, make: MakeFolder) -> None:
    """first-impression M10: commands, languages, settings and symbols."""
    root = make(FILES)
    findspot.make_index(root)
    for arguments, suggestion in (
        (("serach", "x"), "No such command 'serach'. Did you mean search"),
        (("config", "gt", "x"), "No such command 'gt'. Did you mean get?"),
        (("search", "greet", "--languages", "python,pyhton"), "no language 'pyhton'. Did you mean python?"),
        (("search", "greet", "--languages", "c++"), "no language 'c++'. Did you mean cpp?"),
        (("config", "get", "maxFile"), "hint: Did you mean maxFile"),
    ):
        answer = findspot(*arguments, cwd=root)
        assert (answer.code, suggestion in answer.err) == (2, True), answer.err
    unknown = findspot("callers", "gret", cwd=root)
    assert unknown.code == 1
    assert "Did you mean greet (greet.py:1)?" in unknown.out + unknown.err


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
    for command in ("config", "models --no-speed", "projects", "status", "status --skipped all"):
        shown = findspot.on_terminal(*command.split(), answers={}, whole=True, cwd=root, env=NARROW).err
        lines = [line.rstrip() for line in ESCAPES.sub("", shown).splitlines()]
        assert lines
        wide = [line for line in lines if len(line) > 80 and max(map(len, line.split())) < 40]
        assert wide == [], command


@terminal
def test_watch_shows_the_progress_of_index(findspot: Program, make: MakeFolder) -> None:
    """first-impression, the same bar: what changed before the watch is indexed in sight."""
    root = make(FILES)
    findspot.make_index(root)
    (root / "later.py").write_text("def later():\n    return 1\n")
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    shown = ""
    with findspot.start("watch", cwd=root, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        while "indexing" not in shown:
            shown += os.read(master, 4096).decode()
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(master, 4096).decode(errors="replace"):
                shown += piece
        process.wait(timeout=TIMEOUT_S)
    os.close(master)
    assert re.search(r"indexing .*━", ESCAPES.sub("", shown))
    assert "Stopped watching." in shown


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
