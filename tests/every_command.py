"""Run every command line that the program has, but `publish`, one after the other in one process.

Arguments come from the command's own declaration, so that a new command is run too. Prints a JSON object per
line: the words, and the exit code.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click

from findspot.serve.cli.app import findspot, run

LEFT_OUT = {("publish",)}
STAYS = {("ui",), ("watch",)}
"""Commands that go on until they are stopped."""

VALUES = {
    "address": "",
    "pattern": "**",
    "key": "store",
    "value": "default",
}
"""By the name of an argument; any other gets a word."""

FLAGS = {"yes": "--yes"}


def commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    ctx = click.Context(command)
    for name in command.list_commands(ctx):
        inner = command.get_command(ctx, name)
        assert inner is not None
        yield from commands(inner, (*words, name))


def arguments(command: click.Command, address: str) -> list[str]:
    values = VALUES | {"address": address}
    given = []
    for parameter in command.params:
        value = values.get(str(parameter.name), "function_1")
        if parameter.name in FLAGS:
            given.append(FLAGS[parameter.name])
        elif isinstance(parameter, click.Argument) and (parameter.required or parameter.nargs == -1):
            given.append(value)
        elif parameter.required:
            given += [parameter.opts[0], value]
    return given


def interrupt_until(ended: threading.Event) -> None:
    """Press Ctrl-C every two seconds: on a busy machine, the first one may come before anybody heeds it."""
    while not ended.wait(2.0):
        os.kill(os.getpid(), signal.SIGINT)


def execute(words: list[str], *, stays: bool = False) -> None:
    ended = threading.Event()
    presser = threading.Thread(target=interrupt_until, args=(ended,))
    if stays:
        presser.start()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(words)
    if stays:
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
        ended.set()
        presser.join()
        signal.signal(signal.SIGINT, usual)
    shown = {"words": words, "code": code, "out": out.getvalue(), "err": err.getvalue()}
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()


def main(address: str) -> None:
    indexes = Path(os.environ["FINDSPOT_HOME"], "indexes")
    for words, command in commands(findspot):
        if not list(indexes.glob("*/index.sqlite")):  # at the beginning, or deleted by the last one
            execute(["store", "use", address])
        if words not in LEFT_OUT:
            execute([*words, *arguments(command, address)], stays=words in STAYS)
    execute(["index", "--force"])
    execute(["config", "set", "storeUri", address])
    execute(["reindex", "--yes"])


if __name__ == "__main__":
    main(sys.argv[1])
