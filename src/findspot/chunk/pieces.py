"""A file of code divided into pieces: whole definitions where they fit, packed or cut where not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from findspot.chunk.prose import frontmatter_end
from findspot.chunk.splitting import MAX_CHARS, TARGET_CHARS, SourceLines, cut
from findspot.chunk.symbols import CONTAINER_KINDS, Definition, FileSymbols
from findspot.core.model import ChunkType, Corpus, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

ALONE_CHARS = 300
"""A definition of this size is a chunk of its own; smaller neighbours share one."""

CLOSING_CHARS = 40
"""What follows the last definition of a container and is no longer is its closing line."""

BARE_CHARS = 100
"""A header or remark no longer than this says too little alone: it joins what follows."""


@dataclass(slots=True)
class Piece:
    """Rows `first..last` inside `container` (None for the file), with the definitions named there."""

    first: int
    last: int
    container: Definition | None = None
    definitions: list[Definition] = field(default_factory=list)
    alone: bool = False
    """Whether it shares its chunk with no neighbour."""
    defines: bool = False
    """Whether a definition is in it, rather than what stands between them."""


@dataclass(slots=True)
class _Region:
    """Rows still to be divided: the file, or a definition too large for one chunk."""

    first: int
    last: int
    node: Node
    children: list[Definition]
    container: Definition | None = None


@dataclass(slots=True)
class _Segment:
    """Rows of a region: some of its definitions, or what stands between them."""

    first: int
    last: int
    definitions: list[Definition]


def divide(root: Node, symbols: FileSymbols, lines: SourceLines) -> list[Piece]:
    """Return the pieces of a file in text order; together they hold every line that is not blank."""
    pieces: list[Piece] = []
    tops = [definition for definition in symbols.definitions if definition.parent is None]
    todo: list[Piece | _Region] = [_Region(0, len(lines) - 1, root, tops)]
    while todo:  # a work list, not recursion: nesting may be 10,000 levels deep
        part = todo.pop()
        if isinstance(part, Piece):
            pieces.append(part)
        else:
            todo.extend(reversed(_parts(part, lines)))
    _place(symbols.definitions, pieces)
    return pieces


def _parts(region: _Region, lines: SourceLines) -> list[Piece | _Region]:
    """Return one region divided once: small neighbours packed, large definitions left as regions."""
    parts: list[Piece | _Region] = []
    for segment in _segments(region, lines):
        for part in _settle(segment, region, lines):
            before = parts[-1] if parts else None
            if isinstance(part, Piece) and isinstance(before, Piece) and _joins(before, part, lines):
                before.last = part.last
                before.alone = part.alone
                before.defines = before.defines or part.defines
            else:
                parts.append(part)
    return _without_remarks(parts, lines)


def _without_remarks(parts: list[Piece | _Region], lines: SourceLines) -> list[Piece | _Region]:
    """Headers and remarks too short for a chunk given to the region after or the part before them."""
    kept: list[Piece | _Region] = []
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        before = kept[-1] if kept else None
        if isinstance(part, _Region) or part.defines or lines.size(part.first, part.last) > BARE_CHARS:
            kept.append(part)
        elif isinstance(after, _Region):
            after.first = part.first
        elif isinstance(before, _Region) or (
            before is not None and lines.size(before.first, part.last) <= MAX_CHARS
        ):
            before.last = part.last
        else:
            kept.append(part)
    return kept


def _segments(region: _Region, lines: SourceLines) -> list[_Segment]:
    """Return the definitions of a region and the rows between them, blank edges left out."""
    segments: list[_Segment] = []
    row = region.first
    for child in region.children:
        first, last = max(child.first, region.first), min(child.last, region.last)
        if segments and first < row and segments[-1].definitions:  # they share a row
            segments[-1].definitions.append(child)
            segments[-1].last = max(segments[-1].last, last)
        else:
            if gap := lines.trim(row, first - 1):
                segments.append(_Segment(*gap, []))
            segments.append(_Segment(max(first, row), max(last, first, row), [child]))
        row = segments[-1].last + 1
    rest = lines.trim(row, region.last)
    if rest and region.container and segments and lines.size(*rest) <= CLOSING_CHARS:
        segments[-1].last = rest[1]  # a closing line belongs to the piece of the last definition
    elif rest:
        segments.append(_Segment(*rest, []))
    return segments


def _settle(segment: _Segment, region: _Region, lines: SourceLines) -> list[Piece | _Region]:
    """Return a segment as one piece, as several, or as a region to divide further."""
    first, last = segment.first, segment.last
    size = lines.size(first, last)
    only = segment.definitions[0] if len(segment.definitions) == 1 else None
    inner = only is not None and any(child.kind in CONTAINER_KINDS for child in only.children)
    if size <= (TARGET_CHARS if inner else MAX_CHARS) or first == last:
        defines = bool(segment.definitions)
        return [Piece(first, last, region.container, alone=defines and size > ALONE_CHARS, defines=defines)]
    if inner and only is not None:
        return [_Region(first, last, only.node, only.children, only)]
    node, container = (only.node, only) if only else (region.node, region.container)
    whole = only is not None
    return [Piece(*rows, container, alone=whole, defines=whole) for rows in cut(node, first, last, lines)]


def _joins(before: Piece, piece: Piece, lines: SourceLines) -> bool:
    if before.alone:
        return False
    if not piece.alone:
        return lines.size(before.first, piece.last) <= TARGET_CHARS
    bare = lines.size(before.first, before.last) <= BARE_CHARS
    return bare and lines.size(before.first, piece.last) <= MAX_CHARS


def _place(definitions: list[Definition], pieces: list[Piece]) -> None:
    ordered = sorted(definitions, key=lambda definition: definition.row)
    index = 0
    for definition in ordered:
        while index < len(pieces) - 1 and pieces[index].last < definition.row:
            index += 1
        if pieces and pieces[index].first <= definition.row <= pieces[index].last:
            pieces[index].definitions.append(definition)


MAX_TAGS = 24
HEAD_ROWS = 12
"""Where a file says that it is generated."""

_GENERATED = re.compile(
    r"@generated|DO NOT EDIT|do not edit|[Aa]uto-?generated|Code generated by|Generated by"
)
_TEST_PART = re.compile(r"^(?:tests?|testing|specs?|__tests__|e2e|testdata)$", re.IGNORECASE)
_TEST_NAME = re.compile(
    r"^(?:test_.*|conftest\.py|.*[._-](?:test|tests|spec|specs)\.[^.]+|.*(?:Test|Tests|Spec|IT)\.[^.]+)$"
)
_HASHTAG = re.compile(r"(?:^|(?<=\s))#([A-Za-z][\w-]{1,40})(?=[\s.,;:!?)]|$)")
_CODE_BLOCK = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"[0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8}")
_DIRECTIVES = frozenset(
    {"include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma", "error"}
    | {"warning", "line", "region", "endregion", "import"}
)
"""Words after a `#` that a preprocessor reads."""

_LIST = re.compile(r"^(?:tags|keywords|categories)\s*[:=]\s*(.*)$", re.IGNORECASE)
_ITEM = re.compile(r"^\s*-\s+(.+)$")
_WORD = re.compile(r"[^\s,\[\]\"'](?:[^,\[\]\"']*[^\s,\[\]\"'])?")


def file_tags(file: SourceFile, lines: SourceLines) -> tuple[str, ...]:
    """Return the tags that all chunks of a file share, language and chunk type apart."""
    *folders, _ = file.path.split("/")
    tags = [part.lower() for part in folders]
    if is_test_path(file.path):
        tags.append("test")
    if _GENERATED.search("\n".join(lines.lines[:HEAD_ROWS])[:2_000]):
        tags.append("generated")
    if file.corpus is Corpus.DOCS:
        tags.extend(frontmatter_tags(lines))
    return tuple(tags)


def chunk_tags(
    shared: tuple[str, ...], language: str, chunk_type: ChunkType, prose: str | None = None
) -> tuple[str, ...]:
    """Return the tags of one chunk: its corpus, language and type first, each tag once.

    `prose` is the text of a chunk of documentation; in its fenced code `#` begins no hashtag.
    """
    corpus = "code" if prose is None else "documentation"
    own = hashtags(_CODE_BLOCK.sub("", prose)) if prose and "#" in prose else ()
    tags = dict.fromkeys((corpus, language, chunk_type.value, *shared, *own))
    return tuple(tags)[:MAX_TAGS]


def hashtags(text: str) -> list[str]:
    """Return the hashtags of a text, lower-cased; colours and what a preprocessor reads are none."""
    tags = []
    for tag in map(str.lower, _HASHTAG.findall(text)):
        is_word = tag.isalpha() and len(tag) > 3 and len(set(tag)) > 3  # such as `facade`
        if tag not in _DIRECTIVES and (is_word or not _COLOUR.fullmatch(tag)):
            tags.append(tag)
    return tags


def is_test_path(path: str) -> bool:
    """Return whether a path looks like one of tests."""
    *folders, name = path.split("/")
    return any(_TEST_PART.match(part) for part in folders) or bool(_TEST_NAME.match(name))


def frontmatter_tags(lines: SourceLines) -> list[str]:
    """Return the tags that a document's frontmatter lists, on one line or as items."""
    tags: list[str] = []
    listing = False
    for line in lines.lines[1 : max(1, frontmatter_end(lines) - 1)]:
        found = _LIST.match(line.rstrip())
        item = _ITEM.match(line.rstrip()) if listing else None
        if found:
            tags.extend(_WORD.findall(found[1]))
            listing = not found[1]
        elif item:
            tags.extend(_WORD.findall(item[1]))
        else:
            listing = False
    return [tag.lower() for tag in tags]
