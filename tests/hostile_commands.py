"""Run every command with bad values and in bad circumstances, one after the other in one process.

Prints a JSON object per line: the circumstance, the words, the exit code and what was printed. Commands and
their parameters come from the program itself, so that a new one is tried too.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import click

from every_command import FLAGS, arguments, commands
from findspot.serve.cli.app import findspot, run

HOSTILE = (
    "missing/x",
    "a.py/x",  # below a file
    "/proc/none/x",  # where nothing can be made
    "\x1b[2J\u202e",  # steers a terminal
    "\udcff",  # not UTF-8
    "~nobody-here/x",
    "x" * 5_000,
    "'",
)

RESULTS = open(os.dup(1), "w")  # noqa: SIM115, PTH123  a server keeps standard output for itself


def execute(circumstance: str, words: list[str]) -> None:
    """Run one command line and print how it ended."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _circumstance(circumstance):
        try:
            code: int | str = run(words)
        except BaseException as error:  # noqa: BLE001 - what a user would see as a trace
            code = f"Traceback: {error!r}"
    shown = {"in": circumstance, "words": words, "code": code, "out": out.getvalue(), "err": err.getvalue()}
    RESULTS.write(json.dumps(shown) + "\n")
    RESULTS.flush()


@contextlib.contextmanager
def _circumstance(name: str) -> Iterator[None]:
    """Make the world as bad as the name says."""
    before, home = Path.cwd(), os.environ["FINDSPOT_HOME"]
    with contextlib.ExitStack() as stack:
        if name == "closed streams":
            for stream in ("stdin", "stdout", "stderr"):
                stack.callback(setattr, sys, stream, getattr(sys, stream))
                setattr(sys, stream, None)
        elif name == "full output":
            full = stack.enter_context(open(os.open("/dev/full", os.O_WRONLY), "w", closefd=True))  # noqa: PTH123
            stack.enter_context(contextlib.redirect_stdout(full))
        elif name == "folder gone":
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
            stack.callback(os.chdir, before)
        elif name in ("/proc/none", "a.py/home"):
            os.environ["FINDSPOT_HOME"] = str(before / name)
            stack.callback(os.environ.__setitem__, "FINDSPOT_HOME", home)
        yield


CIRCUMSTANCES = ("closed streams", "full output", "folder gone", "/proc/none", "a.py/home")


def hostile(command: click.Command, values: Iterator[str], times: int) -> Iterator[list[str]]:
    """Yield arguments of which one is hostile; the others are as they should be.

    Each parameter has so many of the values; the next one gets others.
    """
    for parameter in command.params:
        if parameter.name in FLAGS or isinstance(parameter.type, click.types.BoolParamType | click.IntRange):
            continue
        if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
            continue
        for value in islice(values, times):
            if isinstance(parameter, click.Argument):
                others = [each for each in command.params if each is not parameter]
                yield [*arguments(click.Command("", params=others), "missing"), "--", value]
            else:
                yield [*arguments(command, "missing"), f"{parameter.opts[0]}={value}"]


def main(times: int) -> None:
    values = cycle(HOSTILE)
    for words, command in commands(findspot):
        if words == ("ui",):  # it would stay
            continue
        for circumstance in CIRCUMSTANCES if words != ("watch",) else ("folder gone",):
            execute(circumstance, [*words, *arguments(command, "missing")])
        for given in hostile(command, values, times):
            execute("bad value", [*words, *given])


if __name__ == "__main__":
    main(int(sys.argv[1]))
