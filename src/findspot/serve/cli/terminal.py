"""The user's terminal: a pager for long answers, an editor for a file, and a browser."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

import click

from findspot.core.caller import ENVIRONMENT
from findspot.core.config import terminal_settings
from findspot.core.platforms import find_program, resolved
from findspot.serve.cli.remote_terminal import remote_terminal, run_elsewhere

_LESS = "FRX"
"""Quit if it fits on one screen, keep colours, leave the text on the screen."""
_LESS_WITH_LINKS = 581
_VERSION_S = 2.0
_COLON = frozenset({"subl", "sublime_text", "zed", "hx", "helix", "atom", "mate", "micro"})
"""Editors that take `path:line`."""
_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors of the VS Code family: `--goto path:line`."""
_LINE = frozenset({"idea", "pycharm", "webstorm", "goland", "clion", "rubymine", "phpstorm", "kate"})
"""Editors that take `--line N path`."""
_USUAL = ("nvim", "vim", "nano", "vi", "notepad")


class _Terminal(io.TextIOWrapper):
    """A pipe to a pager, which counts as the terminal that the pager writes to."""

    shows_links = True

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def paged(*, wanted: bool = True) -> Iterator[None]:
    """Send what is printed to the user's pager, if there is a terminal and a pager."""
    command = _pager() if wanted and sys.stdout.isatty() else []
    if not command:
        yield
        return
    if (terminal := remote_terminal()) is not None:
        terminal.send(page=command)
        terminal.stdout.shows_links = _passes_links(command[0])
        try:
            yield
        finally:
            terminal.send(unpage=True)
        return
    environment = {"LESS": _LESS, "LESSCHARSET": "utf-8", **os.environ}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    pipe = _Terminal(process.stdin, encoding="utf-8", errors="backslashreplace")
    pipe.shows_links = _passes_links(command[0])
    before, sys.stdout = sys.stdout, pipe
    try:
        with contextlib.suppress(BrokenPipeError):  # the reader has seen enough
            yield
            sys.stdout.flush()
    finally:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.close()
        sys.stdout = before
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()


def _pager() -> list[str]:
    """Return the pager's command; empty if there is none, or the user wants none."""
    command = shlex.split(terminal_settings().pager)
    if not command or command[0] == "cat":
        return []
    program = find_program(command[0], ENVIRONMENT.get("PATH"))
    return [program, *command[1:]] if program else []


def _passes_links(pager: str) -> bool:
    """Return whether a pager passes hyperlinks on to the terminal: `less` does so from version 581 on."""
    if PurePath(pager).stem != "less":
        return False
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        printed = subprocess.run(
            [pager, "--version"], capture_output=True, timeout=_VERSION_S, check=True
        ).stdout
        version = re.match(rb"less (\d+)", printed)
        return version is not None and int(version[1]) >= _LESS_WITH_LINKS
    return False


def editor_command(path: Path, line: int) -> list[str]:
    """Return the command that opens a file at a line, in the editor that the user named or has."""
    named = terminal_settings().editor or next(filter(find_program, _USUAL), "")
    command = shlex.split(named)
    if not command:
        raise click.ClickException("No editor was found. Set EDITOR, such as EDITOR=vim.")
    name = PurePath(command[0]).stem.lower()
    if name in _GOTO:
        return [*command, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*command, f"{path}:{line}"]
    if name in _LINE:
        return [*command, "--line", str(line), str(path)]
    if name == "notepad":
        return [*command, str(path)]
    return [*command, f"+{line}", str(path)]  # vi and its kin, nano, emacs, gedit


def open_in_editor(path: Path, line: int) -> None:
    """Open a file at a line, and wait for the editor to return."""
    command = editor_command(path, line)
    try:
        if (code := run_elsewhere(resolved(command, ENVIRONMENT.get("PATH")))) is None:
            code = subprocess.run(resolved(command), check=False).returncode
    except FileNotFoundError:
        raise click.ClickException(f"The editor '{command[0]}' was not found. Set EDITOR.") from None
    if code:
        raise click.ClickException(f"The editor '{command[0]}' ended with {code}.")


def open_in_browser(page: Path | str) -> None:
    """Open a file or an address with the desktop's own program; do nothing where there is none."""
    if sys.platform == "win32":
        click.launch(str(page))  # which asks the system, and looks for no program
        return
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    with contextlib.suppress(OSError):
        if run_elsewhere(resolved([opener, str(page)], ENVIRONMENT.get("PATH"))) is not None:
            return
        nowhere = subprocess.DEVNULL  # it may start a browser that wants this terminal
        subprocess.Popen(resolved([opener, str(page)]), stdin=nowhere, stdout=nowhere, stderr=nowhere)
