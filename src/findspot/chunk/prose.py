"""Split prose by its headings: one chunk per section, large ones cut at paragraphs, fences kept whole."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from findspot.chunk.splitting import MAX_CHARS, Draft, Rows, SourceLines, pack, paragraphs

_FENCED = ("markdown", "mdx")
"""Languages whose code stands between fences."""

_ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT_MARKS = frozenset("=-")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"^\s*(?:[-*+>|]\s|\d+[.)]\s|#{1,6}\s|<)")
_UNDERLINE = re.compile(r"^([=\-`:.'\"~^_*+#<>])\1{2,}\s*$")
_MARKED = {
    "asciidoc": re.compile(r"^(={1,6})\s+(\S.*)$"),
    "rdoc": re.compile(r"^(={1,6})(?!=)\s*(\S.*)$"),
    "org": re.compile(r"^(\*{1,8})\s+(\S.*)$"),
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
    if language in _FENCED:
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
        line = lines.lines[row] if row not in hidden else ""
        begins = line.lstrip(" ")[:1]
        if begins == "#" and (atx := _ATX.match(line.rstrip())):
            headings.append(Heading(row, len(atx[1]), _without_closing_marks(atx[2] or "")))
        elif begins in _SETEXT_MARKS and row and _SETEXT.match(line) and row - 1 not in hidden:
            title, level = lines.lines[row - 1], 1 if begins == "=" else 2
            taken = headings[-1:] and headings[-1].row == row - 1
            if title.strip() and not taken and not _BLOCK_START.match(title):
                headings.append(Heading(row - 1, level, title.strip()))
    return headings


def _without_closing_marks(title: str) -> str:
    """Return a Markdown title without the `#` that may follow it, after a blank."""
    bare = title.rstrip("#")
    return (bare if bare[-1:] in ("", " ", "\t") else title).strip()


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
    found = ((row, pattern.match(line.rstrip())) for row, line in enumerate(lines.lines))
    return [Heading(row, len(match[1]), match[2]) for row, match in found if match]


def _latex(lines: SourceLines) -> list[Heading]:
    found = ((row, _LATEX.match(line)) for row, line in enumerate(lines.lines) if "\\" in line)
    return [Heading(row, _LATEX_LEVELS.index(match[1]) + 1, match[2]) for row, match in found if match]


SECTION_CHARS = 1_500
"""A section up to this size is one chunk."""

DOC_MAX_CHARS = 8_000
"""S0's size of a documentation chunk: only a fenced block may come near it."""

SMALL_CHARS = 200
"""A section no larger than this (often a bare title) is joined to what it introduces."""


@dataclass(slots=True)
class _Section:
    first: int
    last: int
    level: int
    path: tuple[str, ...]


def chunk_prose(lines: SourceLines, language: str) -> list[Draft]:
    """Return the sections of a document, each with its heading path as breadcrumb."""
    fences = find_fences(lines, frontmatter_end(lines)) if language in _FENCED else []
    headings = find_headings(lines, language, fences)
    drafts: list[Draft] = []
    for section in _joined(_sections(lines, headings), lines):
        breadcrumb = " > ".join(section.path) or None
        for first, last in _rows(section, fences, lines):
            drafts.append(Draft(first, last, kind="section", breadcrumb=breadcrumb))
    return drafts


def _sections(lines: SourceLines, headings: list[Heading]) -> list[_Section]:
    """Return one section per heading, up to the next; text before the first heading has no path."""
    sections: list[_Section] = []
    path: list[tuple[int, str]] = []
    starts = [heading.row for heading in headings]
    if not starts or starts[0] > 0:
        sections.append(_Section(0, (starts[0] if starts else len(lines)) - 1, 0, ()))
    for heading, (_, after) in zip(headings, pairwise([*starts, len(lines)]), strict=True):
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.title))
        titles = tuple(title for _, title in path if title)
        sections.append(_Section(heading.row, after - 1, heading.level, titles))
    return [section for section in sections if section.first <= section.last]


def _joined(sections: list[_Section], lines: SourceLines) -> list[_Section]:
    """Small sections joined to the deeper or equal one that follows them."""
    joined: list[_Section] = []
    for section in sections:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.level <= section.level
            and lines.size(before.first, before.last) <= SMALL_CHARS
            and lines.size(before.first, section.last) <= SECTION_CHARS
        ):
            before.last = section.last
            before.path = before.path or section.path
        else:
            joined.append(section)
    return joined


def _rows(section: _Section, fences: list[Rows], lines: SourceLines) -> list[Rows]:
    """Return a section whole, or cut at paragraphs outside of fences."""
    if lines.size(section.first, section.last) <= SECTION_CHARS:
        return [(section.first, section.last)]
    units: list[Rows] = []
    row = section.first
    for first, last in fences[bisect_left(fences, (section.first, 0)) :]:
        if first > section.last:
            break
        units.extend(_prose_units(row, first - 1, lines))
        units.append((first, min(last, section.last)))
        row = min(last, section.last) + 1
    units.extend(_prose_units(row, section.last, lines))
    return pack(units, lines, SECTION_CHARS, DOC_MAX_CHARS)


def _prose_units(first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Paragraphs, those larger than a chunk (long lists) in groups of lines."""
    return [
        part for unit in paragraphs(first, last, lines) for part in pack([unit], lines, MAX_CHARS, MAX_CHARS)
    ]
