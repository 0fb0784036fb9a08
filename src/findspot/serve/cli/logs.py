"""`findspot logs`: what servers wrote while nobody looked."""

from __future__ import annotations

from collections.abc import Iterator

import click

from findspot.core.progress import CancelToken
from findspot.serve.cli import output
from findspot.serve.cli.health.journal import LEVELS, at_least, last_lines, log_file, record_object
from findspot.serve.cli.options import Manner, common
from findspot.serve.cli.progress import stoppable

_COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_LOOK_S = 0.3


@click.command()
@click.option("-n", "--lines", type=click.IntRange(1, 1_000_000), default=50, show_default=True)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("--level", type=click.Choice(LEVELS, case_sensitive=False), help="This level and above.")
@click.option("--path", "only_path", is_flag=True, help="Print where the log is, and end.")
@common
def logs(manner: Manner, lines: int, follow: bool, level: str | None, only_path: bool) -> None:
    """Show the log that servers keep: counts, durations and paths, never source text."""
    path = log_file()
    if only_path:
        output.emit({"path": str(path)}) if manner.json else output.line(str(path))
        return
    shown, end = last_lines(lines)
    shown = at_least(level, shown) if level else shown
    if manner.json and not follow:
        output.emit({"path": str(path), "lines": [record_object(line) for line in shown]})
        return
    if not shown and not follow:
        output.note(f"Nothing is logged yet ({path}).")
    with stoppable() as cancel:
        for line in shown:
            _show(line, manner)
        if follow:
            for line in _new_lines(end, cancel):
                if not level or at_least(level, [line]):
                    _show(line, manner)


def _show(line: str, manner: Manner) -> None:
    record = record_object(line)
    if manner.json:
        output.emit_line(record)
    else:
        output.line(line, fg=_COLOURS.get(record.get("level", "")))


def _new_lines(at: int, cancel: CancelToken) -> Iterator[str]:
    """Whole lines as they are appended after a place, across the change to a new file."""
    path, rest = log_file(), b""
    while not cancel.wait(_LOOK_S):
        if not path.exists():
            continue
        if path.stat().st_size < at:
            at, rest = 0, b""
        with path.open("rb") as source:
            source.seek(at)
            data = source.read()
        at += len(data)
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)
