"""Headings of prose: Markdown, reStructuredText, AsciiDoc, Org, LaTeX, and underlined plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from findspot.chunk.lines import SourceLines

FENCED = ("markdown", "mdx")
"""Languages whose code stands between fences."""

_ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?\s*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"^\s*(?:[-*+>|]\s|\d+[.)]\s|#{1,6}\s|<)")
_UNDERLINE = re.compile(r"^([=\-`:.'\"~^_*+#<>])\1{2,}\s*$")
_MARKED = {
    "asciidoc": re.compile(r"^(={1,6})\s+(\S.*?)\s*$"),
    "org": re.compile(r"^(\*{1,8})\s+(\S.*?)\s*$"),
}
_LATEX = re.compile(r"^\s*\\(part|chapter|section|subsection|subsubsection)\*?\{(.*?)\}")
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at a row; `level` 1 is the outermost."""

    row: int
    level: int
    title: str


def find_headings(lines: SourceLines, language: str, fences: list[tuple[int, int]]) -> list[Heading]:
    """Return the headings of a text in its own notation, none inside a fenced block."""
    if language in FENCED:
        return _markdown(lines, fences)
    if language in _MARKED:
        return _marked(lines, _MARKED[language])
    if language == "latex":
        return _latex(lines)
    return _underlined(lines)


def find_fences(lines: SourceLines, first: int = 0) -> list[tuple[int, int]]:
    """Return rows of fenced code blocks; one that is never closed reaches to the end."""
    fences: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for row in range(first, len(lines)):
        line = lines.lines[row]
        if "```" not in line and "~~~" not in line:
            continue
        found = _FENCE.match(line)
        if not found:
            continue
        if opened is None:
            opened = (row, found[1])
        elif found[1].startswith(opened[1]) and not line.strip().strip(found[1][0]):
            fences.append((opened[0], row))
            opened = None
    if opened is not None:
        fences.append((opened[0], len(lines) - 1))
    return fences


def frontmatter_end(lines: SourceLines) -> int:
    """Return the first row after a YAML (`---`) or TOML (`+++`) frontmatter; 0 where there is none."""
    mark = lines.lines[0].rstrip() if len(lines) else ""
    if mark not in ("---", "+++"):
        return 0
    for row in range(1, len(lines)):
        if lines.lines[row].rstrip() == mark:
            return row + 1
    return 0


def _markdown(lines: SourceLines, fences: list[tuple[int, int]]) -> list[Heading]:
    headings: list[Heading] = []
    hidden = {row for first, last in fences for row in range(first, last + 1)}
    for row in range(frontmatter_end(lines), len(lines)):
        if row in hidden:
            continue
        line = lines.lines[row]
        if line.lstrip(" ")[:1] == "#" and (atx := _ATX.match(line)):
            headings.append(Heading(row, len(atx[1]), (atx[2] or "").strip()))
        elif line.lstrip(" ")[:1] in ("=", "-") and row and _SETEXT.match(line) and row - 1 not in hidden:
            title = lines.lines[row - 1]
            taken = headings and headings[-1].row == row - 1
            if not taken and not lines.blank(row - 1) and not _BLOCK_START.match(title):
                headings.append(Heading(row - 1, 1 if "=" in line else 2, title.strip()))
    return headings


def _underlined(lines: SourceLines) -> list[Heading]:
    """Titles with a line of punctuation below (and perhaps above); levels in order of appearance."""
    headings: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    for row in range(1, len(lines)):
        under = lines.lines[row].rstrip()
        if len(under) < 3 or under[0].isalnum() or not _UNDERLINE.match(under):
            continue
        title = lines.lines[row - 1].rstrip()
        if not title or _UNDERLINE.match(title) or len(under) < len(title.strip()):
            continue
        over = row >= 2 and lines.lines[row - 2].rstrip() == under
        if not over and (title[0].isspace() or (row >= 2 and not lines.blank(row - 2))):
            continue
        style = (under[0], over)
        if style not in styles:
            styles.append(style)
        headings.append(Heading(row - 2 if over else row - 1, styles.index(style) + 1, title.strip()))
    return headings


def _marked(lines: SourceLines, pattern: re.Pattern[str]) -> list[Heading]:
    found = ((row, pattern.match(line)) for row, line in enumerate(lines.lines))
    return [Heading(row, len(match[1]), match[2]) for row, match in found if match]


def _latex(lines: SourceLines) -> list[Heading]:
    found = ((row, _LATEX.match(line)) for row, line in enumerate(lines.lines) if "\\" in line)
    return [Heading(row, _LATEX_LEVELS.index(match[1]) + 1, match[2]) for row, match in found if match]
