"""Search results for people: numbered by rank, with line numbers, in colour, the matched words marked."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from findspot.core.model import NOTHING_FITS, Hit, Results, Strength
from findspot.serve.cli import output
from findspot.serve.search_answers import assistance_lines
from findspot.text.snippet import shorten
from findspot.text.tokens import STOP_WORDS, parts

SHOWN_LINES = 12
"""Lines shown of each passage, around the one that matches best; `--full` shows all."""
TAB = "    "
_MATCH: dict[str, Any] = {"fg": "yellow", "bold": True}
_STRENGTH_STYLES: dict[Strength, dict[str, Any]] = {
    Strength.STRONG: {"fg": "green"},
    Strength.LIKELY: {"fg": "yellow"},
    Strength.WEAK: {"dim": True},
}


def show_results(results: Results, *, first: int = 1, full: bool = False) -> None:
    """Print the hits in the order of their rank, which begins with `first`."""
    if results.nothing_fits and results.hits:
        output.line(NOTHING_FITS, fg="yellow")
    for line in assistance_lines(results):
        output.line(line)
    marked = query_words(results.query)
    width = len(str(first + len(results.hits) - 1))
    for rank, hit in enumerate(results.hits, first):
        _show_heading(hit, f"{rank:>{width}}")
        if hit.strength is Strength.WEAK and rank > first and not full:
            continue
        if hit.overview and not full:
            _show_overview(hit.overview)
        else:
            _show_lines(hit, marked, full)
        _show_context(hit)
        output.line()


def show_notes(results: Results) -> None:
    """Print what a reader should know about the results, to standard error: after them, never between."""
    output.warn(results.warning)
    if results.hits:
        output.note(output.count(len(results.hits), "result"), dim=True)
    else:
        output.note("No results. Try other words, or fewer filters.")


def _show_heading(hit: Hit, rank: str) -> None:
    what = hit.breadcrumb or ", ".join(hit.symbols[:3]) or hit.kind
    location = output.paint(output.clean(hit.path), sys.stdout, bold=True, fg="cyan")
    location += output.paint(f":{hit.span.start}-{hit.span.end}", sys.stdout, dim=True)
    strength = output.paint(hit.strength, sys.stdout, **_STRENGTH_STYLES[hit.strength])
    click.echo(f"{rank}  {location}  {strength}  {output.clean(what)}", color=True)


def _show_overview(overview: str) -> None:
    """Print what a file describes and defines, in place of its first lines, which are imports."""
    lines, room = overview.split("\n"), output.room(2)
    for line in lines[:SHOWN_LINES]:
        output.line(f"  {output.cut(line, room)}")
    _show_rest(len(lines) - SHOWN_LINES, "  ")


def _show_rest(count: int, indent: str) -> None:
    if count > 0:
        output.line(f"{indent}… {output.count(count, 'more line')}", dim=True)


def _show_context(hit: Hit) -> None:
    """Print what a hit says of itself: constants, calls, further places in its file, why it was found."""
    for label, references in (
        ("constant", hit.constants),
        ("called by", hit.callers),
        ("calls", hit.callees),
    ):
        for reference in references:
            place = output.clean(f"{reference.path}:{reference.line}")
            room = output.room(len(label) + len(place) + 6)
            text = output.cut(output.clean(reference.text.strip()), room)
            named, at = (output.paint(each, sys.stdout, dim=True) for each in (label, place))
            click.echo(f"  {named}  {text}  {at}", color=True)
    for place in hit.more:
        output.line(f"  also  {place}", dim=True)
    for label, text in (("last changed", hit.last_change), ("via", hit.via)):
        if text:
            output.line(output.cut(f"  {label}  {text}", output.room(0)), dim=True)
    if hit.why:
        output.line("  why: " + ", ".join(f"{name} {value:g}" for name, value in hit.why.items()), dim=True)


def _show_lines(hit: Hit, marked: re.Pattern[str] | None, full: bool) -> None:
    lines = hit.text.split("\n")
    best = (hit.focus or hit.span.start) - hit.span.start
    start, end = (0, len(lines)) if full else _window(best, len(lines))
    width = len(str(hit.span.start + end))
    room = sys.maxsize if full else output.room(width + 4)
    if best < len(lines):
        lines[best] = shorten(lines[best], 0, room, hit.focus_column)
    for position, shown in enumerate(source_lines(lines[start:end], marked, room), start):
        number = output.paint(f"{hit.span.start + position:>{width}}", sys.stdout, dim=True)
        click.echo(f"  {number}  {shown}", color=True)
    _show_rest(len(lines) - (end - start), f"  {'':>{width}}  ")


def _window(best: int, count: int) -> tuple[int, int]:
    """Return lines to show: from the first one on if the best is near, else around it."""
    top = 0 if best < SHOWN_LINES else max(0, min(best - SHOWN_LINES // 2, count - SHOWN_LINES))
    return top, min(count, top + SHOWN_LINES)


def query_words(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the words of a query, to mark them in the lines."""
    words = {word for word in parts(query) if len(word) > 1 and word not in STOP_WORDS}
    if not words:
        return None
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True)[:50])), re.IGNORECASE)


def source_lines(lines: Sequence[str], marked: re.Pattern[str] | None, width: int) -> list[str]:
    """Return the lines, safe for a terminal and cut to a width; what matches is coloured on a terminal."""
    shown = [output.cut(output.clean(line.rstrip("\r").replace("\t", TAB)), width) for line in lines]
    if marked is None:
        return shown
    return [marked.sub(lambda found: output.paint(found[0], sys.stdout, **_MATCH), line) for line in shown]
