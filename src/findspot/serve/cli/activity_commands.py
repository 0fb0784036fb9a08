"""`findspot logs` and `findspot stats`: what servers wrote down, and how much was searched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from findspot.core.config import home_folder
from findspot.core.log import LEVELS, at_least, last_lines, log_file, record_object
from findspot.core.progress import CancelToken
from findspot.serve import usage
from findspot.serve.cli import output
from findspot.serve.cli.interaction import stoppable
from findspot.serve.cli.options import Reply, common

_COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_LOOK_S = 0.3


@click.command()
@click.option("-n", "--lines", type=click.IntRange(1, 1_000_000), default=50, show_default=True)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("--level", type=click.Choice(LEVELS, case_sensitive=False), help="This level and above.")
@click.option("--path", "only_path", is_flag=True, help="Print where the log is, and end.")
@common
def logs(reply: Reply, lines: int, follow: bool, level: str | None, only_path: bool) -> None:
    """Show the log that servers keep: counts, durations and paths, never source text."""
    path = log_file(home_folder())
    if only_path:
        reply.give({"path": str(path)}, str(path))
        return
    shown, end = last_lines(path, lines)
    shown = at_least(level, shown) if level else shown
    if reply.json and not follow:
        output.emit({"path": str(path), "lines": [record_object(line) for line in shown]})
        return
    if not shown and not follow:
        output.note(f"Nothing is logged yet ({path}).")
    with stoppable() as cancel:
        for line in shown:
            _show_record(line, reply)
        if follow:
            for line in _new_lines(path, end, cancel):
                if not level or at_least(level, [line]):
                    _show_record(line, reply)


def _show_record(line: str, reply: Reply) -> None:
    record = record_object(line)
    if reply.json:
        output.emit_line(record)
    else:
        output.line(line, fg=_COLOURS.get(record.get("level", "")))


def _new_lines(path: Path, at: int, cancel: CancelToken) -> Iterator[str]:
    """Yield whole lines as they are appended, across the change to a new file."""
    rest = b""
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


@click.command()
@click.option("--days", type=click.IntRange(1), help="Only the last so many days.")
@click.option("--clear", is_flag=True, help="Forget everything that was counted.")
@common
def stats(reply: Reply, days: int | None, clear: bool) -> None:
    """Show how much Findspot was used on this machine, and the tokens that its answers spared.

    Only counts are kept, here and nowhere else: no query, no path, no text.
    """
    if clear:
        usage.clear()
    since = (datetime.now(UTC) - timedelta(days=days - 1)).strftime("%Y-%m-%d") if days else ""
    found = usage.usage(since)
    if reply.json:
        output.emit({"usage": [asdict(item) | {"saved": item.saved} for item in found]})
        return
    if not found:
        output.line("Nothing has been counted yet.")
        return
    rows = [
        [item.surface, f"{item.searches:,}", f"{item.answered:,}", f"{item.shown:,}", f"{item.saved:,}"]
        for item in found
    ]
    output.table(rows, ["by", "searches", "answered", "tokens shown", "tokens saved"], numbers=range(1, 5))
    output.note(
        "Saved: what the files of the answers would have cost, read whole, less the answers.", dim=True
    )
