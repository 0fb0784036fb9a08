"""Source lines in colour for a terminal: syntax, and the words of a query standing out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from findspot.serve.cli import output

TAB = "    "

_STYLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Comment", {"fg": "bright_black"}),
    ("Literal.String", {"fg": "green"}),
    ("Literal.Number", {"fg": "magenta"}),
    ("Keyword", {"fg": "blue"}),
    ("Name.Function", {"fg": "cyan"}),
    ("Name.Class", {"fg": "cyan"}),
    ("Name.Decorator", {"fg": "magenta"}),
)
"""Kinds of token, as pygments names them, that have a colour; few, so that the matches stand out."""

_MATCH = {"fg": "yellow", "bold": True}


def source_lines(
    lines: Sequence[str], language: str, marked: re.Pattern[str] | None, width: int | None = None
) -> list[str]:
    """Return the lines, safe for a terminal, coloured where it wants colours, cut to a width."""
    safe = [output.clean(line.rstrip("\r").replace("\t", TAB)) for line in lines]
    shown = [_shortened(line, width) for line in safe]
    if not output.wants_colour(sys.stdout):
        return shown
    styles = _syntax(safe, language)  # of whole lines: a string that is cut would seem to go on
    return [
        "".join(_painted(line, spans[: len(line)], marked)) for line, spans in zip(shown, styles, strict=True)
    ]


def _shortened(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else line[: max(1, width - 1)] + "…"


def _painted(line: str, styles: list[dict[str, Any]], marked: re.Pattern[str] | None) -> Iterator[str]:
    """Neighbouring characters of one style, painted together."""
    for found in marked.finditer(line) if marked else ():
        styles[found.start() : found.end()] = [_MATCH] * (found.end() - found.start())
    start = 0
    for place in range(1, len(line) + 1):
        if place == len(line) or styles[place] is not styles[start]:
            yield output.paint(line[start:place], sys.stdout, **styles[start])
            start = place


def _syntax(lines: Sequence[str], language: str) -> list[list[dict[str, Any]]]:
    """Return the style of every character; plain where the language is not known."""
    plain: dict[str, Any] = {}
    styles = [[plain] * len(line) for line in lines]
    lexer = _lexer(language)
    if lexer is None:
        return styles
    row = column = 0
    for kind, text in lexer.get_tokens("\n".join(lines)):
        style = _style(str(kind)) or plain
        for number, part in enumerate(text.split("\n")):
            if number:
                row, column = row + 1, 0
            if row < len(styles):
                end = min(column + len(part), len(styles[row]))
                styles[row][column:end] = [style] * max(0, end - column)
                column += len(part)
    return styles


@cache
def _style(kind: str) -> dict[str, Any] | None:
    return next((style for name, style in _STYLES if kind.startswith(f"Token.{name}")), None)


@cache
def _lexer(language: str) -> Any:
    """Return what reads a language; a missing or unknown one costs only the colours."""
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
