"""Search results for people: grouped by file, with line numbers and the matched words marked."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

import click

from findspot.core.model import Hit, Results
from findspot.serve.cli import output
from findspot.serve.cli.colours import source_lines
from findspot.serve.telling import told_lines
from findspot.text.snippet import shorten
from findspot.text.stopwords import STOP_WORDS
from findspot.text.tokens import parts

SHOWN_LINES = 12
"""Of each passage, around the line that matches best; `--full` shows all of it."""


def show_results(results: Results, *, full: bool = False) -> None:
    """Print an answer; nothing found says so, with what to try."""
    if results.warning:
        output.warn(results.warning)
    for line in told_lines(results):
        output.line(line)
    if not results.hits:
        output.note("No results. Try other words, or fewer filters.")
        return
    marked = query_words(results.query)
    for path, hits in _by_file(results.hits):
        output.line(path, bold=True, fg="cyan")
        for hit in hits:
            _show_hit(hit, marked, full)
        output.line()
    output.note(f"{output.count(len(results.hits), 'result')} in {results.elapsed_ms:.0f} ms", dim=True)


def _by_file(hits: Sequence[Hit]) -> Iterable[tuple[str, list[Hit]]]:
    """Return files in the order of their best hit; a file's hits in the order of its lines."""
    first = {hit.path: place for place, hit in reversed(list(enumerate(hits)))}
    ordered = sorted(hits, key=lambda hit: (first[hit.path], hit.span.start))
    return ((path, list(group)) for path, group in groupby(ordered, key=lambda hit: hit.path))


def _show_hit(hit: Hit, marked: re.Pattern[str] | None, full: bool) -> None:
    what = hit.breadcrumb or ", ".join(hit.symbols[:3]) or hit.kind
    output.line(f"  {hit.span.start}-{hit.span.end}  {hit.relevance_percent}%  {what}", dim=True)
    lines = hit.text.split("\n")
    start, end = (0, len(lines)) if full else _window(hit, len(lines))
    width = len(str(hit.span.start + end))
    room = None if full else _room(width + 4)
    if room is not None:
        lines = with_passage(hit, lines, room)
    for place, shown in enumerate(source_lines(lines[start:end], hit.language, marked, room), start):
        number = output.paint(f"{hit.span.start + place:>{width}}", sys.stdout, dim=True)
        click.echo(f"  {number}  {shown}", color=True)
    if end - start < len(lines):
        output.line(f"  {'':>{width}}  … {output.count(len(lines) - (end - start), 'more line')}", dim=True)
    if hit.why:
        output.line("  why: " + ", ".join(f"{name} {value:g}" for name, value in hit.why.items()), dim=True)


def _window(hit: Hit, count: int) -> tuple[int, int]:
    """Return lines to show: the beginning while it holds the best line, else those around it."""
    focus = (hit.focus or hit.span.start) - hit.span.start
    start = 0 if focus < SHOWN_LINES else max(0, min(focus - SHOWN_LINES // 2, count - SHOWN_LINES))
    return start, min(count, start + SHOWN_LINES)


def with_passage(hit: Hit, lines: Sequence[str], room: int) -> list[str]:
    """Return the lines of a hit, the best one cut to its passage if it is long."""
    focus = (hit.focus or hit.span.start) - hit.span.start
    return [
        shorten(line, 0, room, hit.focus_column) if place == focus else line
        for place, line in enumerate(lines)
    ]


def _room(taken: int) -> int | None:
    """Columns that are left on a terminal; a pipe has no width."""
    return max(20, shutil.get_terminal_size().columns - taken) if sys.stdout.isatty() else None


def query_words(query: str) -> re.Pattern[str] | None:
    """Return what to mark in the lines of an answer."""
    words = {word for word in parts(query) if len(word) > 1 and word not in STOP_WORDS}
    if not words:
        return None
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True)[:50])), re.IGNORECASE)
