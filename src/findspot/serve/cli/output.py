"""Print results to standard output and everything else to standard error.

Whatever comes from a repository goes through `clean`: a file's name or a setting must not
be able to move the cursor, recolour or rename a terminal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, TextIO

import click

from findspot.core.config import terminal_settings
from findspot.core.files import NO_ROOM
from findspot.serve.cli.terminal import terminal
from findspot.serve.shapes import size

_GAP = "  "
_NARROWEST = 16
"""Columns of text are not folded to less."""
_NUMBER = re.compile(r"[\d,.]+[KMG]?B?|-?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d).*Z")


def prepare_streams() -> None:
    """Let no stream end the program: one that is closed reads and prints nothing.

    A terminal that cannot show a character shows its escape.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_about_results(error: OSError) -> bool:
    """Return whether standard output takes no more: refusals of files and folders name them."""
    return error.filename is None and error.errno in (*NO_ROOM, errno.EIO, errno.EBADF, errno.EPIPE)


def drop_results() -> None:
    """Print nothing more to standard output, not even what waits to be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def clean(text: str) -> str:
    """Return the text on one line, with everything that is not a visible character spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def emit(value: Any) -> None:
    """Print the one JSON object of a `--json` answer; ASCII, so that it is as safe as `clean` text."""
    click.echo(json.dumps(value, indent=2))


def line(text: str = "", **style: Any) -> None:
    click.echo(paint(clean(text), sys.stdout, **style), color=True)


def lines(text: str, indent: str = "") -> None:
    """Print a text of several lines as the result, with tabs and ends of lines as a terminal has them."""
    for part in text.replace("\r\n", "\n").expandtabs(4).split("\n"):
        line(indent + part)


def report(text: str) -> None:
    """Print a text of several lines; on a terminal long ones go on indented, and no place is broken."""
    width = terminal().columns if sys.stdout.isatty() else sys.maxsize
    for part in text.expandtabs(4).split("\n"):
        deeper = " " * (len(part) - len(part.lstrip()) + 4)
        lines("\n".join(_folded(part, max(width, _NARROWEST), deeper)))


def note(text: str, **style: Any) -> None:
    """Print one line to standard error; if that is not possible, there is nobody to tell."""
    with contextlib.suppress(OSError):
        click.echo(paint(clean(text), sys.stderr, **style), err=True, color=True)


def warn(text: str | None) -> None:
    if text:
        note(f"warning: {text}", fg="yellow")


def paint(text: str, stream: TextIO, **style: Any) -> str:
    """Return the text styled if the stream is a terminal that wants colours; it must be clean already."""
    return click.style(text, **style) if style and wants_colour(stream) else text


def wants_colour(stream: TextIO) -> bool:
    """Return whether a stream is a terminal whose user has not said no to colours."""
    return terminal_settings().colours and stream.isatty()


def fields(pairs: Iterable[tuple[str, str]]) -> None:
    """Print labelled values, one per line; those without a value are left out."""
    shown = [(label, value) for label, value in pairs if value]
    width = max((len(label) for label, _ in shown), default=0)
    for label, value in shown:
        name = paint(clean(label).ljust(width), sys.stdout, dim=True)
        first, *more = _folded(clean(value), room(width + 2 * len(_GAP)))
        click.echo(f"{_GAP}{name}{_GAP}{first}", color=True)
        for part in more:
            click.echo(" " * (width + 2 * len(_GAP)) + part)


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Print aligned columns, those of numbers to the right; on a terminal they fit its width."""
    cells = [[clean(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    columns = enumerate(zip(*rows, strict=True))
    right = {place for place, column in columns if all(map(_NUMBER.fullmatch, column))}
    widths = _fitting_widths([max(map(len, column)) for column in zip(*cells, strict=True)])
    for index, row in enumerate(cells):
        style = {"dim": True} if header and index == 0 else {}
        folded = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*folded, fillvalue=""):
            aligned = [
                part.rjust(width) if column in right else part.ljust(width)
                for column, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            click.echo(paint(_GAP.join(aligned).rstrip(), sys.stdout, **style), color=True)


_SHORT_COMMIT = 12


def cell(value: Any, field: str) -> str:
    """Return a field of an answer for a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return size(int(value)) if field.lower().endswith("bytes") else f"{value:,.0f}"
    if field == "commit":
        return str(value)[:_SHORT_COMMIT]
    return _TIME.sub(r"\1 \2", str(value or ""))


def _fitting_widths(widths: list[int]) -> list[int]:
    """Return the widths of columns with the widest one narrowed to what the terminal has room for."""
    widest = widths.index(max(widths))
    widths[widest] = min(widths[widest], room(sum(widths) - widths[widest] + len(_GAP) * (len(widths) - 1)))
    return widths


def room(taken: int) -> int:
    """Return how wide a text may be beside what takes up the rest of a line; nothing limits a pipe."""
    if not sys.stdout.isatty():
        return sys.maxsize
    return max(terminal().columns - taken, _NARROWEST)


def _folded(cell: str, width: int, deeper: str = "") -> list[str]:
    """Return the lines of a cell; a long word such as a path stays whole, so that it can be copied."""
    if len(cell) <= width:
        return [cell]
    return textwrap.wrap(
        cell, width, subsequent_indent=deeper, break_long_words=False, break_on_hyphens=False
    )


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `1,205 files`, `2 indexes`."""
    plural = noun + ("es" if noun.endswith(("x", "ch")) else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def ranking(counts: dict[str, int], most: int | None = None) -> str:
    """Return counts in order: `python 120, markdown 8 and 3 more`."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in ranked[:most])
    rest = len(ranked) - len(ranked[:most])
    return f"{shown} and {rest} more" if rest else shown
