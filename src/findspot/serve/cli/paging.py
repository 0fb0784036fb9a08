"""Long answers through a pager, as git does it: only for people, and only past one screen."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator

from findspot.core.config import terminal_settings
from findspot.core.programs import find_program

_LESS = "FRX"
"""Quit if it fits on one screen, keep colours, leave the text on the screen."""


class _Terminal(io.TextIOWrapper):
    """A pipe to a pager stands for the terminal that the pager writes to."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def paged(*, wanted: bool = True) -> Iterator[None]:
    """Send what is printed to the user's pager, where there is a terminal and a pager."""
    command = _command() if wanted and sys.stdout.isatty() else []
    if not command:
        yield
        return
    environment = {"LESS": _LESS, "LESSCHARSET": "utf-8", **os.environ}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    before, sys.stdout = sys.stdout, _Terminal(process.stdin, encoding="utf-8", errors="backslashreplace")
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


def _command() -> list[str]:
    """Return the pager's command; nothing where there is none, or the user wants none."""
    command = shlex.split(terminal_settings().pager)
    if not command or command[0] == "cat":
        return []
    program = find_program(command[0])
    return [program, *command[1:]] if program else []
