"""Search results for people: numbered by rank, with line numbers, in colour, the matched words marked."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from findspot.core.model import NOTHING_FITS, Hit, Results, Strength
from findspot.serve.cli import output
from findspot.serve.search_answers import assistance_lines, related_lines
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
    marked = _query_words(results.query)
    width = len(str(first + len(results.hits) - 1))
    for rank, hit in enumerate(results.hits, first):
        _show_heading(hit, f"{rank:>{width}}")
        if hit.strength is Strength.WEAK and rank > first and not full:
            continue
        _show_lines(hit, marked, full)
        for line in related_lines(hit):
            output.line(output.cut(f"  {line}", output.room(0)), dim=True)
        if hit.why:
            why = ", ".join(f"{name} {value:g}" for name, value in hit.why.items())
            output.line(f"  why: {why}", dim=True)
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


def _show_lines(hit: Hit, marked: re.Pattern[str] | None, full: bool) -> None:
    """Print the lines around the best one; of a file's first lines, which are imports, what it defines."""
    if hit.overview and not full:
        lines = hit.overview.split("\n")
        start, end, numbers = 0, min(len(lines), SHOWN_LINES), [""] * len(lines)
    else:
        lines = hit.text.split("\n")
        best = (hit.focus or hit.span.start) - hit.span.start
        start, end = (0, len(lines)) if full else _window(best, len(lines))
        width = len(str(hit.span.start + end))
        numbers = [f"{hit.span.start + place:>{width}}  " for place in range(len(lines))]
        if best < len(lines) and not full:
            lines[best] = shorten(lines[best], 0, output.room(width + 4), hit.focus_column)
    room = sys.maxsize if full else output.room(len(numbers[start]) + 2)
    for number, line in zip(numbers[start:end], lines[start:end], strict=True):
        shown = output.cut(output.clean(line.rstrip("\r").replace("\t", TAB)), room)
        if marked:
            shown = marked.sub(lambda found: output.paint(found[0], sys.stdout, **_MATCH), shown)
        click.echo(f"  {output.paint(number, sys.stdout, dim=True)}{shown}", color=True)
    if len(lines) > end - start:
        rest = output.count(len(lines) - (end - start), "more line")
        output.line(f"  {' ' * len(numbers[start])}… {rest}", dim=True)


def _window(best: int, count: int) -> tuple[int, int]:
    """Return lines to show: from the first one on if the best is near, else around it."""
    top = 0 if best < SHOWN_LINES else max(0, min(best - SHOWN_LINES // 2, count - SHOWN_LINES))
    return top, min(count, top + SHOWN_LINES)


def _query_words(query: str) -> re.Pattern[str] | None:
    words = {word for word in parts(query) if len(word) > 1 and word not in STOP_WORDS}
    if not words:
        return None
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True)[:50])), re.IGNORECASE)
