"""File revisions read back from the database as they were put in: for other stores and for copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from findspot.core.facts import names_of, unpack
from findspot.core.model import Chunk, ChunkType, Corpus, SourceFile, Span, Symbol
from findspot.core.sqlite import Connection
from findspot.store.records import ChunkRecord, FileRecord, StoredFile, chunk_range
from findspot.text.chunk_text import keyword_text

_CHUNKS = (
    "SELECT id, start_line, end_line, chunk_type, kind, language, text, symbols, signature, breadcrumb, "
    "doc_comment, tags, context, key, scale, vector FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id"
)
_SYMBOLS = "SELECT chunk_id, display, kind, line FROM symbols WHERE chunk_id BETWEEN ? AND ?"


def file_record(db: Connection, file: StoredFile) -> FileRecord:
    """Return a file revision with everything that was stored of it."""
    named: dict[int, list[Symbol]] = defaultdict(list)
    for number, display, kind, line in db.execute(_SYMBOLS, chunk_range(file.id)):
        named[number].append(Symbol(display, kind, line))
    found = db.execute(_CHUNKS, chunk_range(file.id))
    chunks = tuple(_chunk_record(file.path, row, named[row[0]]) for row in found)
    facts = db.execute("SELECT data FROM facts WHERE file_id = ?", (file.id,)).fetchone()
    return revision(file, chunks, facts[0] if facts else None)


def revision(file: StoredFile, chunks: tuple[ChunkRecord, ...], facts: bytes | None) -> FileRecord:
    """Return a file revision put together from what two tables hold of it."""
    names = names_of(unpack(facts)) if facts else ()
    return FileRecord(source_of(file), file.sha256, chunks, facts, names)


def source_of(file: StoredFile) -> SourceFile:
    return SourceFile(file.path, Corpus(file.corpus), file.language, *file.stamp)


def _chunk_record(path: str, row: tuple[Any, ...], named: list[Symbol]) -> ChunkRecord:
    _, start, end, chunk_type, kind, language, text, names, *described, tags, context, key, scale, vector = (
        row
    )
    signature, breadcrumb, doc_comment = described
    chunk = Chunk(
        path, Span(start, end), text, ChunkType(chunk_type), kind, language,
        _in_order(names, named), signature, breadcrumb, doc_comment,
        tuple(tags.split("\n")) if tags else (), context,
    )  # fmt: skip
    by_words = chunk.chunk_type is not ChunkType.SYMBOLS
    keywords = keyword_text(path, breadcrumb, context, text) if by_words else ""
    return ChunkRecord(chunk, keywords, key, scale, vector)


def _in_order(names: str, named: list[Symbol]) -> tuple[Symbol, ...]:
    """Return the symbols in the order in which the chunk names them; one named twice at a line was kept
    once.
    """
    left: dict[str, list[Symbol]] = defaultdict(list)
    for symbol in named:
        left[symbol.name].append(symbol)
    listed = names.split("\n") if names else []
    return tuple(left[name].pop(0) if len(left[name]) > 1 else left[name][0] for name in listed)


def skip_rows(db: Connection) -> list[tuple[Any, ...]]:
    """Return every skip, as it is stored."""
    return db.execute("SELECT path, reason, detail, size, mtime_ns FROM skips ORDER BY path").fetchall()


def replace_skips(db: Connection, skips: Iterable[tuple[Any, ...]]) -> None:
    db.execute("DELETE FROM skips")
    db.executemany("INSERT INTO skips (path, reason, detail, size, mtime_ns) VALUES (?,?,?,?,?)", skips)


def files_above(db: Connection, last: int) -> list[StoredFile]:
    """Return the revisions that were numbered after one."""
    columns = ", ".join(StoredFile._fields)
    return list(
        map(StoredFile._make, db.execute(f"SELECT {columns} FROM files WHERE id > ? ORDER BY id", (last,)))
    )


def number_from(db: Connection, last: int) -> None:
    """See to it that no number up to this one is given again."""
    if not db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'files'", (last,)).rowcount:
        db.execute("INSERT INTO sqlite_sequence VALUES ('files', ?)", (last,))


def describe_file(db: Connection, file: StoredFile) -> None:
    """Bring size and time of writing of a revision up to date."""
    db.execute("UPDATE files SET size = ?, mtime_ns = ? WHERE id = ?", (file.size, file.mtime_ns, file.id))
