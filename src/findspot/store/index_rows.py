"""The rows of the index's tables: one class per table, for readers and for the writer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.facts import names_of, unpack
from findspot.core.model import ChunkType, Corpus, Skip, SkipReason, SourceFile, Stamp, Symbol
from findspot.core.sqlite import MAX_PARAMETERS, Connection
from findspot.store.edge_rows import EdgeRows
from findspot.store.fact_rows import FactRows
from findspot.store.records import (
    ORDINAL_BITS,
    OUTLINE_ORDINAL,
    Definition,
    Extent,
    FileRecord,
    RecordRows,
    StoredChunk,
    StoredFile,
    SymbolPlace,
    SymbolRow,
    chunk_number,
    chunk_range,
    last_name,
    lines_of,
)
from findspot.text.tokens import keyword_text

_BELOW = "(path = ?1 OR (path >= ?1 || '/' AND path < ?1 || '0'))"
"""A path and everything below it, by the index of paths; `0` is the character after the slash."""

_FILES = "SELECT id, path, corpus, language, size, mtime_ns, sha256, chunks, ctime_ns, inode FROM files"
_STAMPS = "SELECT path, size, mtime_ns, ctime_ns, inode FROM skips WHERE mtime_ns IS NOT NULL"
_WITH_FILE = f"FROM chunks JOIN files ON files.id = chunks.id >> {ORDINAL_BITS}"
_TOKEN_COLUMNS = "chunks.id, chunk_type, path, breadcrumb, context, text"
_CHUNK_COLUMNS = (
    "chunks.id, path, chunks.language, start_line, end_line, chunk_type, kind, text, symbols, "
    "signature, breadcrumb, doc_comment, tags"
)
_RECORD_COLUMNS = (
    "id, start_line, end_line, chunk_type, kind, language, text, symbols, signature, breadcrumb, "
    "doc_comment, tags, context, key, scale, vector"
)


_stored_file: Callable[[Iterable[Any]], StoredFile] = partial(tuple.__new__, StoredFile)
"""What `StoredFile._make` does, without its own code for each of many thousand rows."""


class FileRows:
    """The files of an index, one row per revision that is current."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def all(self) -> list[StoredFile]:
        """Return every file, by path."""
        return self._select("ORDER BY path")

    def find(self, path: str) -> StoredFile | None:
        return next(iter(self._select("WHERE path = ?", path)), None)

    def below(self, path: str) -> list[StoredFile]:
        return self._select(f"WHERE {_BELOW}", path)

    def _select(self, condition: str, *values: object) -> list[StoredFile]:
        return list(map(_stored_file, self._db.execute(f"{_FILES} {condition}", values)))

    def numbers(self, among: Sequence[int] | None = None) -> list[int]:
        """Return the number of every file, or of those that are among these numbers."""
        every = "SELECT id FROM files"
        rows = self._db.execute(every) if among is None else _rows_in(self._db, f"{every} WHERE id IN", among)
        return [row[0] for row in rows]

    def counts(self) -> dict[str, tuple[int, int]]:
        rows = self._db.execute("SELECT corpus, COUNT(*), SUM(chunks) FROM files GROUP BY corpus")
        return {corpus: (files, chunks or 0) for corpus, files, chunks in rows}

    def totals(self) -> tuple[int, int]:
        row = self._db.execute("SELECT COUNT(*), COALESCE(SUM(chunks), 0) FROM files").fetchone()
        return int(row[0]), int(row[1])

    def set_stamp(self, path: str, stamp: Stamp) -> None:
        self._db.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?", (*stamp, path)
        )


class SkipRows:
    """The skips of an index: what the walk left out, and what was left out after reading it."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def all(self, *reasons: str) -> list[Skip]:
        """Return every skip, or those of some reasons, by path."""
        among = f"reason IN ({','.join('?' * len(reasons))})" if reasons else "TRUE"
        return self._select(f"{among} ORDER BY path", *reasons)

    def of_walk(self, path: str) -> list[Skip]:
        """Return what the walk left out at a path and below it."""
        return self._select(f"mtime_ns IS NULL AND {_BELOW}", path)

    def _select(self, condition: str, *values: str) -> list[Skip]:
        rows = self._db.execute(f"SELECT path, reason, detail FROM skips WHERE {condition}", values)
        return [Skip(path, SkipReason(why), detail) for path, why, detail in rows]

    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(skip.reason.value for skip in self.all()).items()))

    def files_read(self, below: str | None = None) -> dict[str, Stamp]:
        """Return the files that were read and have a skip, as they were then; all, or those at a path."""
        rows = (
            self._db.execute(_STAMPS)
            if below is None
            else self._db.execute(f"{_STAMPS} AND {_BELOW}", (below,))
        )
        return {path: Stamp(*stamp) for path, *stamp in rows}

    def shared(self) -> list[tuple[Any, ...]]:
        """Return every skip as rows that are the same on every machine."""
        select = "SELECT path, reason, detail, size, mtime_ns FROM skips ORDER BY path"
        return self._db.execute(select).fetchall()


class ChunkRows:
    def __init__(self, db: Connection) -> None:
        self._db = db

    def by_number(self, numbers: Sequence[int]) -> dict[int, StoredChunk]:
        statement = f"SELECT {_CHUNK_COLUMNS} {_WITH_FILE} WHERE chunks.id IN"
        return {row[0]: _stored_chunk(row) for row in _rows_in(self._db, statement, numbers)}

    def texts(self, numbers: Sequence[int]) -> dict[int, str]:
        return dict(_rows_in(self._db, "SELECT id, text FROM chunks WHERE id IN", numbers))

    def of_file(self, path: str) -> list[StoredChunk]:
        """Return the chunks of a file; none where the index does not have the file."""
        file = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if file is None:
            return []
        rows = self._db.execute(
            f"SELECT {_CHUNK_COLUMNS} FROM chunks JOIN files ON files.id = ? WHERE chunks.id BETWEEN ? AND ?",
            (file[0], *chunk_range(file[0])),
        )
        return [_stored_chunk(row) for row in rows]

    def line(self, file_id: int, line: int) -> str | None:
        """Return a line of a file; None where no chunk holds it."""
        row = self._db.execute(
            "SELECT text, start_line FROM chunks WHERE id BETWEEN ? AND ? "
            "AND ? BETWEEN start_line AND end_line AND kind <> 'outline' ORDER BY id LIMIT 1",
            (*chunk_range(file_id), line),
        ).fetchone()
        lines = row[0].split("\n") if row else []
        at = line - row[1] if row else 0
        return lines[at] if 0 <= at < len(lines) else None

    def facets(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """Yield number, type and tags of every chunk, by number."""
        rows = self._db.execute("SELECT id, chunk_type, tags FROM chunks ORDER BY id")
        for number, chunk_type, tags in rows:
            yield number, chunk_type, lines_of(tags)

    def breadcrumbs(self, numbers: Sequence[int]) -> dict[int, str]:
        found = _rows_in(self._db, "SELECT id, breadcrumb FROM chunks WHERE id IN", numbers)
        return {number: breadcrumb or "" for number, breadcrumb in found}

    def headed(self, name: str) -> list[SymbolPlace]:
        """Return where each file has what is shown under a name, such as a section; reads every chunk."""
        select = (
            f"SELECT breadcrumb, kind, id >> {ORDINAL_BITS} AS file, MIN(start_line) FROM chunks "
            "WHERE replace(breadcrumb, ' > ', '.') = ? GROUP BY file"
        )
        rows = self._db.execute(select, (name,))
        return [SymbolPlace(breadcrumb.rpartition(" > ")[2], *place) for breadcrumb, *place in rows]

    def extents(self, numbers: Sequence[int]) -> dict[int, Extent]:
        """Return the lines, kinds and names of those of these chunks that exist."""
        statement = "SELECT id, start_line, end_line, kind, symbols FROM chunks WHERE id IN"
        return {number: Extent(*rest) for number, *rest in _rows_in(self._db, statement, numbers)}

    def vector(self, number: int) -> tuple[NDArray[np.int8], float]:
        select = "SELECT vector, scale FROM chunks WHERE id = ?"
        vector, scale = self._db.execute(select, (number,)).fetchone()
        return np.frombuffer(vector, np.int8), float(scale)

    def vectors(self) -> Iterator[tuple[int, float, bytes, str]]:
        """Yield number, scale, vector and tokens of every chunk, by number."""
        select = f"SELECT scale, vector, {_TOKEN_COLUMNS} {_WITH_FILE} ORDER BY chunks.id"
        for scale, vector, *row in self._db.execute(select):
            yield row[0], scale, vector, _tokens(row)

    def vectors_by_key(self, file_id: int) -> dict[bytes, tuple[float, bytes]]:
        """Return the vectors of a file's chunks by what was embedded."""
        select = "SELECT key, scale, vector FROM chunks WHERE id BETWEEN ? AND ?"
        rows = self._db.execute(select, chunk_range(file_id))
        return {key: (scale, vector) for key, scale, vector in rows}

    def keys(self, file_id: int) -> frozenset[bytes]:
        rows = self._db.execute("SELECT key FROM chunks WHERE id BETWEEN ? AND ?", chunk_range(file_id))
        return frozenset(key for (key,) in rows)


class SymbolRows:
    """The names that chunks define."""

    def __init__(self, db: Connection, files: Mapping[int, StoredFile]) -> None:
        self._db, self._files = db, files

    def definitions(self, names: Sequence[str], limit: int = 1_000) -> list[Definition]:
        """Return the definitions of any of these lower-cased names, the first ones by path and line."""
        rows = self._named(names)
        if len(rows) > limit:
            rows.sort(key=lambda row: (self._files[row[1] >> ORDINAL_BITS].path, row[1], row[-1]))
        return [Definition(*row[:2], row[3], row[2]) for row in rows[:limit]]

    def of_chunks(self, numbers: Sequence[int]) -> dict[int, list[Symbol]]:
        """Return what each of these chunks defines, in the order of their lines."""
        found: dict[int, list[Symbol]] = defaultdict(list)
        statement = "SELECT chunk_id, display, kind, line FROM symbols WHERE chunk_id IN"
        for number, *symbol in _rows_in(self._db, statement, numbers):
            found[number].append(Symbol(*symbol))
        return found

    def constants_of(self, file_id: int) -> list[SymbolPlace]:
        """Return the constants and fields of a file."""
        select = "SELECT display, kind, line FROM symbols WHERE chunk_id BETWEEN ? AND ?"
        found = self._db.execute(f"{select} AND kind IN ('constant', 'field')", chunk_range(file_id))
        return [SymbolPlace(display, kind, file_id, line) for display, kind, line in found]

    def places(self, name: str) -> list[SymbolPlace]:
        """Return every place that defines a lower-cased name."""
        return [_place(row) for row in self._named([name])]

    def spelled(self, names: Sequence[str]) -> list[tuple[int, SymbolPlace]]:
        """Return every place that defines one of these names in just this spelling, with its chunk."""
        keys = list({last_name(name).lower() for name in names})
        return [(row[1], _place(row)) for row in self._named(keys) if row[2] in names]

    def _named(self, names: Sequence[str]) -> list[SymbolRow]:
        """Return the symbols of these lower-cased names, by chunk and line, with the number of the chunk."""
        select = "SELECT name, chunk_id, display, kind, line FROM symbols WHERE name IN"
        return sorted(_rows_in(self._db, select, names), key=itemgetter(1, 4))

    def chunks_defining(self, kinds: Sequence[str]) -> set[int]:
        """Return the numbers of the chunks that define something of one of these kinds."""
        found = _rows_in(self._db, "SELECT DISTINCT chunk_id FROM symbols WHERE kind IN", kinds)
        return {number for (number,) in found}


def _place(row: SymbolRow) -> SymbolPlace:
    _, number, display, kind, line = row
    return SymbolPlace(display, kind, number >> ORDINAL_BITS, line)


def insert_file(db: Connection, record: FileRecord) -> int:
    file, rows = record.file, record.rows
    described = (file.path, file.corpus.value, file.language, file.size, file.mtime_ns, record.sha256)
    cursor = db.execute(
        "INSERT INTO files (path, corpus, language, size, mtime_ns, sha256, chunks, ctime_ns, inode) "
        "VALUES (?,?,?,?,?,?,?,?,?)",
        (*described, len(rows.chunks), file.ctime_ns, file.inode),
    )
    file_id = int(cursor.lastrowid or 0)
    first = chunk_number(file_id, 0)
    db.executemany(
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [(first | row[0], *row[1:]) for row in rows.chunks],
    )
    db.executemany(
        "INSERT OR IGNORE INTO symbols VALUES (?,?,?,?,?)",
        [(row[0], first | row[1], *row[2:]) for row in rows.symbols],
    )
    if record.facts is not None:
        db.execute("INSERT INTO facts VALUES (?,?)", (file_id, record.facts))
        db.execute("INSERT INTO pending VALUES (?)", (file_id,))
        db.executemany("INSERT INTO names VALUES (?,?,?,?)", [(n, file_id, d, u) for n, d, u in record.names])
    return file_id


def delete_file(db: Connection, file_id: int) -> None:
    """Delete a file revision and everything that was stored with it."""
    facts = FactRows(db).of_file(file_id)
    if facts is not None:  # the facts list the names: an index of names by file would cost as much again
        names = ((name, file_id) for name, _, _ in names_of(facts))
        db.executemany("DELETE FROM names WHERE name = ? AND file_id = ?", names)
        db.execute("DELETE FROM facts WHERE file_id = ?", (file_id,))
        EdgeRows(db).drop(file_id)
    db.execute("DELETE FROM symbols WHERE chunk_id BETWEEN ? AND ?", chunk_range(file_id))
    db.execute("DELETE FROM chunks WHERE id BETWEEN ? AND ?", chunk_range(file_id))
    db.execute("DELETE FROM files WHERE id = ?", (file_id,))


def file_record(db: Connection, file: StoredFile) -> FileRecord:
    """Return a file revision with everything that was stored of it; of equal symbols, one was."""
    numbers = chunk_range(file.id)
    select = "SELECT name, chunk_id, display, kind, line FROM symbols WHERE chunk_id BETWEEN ? AND ?"
    symbols = [(name, number & OUTLINE_ORDINAL, *rest) for name, number, *rest in db.execute(select, numbers)]
    rows = RecordRows([], symbols, [])
    select = f"SELECT {_RECORD_COLUMNS} FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id"
    for number, *row in db.execute(select, numbers):
        _, _, chunk_type, _, _, text, _, _, breadcrumb, _, _, context, *_ = row
        rows.chunks.append((number & OUTLINE_ORDINAL, *row))
        rows.keywords.append(_tokens((number, chunk_type, file.path, breadcrumb, context, text)))
    facts = db.execute("SELECT data FROM facts WHERE file_id = ?", (file.id,)).fetchone()
    packed = facts[0] if facts else None
    source = SourceFile(file.path, Corpus(file.corpus), file.language, *file.stamp)
    return FileRecord(source, file.sha256, rows, packed, names_of(unpack(packed)) if packed else ())


def _stored_chunk(row: tuple[Any, ...]) -> StoredChunk:
    number, path, language, start, end, chunk_type, kind, text, names, *described, tags = row
    signature, breadcrumb, doc_comment = described
    return StoredChunk(
        number, path, language, start, end, chunk_type, kind, text,
        lines_of(names), signature, breadcrumb, doc_comment, lines_of(tags),
    )  # fmt: skip


def _tokens(row: Sequence[Any]) -> str:
    _, chunk_type, *described = row
    return "" if chunk_type == ChunkType.SYMBOLS else keyword_text(*described)


def _rows_in(db: Connection, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement that ends in IN, for any number of values."""
    for first in range(0, len(values), MAX_PARAMETERS):
        part = values[first : first + MAX_PARAMETERS]
        yield from db.execute(f"{statement} ({','.join('?' * len(part))})", part)
