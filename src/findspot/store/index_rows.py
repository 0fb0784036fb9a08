"""The rows of the index's tables: files, chunks, symbols, facts and skips."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from findspot.core.facts import Facts, names_of, unpack
from findspot.core.model import ChunkType, Skip, SkipReason, SourceFile, Stamp
from findspot.core.sqlite import MAX_PARAMETERS, Connection
from findspot.store.records import (
    ORDINAL_BITS,
    OUTLINE_ORDINAL,
    ChunkRecord,
    Definition,
    EmbeddedFields,
    FileRecord,
    StoredChunk,
    StoredFile,
    chunk_number,
    chunk_range,
)
from findspot.text.chunk_text import keyword_text

_QUALIFIER = re.compile(r"^.*(?:\.|::|\\|#)(?=[^.:\\#])")

_FILE_COLUMNS = "id, path, corpus, language, size, mtime_ns, sha256, chunks, ctime_ns, inode"


def all_files(db: Connection) -> list[StoredFile]:
    return list(map(StoredFile._make, db.execute(f"SELECT {_FILE_COLUMNS} FROM files ORDER BY path")))


def file_ids(db: Connection) -> list[int]:
    return [row[0] for row in db.execute("SELECT id FROM files")]


def find_file(db: Connection, path: str) -> StoredFile | None:
    row = db.execute(f"SELECT {_FILE_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
    return StoredFile._make(row) if row else None


_SKIP_STAMP = "path, size, mtime_ns, ctime_ns, inode"

_AT = "(path = ?1 OR (path >= ?1 || '/' AND path < ?1 || '0'))"
"""A path and all that is below it, by the index of paths; `0` is the character after the slash."""


def files_at(db: Connection, path: str) -> list[StoredFile]:
    """Return the file of that path, or those below the folder."""
    return list(map(StoredFile._make, db.execute(f"SELECT {_FILE_COLUMNS} FROM files WHERE {_AT}", (path,))))


def files_left_out_at(db: Connection, path: str) -> dict[str, Stamp]:
    """Return the same of the files that were read and have a Skip."""
    rows = db.execute(f"SELECT {_SKIP_STAMP} FROM skips WHERE mtime_ns IS NOT NULL AND {_AT}", (path,))
    return {path: Stamp(*stamp) for path, *stamp in rows}


def walk_skips_at(db: Connection, path: str) -> list[Skip]:
    """Return the same of what the walk left out."""
    rows = db.execute(f"SELECT path, reason, detail FROM skips WHERE mtime_ns IS NULL AND {_AT}", (path,))
    return [Skip(path, SkipReason(why), detail) for path, why, detail in rows]


def last_file_id(db: Connection) -> int:
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'files'").fetchone()
    return int(row[0]) if row else 0


def insert_file(db: Connection, record: FileRecord, number: int | None = None) -> int:
    """Add a file revision with its chunks and symbols; its number, a new one unless given, is returned."""
    file = record.file
    cursor = db.execute(
        f"INSERT INTO files ({_FILE_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)",
        (
            number,
            file.path,
            file.corpus,
            file.language,
            file.size,
            file.mtime_ns,
            record.sha256,
            len(record.chunks),
            file.ctime_ns,
            file.inode,
        ),
    )
    file_id = int(cursor.lastrowid or 0)
    numbered = number_chunks(file_id, record)
    db.executemany(
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (_chunk_row(number, item) for number, item in numbered),
    )
    db.executemany(
        "INSERT OR IGNORE INTO symbols VALUES (?,?,?,?,?)",
        (
            (last_name(symbol.name).lower(), number, symbol.name, symbol.kind, symbol.line)
            for number, item in numbered
            for symbol in item.chunk.symbols
        ),
    )
    if record.facts is not None:
        db.execute("INSERT INTO facts VALUES (?,?)", (file_id, record.facts))
        db.executemany("INSERT INTO names VALUES (?,?,?,?)", ((n, file_id, d, u) for n, d, u in record.names))
    return file_id


def last_name(name: str) -> str:
    """Return what people call `Phoenix.Router` or `ns::Type`: its last part."""
    return _QUALIFIER.sub("", name) or name


def number_chunks(file_id: int, record: FileRecord) -> list[tuple[int, ChunkRecord]]:
    """Return each chunk with its number: its place in the file, or the outline's own place."""
    return [
        (
            chunk_number(file_id, OUTLINE_ORDINAL if item.chunk.chunk_type is ChunkType.SYMBOLS else place),
            item,
        )
        for place, item in enumerate(record.chunks)
    ]


def _chunk_row(number: int, item: ChunkRecord) -> tuple[object, ...]:
    chunk = item.chunk
    return (
        number,
        chunk.span.start,
        chunk.span.end,
        chunk.chunk_type,
        chunk.kind,
        chunk.language,
        chunk.text,
        "\n".join(symbol.name for symbol in chunk.symbols),
        chunk.signature,
        chunk.breadcrumb,
        chunk.doc_comment,
        "\n".join(chunk.tags),
        chunk.context,
        item.key,
        item.scale,
        item.vector,
    )


def delete_file(db: Connection, file_id: int) -> None:
    _delete_facts(db, file_id)
    db.execute("DELETE FROM symbols WHERE chunk_id BETWEEN ? AND ?", chunk_range(file_id))
    db.execute("DELETE FROM chunks WHERE id BETWEEN ? AND ?", chunk_range(file_id))
    db.execute("DELETE FROM files WHERE id = ?", (file_id,))


def _delete_facts(db: Connection, file_id: int) -> None:
    """Its rows of names are told by its facts: an index of them by file would cost as much again."""
    facts = file_facts(db, file_id)
    if facts is not None:
        names = ((name, file_id) for name, _, _ in names_of(facts))
        db.executemany("DELETE FROM names WHERE name = ? AND file_id = ?", names)
        db.execute("DELETE FROM facts WHERE file_id = ?", (file_id,))


def file_facts(db: Connection, file_id: int) -> Facts | None:
    """Return what a file says about names; None of files that are no code."""
    row = db.execute("SELECT data FROM facts WHERE file_id = ?", (file_id,)).fetchone()
    return unpack(row[0]) if row else None


def files_naming(db: Connection, name: str) -> list[tuple[int, int, int]]:
    """Number of each file that names it, with how often it defines and uses it; by number."""
    found = db.execute("SELECT file_id, defined, used FROM names WHERE name = ? ORDER BY file_id", (name,))
    return found.fetchall()


def spellings(db: Connection, name: str) -> list[str]:
    """Return the defined names that differ from this one by case only."""
    found = db.execute(
        "SELECT DISTINCT name FROM names WHERE name = ? COLLATE NOCASE AND defined > 0 ORDER BY name", (name,)
    )
    return [row[0] for row in found]


def file_vectors(db: Connection, file_id: int) -> dict[bytes, tuple[float, bytes]]:
    """Return the vectors of a file's chunks by what was embedded."""
    rows = db.execute("SELECT key, scale, vector FROM chunks WHERE id BETWEEN ? AND ?", chunk_range(file_id))
    return {key: (scale, vector) for key, scale, vector in rows}


def all_vectors(db: Connection) -> Iterator[tuple[int, float, bytes]]:
    yield from db.execute("SELECT id, scale, vector FROM chunks ORDER BY id")


def fields_after(db: Connection, number: int, limit: int) -> list[EmbeddedFields]:
    """Return what a model reads of the next chunks, by number."""
    found = db.execute(
        "SELECT chunks.id, path, symbols, text, context FROM chunks "
        "JOIN files ON files.id = chunks.id >> ? WHERE chunks.id > ? ORDER BY chunks.id LIMIT ?",
        (ORDINAL_BITS, number, limit),
    )
    return [_embedded_fields(row) for row in found]


def _embedded_fields(row: tuple[Any, ...]) -> EmbeddedFields:
    number, path, names, text, context = row
    return EmbeddedFields(number, path, _lines(names), text, context)


def embedding_keys(db: Connection, numbers: Sequence[int] | None) -> list[tuple[int, bytes]]:
    """Number and key of these chunks, or of all; the key tells what was embedded."""
    statement = "SELECT id, key FROM chunks"
    found = db.execute(statement) if numbers is None else _rows_in(db, f"{statement} WHERE id IN", numbers)
    return [(number, key) for number, key in found]


def fields_of(db: Connection, numbers: Sequence[int]) -> list[EmbeddedFields]:
    """Return what a model reads of these chunks."""
    statement = (
        "SELECT chunks.id, path, symbols, text, context FROM chunks "
        f"JOIN files ON files.id = chunks.id >> {ORDINAL_BITS} WHERE chunks.id IN"
    )
    return [_embedded_fields(row) for row in _rows_in(db, statement, numbers)]


def put_vectors(db: Connection, vectors: Iterable[tuple[int, bytes, float, bytes]]) -> None:
    db.executemany("UPDATE chunks SET key = ?2, scale = ?3, vector = ?4 WHERE id = ?1", vectors)


def all_keywords(db: Connection, corpus: str) -> Iterator[tuple[int, str]]:
    """Number and tokens of every chunk that keyword search covers."""
    found = db.execute(
        "SELECT chunks.id, path, breadcrumb, context, text "
        "FROM chunks JOIN files ON files.id = chunks.id >> ? WHERE corpus = ? AND chunk_type <> ?",
        (ORDINAL_BITS, corpus, ChunkType.SYMBOLS),
    )
    for number, path, breadcrumb, context, text in found:
        yield number, keyword_text(path, breadcrumb, context, text)


_CHUNK_COLUMNS = (
    "chunks.id, path, chunks.language, start_line, end_line, chunk_type, kind, text, symbols, "
    "signature, breadcrumb, doc_comment, tags"
)


def chunks_by_number(db: Connection, numbers: Sequence[int]) -> dict[int, StoredChunk]:
    statement = (
        f"SELECT {_CHUNK_COLUMNS} FROM chunks JOIN files ON files.id = chunks.id >> {ORDINAL_BITS} "
        "WHERE chunks.id IN"
    )
    return {row[0]: _stored_chunk(row) for row in _rows_in(db, statement, numbers)}


def chunk_facets(db: Connection) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield what chunks can be filtered by, in the order of their numbers."""
    for number, chunk_type, tags in db.execute("SELECT id, chunk_type, tags FROM chunks ORDER BY id"):
        yield number, chunk_type, _lines(tags)


def chunks_defining(db: Connection, kinds: Sequence[str]) -> set[int]:
    """Return the chunks that define something of one of these kinds."""
    return {
        number for (number,) in _rows_in(db, "SELECT DISTINCT chunk_id FROM symbols WHERE kind IN", kinds)
    }


def breadcrumbs(db: Connection, numbers: Sequence[int]) -> dict[int, str]:
    found = _rows_in(db, "SELECT id, breadcrumb FROM chunks WHERE id IN", numbers)
    return {number: breadcrumb or "" for number, breadcrumb in found}


def _rows_in(
    db: Connection, statement: str, values: Sequence[object], then: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement that ends in IN (and then more), for any number of values."""
    for first in range(0, len(values), MAX_PARAMETERS):
        part = values[first : first + MAX_PARAMETERS]
        yield from db.execute(f"{statement} ({','.join('?' * len(part))}) {then}", part)


def chunks_of_file(db: Connection, file_id: int) -> list[StoredChunk]:
    rows = db.execute(
        f"SELECT {_CHUNK_COLUMNS} FROM chunks JOIN files ON files.id = ? WHERE chunks.id BETWEEN ? AND ?",
        (file_id, *chunk_range(file_id)),
    )
    return [_stored_chunk(row) for row in rows]


def _stored_chunk(row: tuple[Any, ...]) -> StoredChunk:
    number, path, language, start, end, chunk_type, kind, text, names, *described, tags = row
    signature, breadcrumb, doc_comment = described
    return StoredChunk(
        number, path, language, start, end, chunk_type, kind, text,
        _lines(names), signature, breadcrumb, doc_comment, _lines(tags),
    )  # fmt: skip


def _lines(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("\n")) if joined else ()


def defining_chunks(db: Connection, names: Sequence[str], limit: int) -> list[Definition]:
    """Return the definitions of any of these lower-cased names."""
    marks = ",".join("?" * len(names))
    found = db.execute(
        "SELECT name, chunk_id, kind, display FROM symbols "
        f"WHERE name IN ({marks}) ORDER BY chunk_id, line LIMIT ?",
        (*names, limit),
    )
    return [Definition(*row) for row in found]


def replace_walk_skips(db: Connection, skips: Iterable[Skip]) -> None:
    """Renew the skips that the walk decides; those of files that were read stay."""
    db.execute("DELETE FROM skips WHERE mtime_ns IS NULL")
    put_skips(db, skips, None)


def put_skips(db: Connection, skips: Iterable[Skip], file: SourceFile | None) -> None:
    stamp = file.stamp if file else (None, None, 0, 0)
    db.executemany(
        "INSERT OR REPLACE INTO skips VALUES (?,?,?,?,?,?,?)",
        ((skip.path, skip.reason, skip.detail, *stamp) for skip in skips),
    )


def delete_skip(db: Connection, path: str) -> None:
    db.execute("DELETE FROM skips WHERE path = ?", (path,))


def delete_skips(db: Connection, reason: str) -> None:
    db.execute("DELETE FROM skips WHERE reason = ?", (reason,))


def files_left_out(db: Connection) -> dict[str, Stamp]:
    """Return the files that were read and have a Skip, as they were then."""
    rows = db.execute(f"SELECT {_SKIP_STAMP} FROM skips WHERE mtime_ns IS NOT NULL")
    return {path: Stamp(*stamp) for path, *stamp in rows}


def all_skips(db: Connection, reason: str | None = None) -> list[Skip]:
    rows = db.execute(
        "SELECT path, reason, detail FROM skips WHERE ?1 IS NULL OR reason = ?1 ORDER BY path", (reason,)
    )
    return [Skip(path, SkipReason(why), detail) for path, why, detail in rows]


def counts(db: Connection) -> dict[str, tuple[int, int]]:
    """Return files and chunks of each corpus."""
    rows = db.execute("SELECT corpus, COUNT(*), SUM(chunks) FROM files GROUP BY corpus")
    return {corpus: (files, chunks or 0) for corpus, files, chunks in rows}


def count_chunks(db: Connection) -> int:
    """From the files: counting the chunks themselves would read the whole database."""
    return int(db.execute("SELECT COALESCE(SUM(chunks), 0) FROM files").fetchone()[0])


def languages(db: Connection) -> dict[str, int]:
    rows = db.execute("SELECT language, COUNT(*) FROM files GROUP BY language ORDER BY 2 DESC, 1")
    return dict(rows.fetchall())


def skip_counts(db: Connection) -> dict[str, int]:
    rows = db.execute("SELECT reason, COUNT(*) FROM skips GROUP BY reason ORDER BY reason")
    return dict(rows.fetchall())
