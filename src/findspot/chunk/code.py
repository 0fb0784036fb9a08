"""Code into drafts: one parse, one query, then pieces that know what they define."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from findspot.chunk.capsule import MAX_DEPTH, breadcrumb, capsule, doc_comment, outline, signature
from findspot.chunk.grammars import Grammar
from findspot.chunk.imports import Name, read_import
from findspot.chunk.pieces import Piece, divide
from findspot.chunk.references import read_references
from findspot.chunk.splitting import Draft, SourceLines, Split
from findspot.chunk.symbols import Definition, FileSymbols, end_row, read_symbols
from findspot.core.model import ChunkType


@dataclass(frozen=True, slots=True)
class _File:
    """What the pieces of one file share."""

    lines: SourceLines
    source: bytes
    symbols: FileSymbols
    names: list[Name]
    import_rows: set[int]


def chunk_code(lines: SourceLines, grammar: Grammar, path: str) -> Split:
    """Return the drafts of a source file, the last its outline, where it defines something; and its facts."""
    source = lines.text.encode("utf-8", "surrogatepass")
    root = grammar.parse(source).root_node
    symbols = read_symbols(grammar, root, source, lines)
    imports = [read_import(grammar.language, node, source, path) for node in symbols.imports]
    names = [(name, statement) for statement in imports for name in statement.names]
    import_rows = {row for node in symbols.imports for row in range(node.start_point[0], end_row(node) + 1)}
    file = _File(lines, source, symbols, names, import_rows)
    drafts = [_draft(piece, file) for piece in divide(root, symbols, lines)]
    overview = outline(symbols)
    if overview:
        drafts.append(_outline_draft(overview, lines))
    facts = read_references(grammar, root, source, symbols, path)
    symbols.release()
    return Split(drafts, facts)


def _draft(piece: Piece, file: _File) -> Draft:
    main = _main(piece.definitions)
    enclosing = _enclosing(main, piece.container)
    draft = Draft(piece.first, piece.last)
    draft.context = capsule(
        file.lines.slice(piece.first, piece.last), file.symbols.package, enclosing, file.source, file.names
    )
    if main is None:
        draft.breadcrumb = breadcrumb(piece.container) if piece.container else None
        if piece.last in file.import_rows:
            draft.kind = "import"
        return draft
    draft.kind = main.kind
    draft.symbols = tuple(definition.symbol for definition in piece.definitions)
    draft.signature = signature(main, file.source)
    draft.breadcrumb = breadcrumb(main)
    draft.doc_comment = doc_comment(main, file.source, file.lines)
    if all(definition.kind == "constant" for definition in piece.definitions):
        draft.chunk_type = ChunkType.DATA
    return draft


def _main(definitions: list[Definition]) -> Definition | None:
    """Return the definition a piece is about: the largest of those named in it, the first of equals."""
    return max(definitions, key=lambda item: item.end_byte - item.start_byte, default=None)


def _enclosing(main: Definition | None, container: Definition | None) -> list[Definition]:
    """Return the definitions around a piece, nearest first; those it shows itself left out."""
    start = main if main is not None else container
    if start is None:
        return []
    around = list(islice(start.enclosing(), MAX_DEPTH))
    return around if main is not None else [start, *around]


def _outline_draft(text: str, lines: SourceLines) -> Draft:
    return Draft(0, len(lines) - 1, kind="outline", chunk_type=ChunkType.SYMBOLS, text=text)
