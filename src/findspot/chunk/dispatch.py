"""The door of this stage: one file's text in, its chunks out, whatever the text is."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice

from findspot.chunk.data import chunk_data, chunk_notebook
from findspot.chunk.grammars import READ_BYTES, Grammar, ParseTimeoutError, grammar_for
from findspot.chunk.imports import Import, Name, read_import
from findspot.chunk.pieces import Piece, chunk_tags, divide, file_tags
from findspot.chunk.prose import chunk_prose
from findspot.chunk.references import read_references
from findspot.chunk.splitting import (
    CODE_SEPARATORS,
    CODE_WINDOW,
    DOCS_WINDOW,
    MAX_CHARS,
    PIECE_CHARS,
    PROSE_SEPARATORS,
    Draft,
    LineLimits,
    Rows,
    SourceLines,
    Split,
    chunk_characters,
    chunk_plain,
    cut_long_lines,
    span_of,
)
from findspot.chunk.symbols import (
    MAX_DEPTH,
    TYPE_KINDS,
    Definition,
    FileSymbols,
    breadcrumb,
    doc_comment,
    end_row,
    read_symbols,
    signature,
)
from findspot.core.languages import PLAIN, row
from findspot.core.model import Chunk, ChunkedFile, ChunkType, Corpus, Skip, SkipReason, SourceFile

MAX_ENCLOSING_CHARS = 160
MAX_IMPORTS = 12
"""Imports shown in one capsule; more would outweigh the code."""


def capsule(
    text: str, package: str | None, enclosing: list[Definition], source: bytes, used: list[Name]
) -> str:
    """Package, enclosing definitions (outermost first) and the imports of used names, a line each."""
    parts = [f"package {package}"] if package else []
    for definition in reversed(enclosing[:MAX_DEPTH]):
        if definition.scope:
            parts.append(definition.scope)
        parts.append(signature(definition, source)[:MAX_ENCLOSING_CHARS])
    statements: dict[int, tuple[Import, list[str]]] = {}  # by their ids: hashes of texts take longer
    for name, statement in used:
        statements.setdefault(id(statement), (statement, []))[1].append(name)
    shown = [statement.shown(found) for statement, found in statements.values() if statement.text not in text]
    return "\n".join([*parts, *shown[:MAX_IMPORTS]])


def used_names(names: list[Name], parts: list[Rows], lines: SourceLines) -> list[list[Name]]:
    """Return for each part of a file, in text order, the imported names that occur in it as words."""
    text, used = lines.text, [list[Name]() for _ in parts]
    starts = [lines.starts[first] for first, _ in parts]
    ends = [lines.starts[last + 1] - 1 for _, last in parts]
    for pair in names:
        name = pair[0]
        size = len(name)
        at = text.find(name)
        while at >= 0:
            end = at + size
            before, after = text[at - 1 : at], text[end : end + 1]
            if before.isalnum() or before == "_" or after.isalnum() or after == "_":
                at = text.find(name, end)
                continue
            place = bisect_right(starts, at)
            if place and at < ends[place - 1]:
                used[place - 1].append(pair)
            at = text.find(name, starts[place]) if place < len(starts) else -1
    return used


MAX_OUTLINE_CHARS = 4_000

_GROUPS = (
    ("Types", TYPE_KINDS | {"module"}),
    ("Functions", frozenset({"function", "method", "macro", "test", "constructor", "property"})),
    ("Constants", frozenset({"constant", "variable"})),
)


def outline(symbols: FileSymbols) -> str | None:
    """Return the outline's text; None for a file that defines nothing."""
    if not symbols.definitions:
        return None
    parts = [f"Package: {symbols.package}\n"] if symbols.package else []
    count = len(symbols.imports)
    if count:
        parts.append(f"Imports: {count} {'package' if count == 1 else 'packages'}\n")
    for title, kinds in _GROUPS:
        rows = [_row(definition) for definition in symbols.definitions if definition.kind in kinds]
        if rows:
            parts.append("\n".join([f"{title}:", *rows]) + "\n")
    text = "\n".join(parts).rstrip()
    if len(text) <= MAX_OUTLINE_CHARS:
        return text or None
    kept = text[: MAX_OUTLINE_CHARS - 40].rsplit("\n", 1)[0]
    return f"{kept}\n  … {text.count(chr(10)) - kept.count(chr(10))} more"


def _row(definition: Definition) -> str:
    first, last = definition.row + 1, definition.last + 1
    where = f"line {first}" if first >= last else f"lines {first}-{last}"
    name = breadcrumb(definition).replace(" > ", ".")
    return f"  - {name} ({definition.kind}) ({where})"


MAX_CHUNKS = 1_000
"""S0's limit of chunks a file."""

BLOB_LINE_CHARS = 2_000
"""Lines longer than this on average hold data or minified code."""

_UNPARSED_DETAIL = "cut as plain text: parsing it did not end in time, or crashed"

_CPP = re.compile(
    r"^[ \t]*(?:namespace\s+\w|template\s*<|class\s+\w+|public:|private:|using\s+\w)", re.MULTILINE
)
"""What only a C++ header says; the suffix `.h` says nothing."""

SYNTAX = "syntax"
CHARACTER = "character"
UNPARSED = "unparsed"
"""Not a setting: like `syntax`, but no parser is started."""
MINIFIED = "minified"
"""Not a setting: what stands first, where a licence or a title may be; names such as `t` would mislead."""


def chunk_file(file: SourceFile, text: str, strategy: str = SYNTAX) -> ChunkedFile:
    """Split one file; text that no parser can read is split plainly, and nothing is raised."""
    lines = SourceLines(text)
    if lines.trim(0, len(lines) - 1) is None:
        return ChunkedFile(())
    split = _split(file, lines, strategy)
    drafts = cut_long_lines(split.drafts, lines, _line_limits(file, strategy))
    kept, skip = _limited(file, drafts, lines)
    if strategy == MINIFIED and len(drafts) > 1:
        kept, skip = drafts[:1], Skip(file.path, SkipReason.MINIFIED, "only its beginning is indexed")
    if strategy == UNPARSED and row(file.language).grammar:
        skip = skip or Skip(file.path, SkipReason.WORKER_TIMEOUT, _UNPARSED_DETAIL)
    language, default = row(file.language), ChunkType.DEFINITIONS
    if file.corpus is Corpus.DOCS or (language.docs and language.name != PLAIN):
        default = ChunkType.DOCUMENTATION
    elif language.data:
        default = ChunkType.DATA
    shared = file_tags(file, lines)
    chunks = (_chunk(draft, file, lines, default, shared) for draft in kept)
    return ChunkedFile(tuple(chunk for chunk in chunks if chunk is not None), skip, split.facts)


def _split(file: SourceFile, lines: SourceLines, strategy: str) -> Split:
    if strategy == MINIFIED:
        return Split(chunk_plain(lines))
    if strategy == CHARACTER:
        window = DOCS_WINDOW if file.corpus is Corpus.DOCS else CODE_WINDOW
        return Split(chunk_characters(lines, *window))
    try:
        split = split_by_language(file, lines, parse=strategy != UNPARSED)
    except Exception:  # noqa: BLE001  a file is never lost to a parser: invariant 3
        split = None
    return split or Split(chunk_plain(lines))


def _line_limits(file: SourceFile, strategy: str) -> LineLimits:
    """Return when lines of a file are cut, and where: S0's sizes and separators for its own splitter."""
    is_docs = file.corpus is Corpus.DOCS
    separators = PROSE_SEPARATORS if is_docs or row(file.language).docs else CODE_SEPARATORS
    if strategy == CHARACTER:
        size, _ = DOCS_WINDOW if is_docs else CODE_WINDOW
        return LineLimits(size, size, separators)
    return LineLimits(MAX_CHARS, PIECE_CHARS, separators)


def split_by_language(file: SourceFile, lines: SourceLines, *, parse: bool = True) -> Split | None:
    """Return what the splitter that knows the language gives; None where only plain text is left."""
    language = row(file.language)
    if language.name == "notebook":
        cells = chunk_notebook(lines)
        return None if cells is None else Split(cells)
    if language.docs and (file.corpus is Corpus.DOCS or language.name != PLAIN):
        return Split(chunk_prose(lines, language.name))
    if language.data:
        return Split(chunk_data(lines, language.name))
    # A text with too few lines for its size is not worth a parse: its lines are cut anyway.
    is_blob = len(lines.text) > max(READ_BYTES, BLOB_LINE_CHARS * len(lines))
    if is_blob or not parse:
        return None
    name = "cpp" if file.path.endswith(".h") and _CPP.search(lines.text) else language.name
    grammar = grammar_for(name)
    try:
        return chunk_code(lines, grammar, file.path) if grammar else None
    except ParseTimeoutError:
        return None


def _limited(file: SourceFile, drafts: list[Draft], lines: SourceLines) -> tuple[list[Draft], Skip | None]:
    """Return the drafts up to the limit, the outline always among them, and what was left out."""
    if len(drafts) <= MAX_CHUNKS:
        return drafts, None
    outlines = [draft for draft in drafts if draft.text is not None]
    kept = drafts[: MAX_CHUNKS - len(outlines)]
    left = len(lines) - 1 - kept[-1].last
    what = f"the last {left:,} of {len(lines):,} lines were" if left else "the end of the last line was"
    detail = f"more than {MAX_CHUNKS:,} chunks: {what} left out"
    return [*kept, *outlines], Skip(file.path, SkipReason.CHUNK_LIMIT, detail)


def _chunk(
    draft: Draft, file: SourceFile, lines: SourceLines, default: ChunkType, shared: tuple[str, ...]
) -> Chunk | None:
    """Return a chunk without blank edges; None for a draft of nothing but blanks."""
    rows = lines.trim(draft.first, draft.last)
    if rows is None:
        return None
    is_docs = default is ChunkType.DOCUMENTATION
    chunk_type = default if is_docs else draft.chunk_type or default
    language = draft.language or file.language
    text = draft.text or lines.slice(*rows, draft.start_column, draft.end_column)
    if text.isspace():  # a long line may hold a run of blanks that fills a piece
        return None
    return Chunk(
        path=file.path,
        span=span_of(*rows),
        text=text,
        chunk_type=chunk_type,
        kind=draft.kind,
        language=language,
        symbols=draft.symbols,
        signature=draft.signature,
        breadcrumb=draft.breadcrumb,
        doc_comment=draft.doc_comment,
        tags=chunk_tags(shared, language, chunk_type, text if is_docs else None),
        context=draft.context,
    )


@dataclass(frozen=True, slots=True)
class _File:
    lines: SourceLines
    source: bytes
    symbols: FileSymbols
    import_rows: set[int]


def chunk_code(lines: SourceLines, grammar: Grammar, path: str) -> Split:
    """Return the drafts of a source file, the last its outline, where it defines something; and its facts."""
    source = lines.text.encode("utf-8", "surrogatepass")
    root = grammar.parse(source).root_node
    definitions, references = grammar.matches(root)
    symbols = read_symbols(grammar, definitions, source, lines)
    imports = [read_import(grammar.language, node, source, path) for node in symbols.imports]
    same: dict[Import, Import] = {}
    names = [(name, same.setdefault(each, each)) for each in imports for name in each.names]
    import_rows = {row for node in symbols.imports for row in range(node.start_point[0], end_row(node) + 1)}
    file = _File(lines, source, symbols, import_rows)
    pieces = divide(root, symbols, lines)
    used = used_names(names, [(piece.first, piece.last) for piece in pieces], lines)
    drafts = [_draft(piece, file, uses) for piece, uses in zip(pieces, used, strict=True)]
    overview = outline(symbols)
    if overview:
        drafts.append(Draft(0, len(lines) - 1, kind="outline", chunk_type=ChunkType.SYMBOLS, text=overview))
    facts = read_references(grammar, references, source, symbols, path)
    symbols.release()
    return Split(drafts, facts)


def _draft(piece: Piece, file: _File, used: list[Name]) -> Draft:
    # A piece is about the largest of the definitions that are named in it, the first of equals.
    main = max(piece.definitions, key=lambda item: item.end_byte - item.start_byte, default=None)
    start = main or piece.container
    enclosing = list(islice(start.enclosing(), MAX_DEPTH)) if start is not None else []
    if main is None and start is not None:  # what a piece shows itself is left out
        enclosing.insert(0, start)
    draft = Draft(piece.first, piece.last)
    text = file.lines.slice(piece.first, piece.last) if used else ""
    draft.context = capsule(text, file.symbols.package, enclosing, file.source, used)
    if main is None:
        draft.breadcrumb = breadcrumb(piece.container) if piece.container else None
        if piece.last in file.import_rows:
            draft.kind = "import"
        return draft
    draft.kind = main.kind
    draft.symbols = tuple([definition.symbol for definition in piece.definitions])
    draft.signature = signature(main, file.source)
    draft.breadcrumb = breadcrumb(main)
    draft.doc_comment = doc_comment(main, file.source, file.lines)
    if main.kind == "constant" and all(each.kind == "constant" for each in piece.definitions):
        draft.chunk_type = ChunkType.DATA
    return draft
