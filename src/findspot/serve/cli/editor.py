"""Opening a file in the user's editor, at a line."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path, PurePath

import click

from findspot.core.config import terminal_settings
from findspot.core.programs import find_program, resolved

_COLON = frozenset({"subl", "sublime_text", "zed", "hx", "helix", "atom", "mate", "micro"})
"""Editors that take `path:line`."""

_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors of the VS Code family: `--goto path:line`."""

_LINE = frozenset({"idea", "pycharm", "webstorm", "goland", "clion", "rubymine", "phpstorm", "kate"})
"""Editors that take `--line N path`."""

_USUAL = ("nvim", "vim", "nano", "vi", "notepad")


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
    """Open it, and wait as long as the editor wants to be waited for."""
    command = editor_command(path, line)
    try:
        subprocess.run(resolved(command), check=True)
    except FileNotFoundError:
        raise click.ClickException(f"The editor '{command[0]}' was not found. Set EDITOR.") from None
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"The editor '{command[0]}' ended with {error.returncode}.") from None
