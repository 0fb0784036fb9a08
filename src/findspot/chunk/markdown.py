"""Prose by its headings: a section a chunk, large ones cut at paragraphs, fences kept whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from findspot.chunk.cuts import MAX_CHARS, Rows, pack
from findspot.chunk.draft import Draft
from findspot.chunk.headings import FENCED, Heading, find_fences, find_headings, frontmatter_end
from findspot.chunk.lines import SourceLines
from findspot.chunk.plain import paragraphs

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
    fences = find_fences(lines, frontmatter_end(lines)) if language in FENCED else []
    headings = find_headings(lines, language, fences)
    drafts: list[Draft] = []
    for section in _joined(_sections(lines, headings), lines):
        breadcrumb = " > ".join(section.path) or None
        for first, last in _rows(section, fences, lines):
            drafts.append(Draft(first, last, kind="section", breadcrumb=breadcrumb))
    return drafts


def _sections(lines: SourceLines, headings: list[Heading]) -> list[_Section]:
    """Return one section a heading, from its row to the next; what stands before the first has no path."""
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
    for first, last in fences:
        if first < row or first > section.last:
            continue
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
