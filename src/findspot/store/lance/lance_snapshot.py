"""One version of a published index as a search reads it: LanceDB finds candidates, our ranker ranks them.

Nothing is copied. The list of files and the frequencies of words are read when a version is opened; all other
rows are fetched when they are asked for, and the last ones are kept. Scores of keywords and vectors are
computed from the rows of candidates by the same code as in a local index, so they are the same.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError
from findspot.core.model import Skip, SkipReason, Stamp, Symbol
from findspot.store.derived import Derived, FileTable, Selection
from findspot.store.edge_rows import EdgeRows
from findspot.store.fact_rows import ALL_NUMBERS, FactRows
from findspot.store.index_rows import ChunkRows, SkipRows, SymbolRows
from findspot.store.keywords import KeywordReader
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    DEFINITIONS_TABLE,
    EDGES_TABLE,
    FILES_TABLE,
    NAMES_TABLE,
    REFERENCES_TABLE,
    SKIPS_TABLE,
    WORDS_TABLE,
    NumberedFile,
    PackedChunk,
    schema_of,
)
from findspot.store.lance.lance_tables import Tables
from findspot.store.records import (
    ORDINAL_BITS,
    Extent,
    StoredChunk,
    StoredFile,
    SymbolPlace,
    SymbolRow,
    chunk_range,
    last_name,
)
from findspot.store.snapshot import Snapshot
from findspot.store.vector_segments import Mask, Numbers, Scores, Segment, VectorReader, of_lines
from findspot.store.word_counts import Frequencies, Postings, distinct

if TYPE_CHECKING:
    from lancedb.table import Table

KEPT_BYTES = 12 << 20
"""Of chunks and other rows that are kept as they were read."""
_SHARE, _ENOUGH = 0.6, 100
"""Of the candidates that a local index gives, and their least number: each is read from where it lies."""
_PROBES = 48
"""Lists of vectors that a search looks through, in memory: of the 20 nearest chunks it finds 0.999."""
_COMMON, _MANY, _ALWAYS_ASKED = 0.1, 5_000, 4
"""The share of many chunks from which a word finds no candidates beside rarer ones; it still scores them.
Of the 200 best chunks 0.93 are the same, of the first twenty 0.996, for two thirds of the time."""
_AT_ONCE = 3
"""Searches of one process: more are not faster, and each takes memory of its own."""
_BATCH_ROWS = 8_192
_FEW_FILES = 20_000
"""That a search is limited to by a condition; of more, the others are left out of what it finds."""


class Cache:
    """Values by key; the ones used longest ago are dropped."""

    def __init__(self, most: int, size: Callable[[Any], int]) -> None:
        self._most, self._size, self._held = most, size, 0
        self._guard = threading.Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        with self._guard:
            if key not in self._values:
                self._held += self._size(value)
            self._values[key] = value
            while self._held > self._most:
                self._held -= self._size(self._values.popitem(last=False)[1])


class VersionRows:
    """The tables of one version, opened, and the rows that were read last."""

    def __init__(self, tables: Tables, versions: Mapping[str, int]) -> None:
        self._tables, self._versions = tables, versions
        self._opened: dict[str, Table] = {}
        self._kept = Cache(KEPT_BYTES, _bytes_of)
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self.beside = ThreadPoolExecutor(_AT_ONCE, "nearest")

    @cached_property
    def files(self) -> FileTable:
        return FileTable(sorted((each.file for each in self.numbered()), key=lambda file: file.path))

    def numbered(self) -> Iterator[NumberedFile]:
        """Yield every file with the digest of its edges."""
        for number, path, corpus, language, size, sha256, chunks, edges in self.all(FILES_TABLE):
            file = StoredFile(number, path, corpus, language, size, 0, sha256, chunks)
            yield NumberedFile(number, file, edges)

    def table(self, name: str) -> Table:
        """Return a table at the version; every table is opened once. One that is gone is damage."""
        if name not in self._opened:
            table = self._tables.open(name, self._versions[name])
            if table is None:
                raise IndexCorruptError(f"table {name} is missing")
            self._opened[name] = table
        return self._opened[name]

    def batches(self, name: str, fields: Sequence[str], condition: str | None = None) -> Iterator[Any]:
        table = self.table(name)
        with self._tables.translated():
            query = table.search().select(list(fields))
            yield from (query.where(condition) if condition else query).to_batches(_BATCH_ROWS)

    def all(
        self, name: str, fields: Sequence[str] = (), condition: str | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows as the values of their fields; of all fields where none are named."""
        for batch in self.batches(name, fields or schema_of(name).names, condition):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def look_up(self, name: str, field: str, *values: str | int) -> list[tuple[Any, ...]]:
        """Return the rows with these values of a field that has an index; the last answers are kept."""
        found = {value: self._kept.get((name, field, value)) for value in values}
        if missing := [value for value, rows in found.items() if rows is None]:
            found |= {value: [] for value in missing}
            place = schema_of(name).names.index(field)
            listed = ", ".join(map(_quoted, missing))
            for row in self.all(name, condition=f"{field} IN ({listed})"):
                found[row[place]].append(row)
            for value in missing:
                self._kept.put((name, field, value), found[value])
        return list(chain.from_iterable(found.values()))

    def chunks(self, numbers: Iterable[int]) -> dict[int, PackedChunk]:
        """Return chunks by number; those that are not kept are fetched together."""
        wanted = list(dict.fromkeys(numbers))
        found = {number: self._kept.get(number) for number in wanted}
        for corpus, name in CHUNK_TABLES.items():
            missing = [n for n in wanted if found[n] is None and self._corpus(n) == corpus]
            if missing:
                listed = ", ".join(map(str, missing))
                for packed in self._packed(name, f"number IN ({listed})"):
                    found[packed.number] = packed
                    self._kept.put(packed.number, packed)
        return {number: packed for number, packed in found.items() if packed is not None}

    def of_file(self, file: StoredFile) -> list[PackedChunk]:
        key = "file", file.id
        found: list[PackedChunk] | None = self._kept.get(key)
        if found is None:
            first, last = chunk_range(file.id)
            packed = self._packed(CHUNK_TABLES[file.corpus], f"number >= {first} AND number <= {last}")
            found = sorted(packed, key=lambda each: each.number)
            self._kept.put(key, found)
        return found

    def search(self, name: str, query: Any, kind: str, allowed: Selection | None, top: int) -> Numbers:
        """Return the numbers of the chunks that lancedb finds among the allowed files.

        The chunks themselves come with them: to fetch them afterwards would take four times as long.
        """
        table = self.table(name)
        with self._turns, self._tables.translated():
            column = {"vector_column_name": "vector"} if kind == "vector" else {"fts_columns": "keywords"}
            asked: Any = table.search(query, query_type=kind, **column)
            if kind == "vector":
                asked = asked.distance_type("cosine").nprobes(_PROBES)
            if allowed is not None and len(allowed.files) <= _FEW_FILES:
                listed = ", ".join(str(file.id) for file in allowed.files)
                asked = asked.where(f"file_id IN ({listed})" if listed else "FALSE", prefilter=True)
            score = "_distance" if kind == "vector" else "_score"
            most = max(_ENOUGH, int(_SHARE * top))
            found = asked.select(["number", "packed", score]).limit(most).to_arrow()
        for packed in _chunks_in(found):
            self._kept.put(packed.number, packed)
        numbers: Numbers = found.column("number").to_numpy().astype(np.int64)
        return numbers if allowed is None else numbers[allowed.of_chunks(numbers)]

    def _packed(self, name: str, condition: str | None) -> Iterator[PackedChunk]:
        for batch in self.batches(name, ("number", "packed"), condition):
            yield from _chunks_in(batch)

    def _corpus(self, number: int) -> str | None:
        file = self.files.by_id.get(number >> ORDINAL_BITS)
        return file.corpus if file else None


def _chunks_in(rows: Any) -> Iterator[PackedChunk]:
    return map(PackedChunk, rows.column("number").to_pylist(), rows.column("packed").to_pylist())


def _quoted(value: str | int) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _bytes_of(value: Any) -> int:
    if isinstance(value, PackedChunk):
        return value.size
    if isinstance(value, (list, tuple)):
        return 100 + sum(map(_bytes_of, value))
    return len(value) if isinstance(value, (str, bytes)) else 0


class PublishedKeywords(KeywordReader):
    """The words of one corpus: lancedb finds candidates, the counted words in their rows score them."""

    def __init__(self, rows: VersionRows, corpus: str, frequencies: Frequencies) -> None:
        super().__init__((), rows.files.whole(corpus).mask, rows.files.in_order, frequencies)
        self._rows, self._corpus = rows, corpus

    def _candidates(
        self,
        weights: Mapping[str, float],
        gains: Mapping[str, float],
        top: int,
        only_files: Sequence[int] | None,
    ) -> Numbers:
        from lancedb.query import BooleanQuery, MatchQuery, Occur

        by_weight: dict[float, list[str]] = {}
        most = max(_MANY, _COMMON * self.size)
        for at, term in enumerate(sorted(weights, key=lambda term: -gains[term])):
            if at < _ALWAYS_ASKED or self.document_frequency(term) <= most:
                by_weight.setdefault(weights[term], []).append(term)
        parts = [(Occur.SHOULD, MatchQuery(" ".join(t), "keywords", boost=w)) for w, t in by_weight.items()]
        query = parts[0][1] if len(parts) == 1 else BooleanQuery(parts)
        by_id = self._rows.files.by_id
        allowed = None if only_files is None else self._rows.files.select([by_id[n] for n in only_files])
        found = self._rows.search(CHUNK_TABLES[self._corpus], query, "fts", allowed, top)
        return distinct(found)

    def _parts_with(self, wanted: Numbers) -> Sequence[Postings]:
        found = sorted(self._rows.chunks(wanted.tolist()).values(), key=lambda packed: packed.number)
        return [
            Postings.by_word(
                np.array([packed.number for packed in found], np.int64),
                np.array([packed.length for packed in found], np.uint32),
                np.array([packed.words.size for packed in found], np.int64),
                np.concatenate([np.empty(0, np.uint32), *(packed.words for packed in found)]),
                np.concatenate([np.empty(0, np.uint8), *(packed.counts for packed in found)]),
            )
        ]


class PublishedVectors(VectorReader):
    """The vectors of a version: lancedb finds candidates, the vectors in their rows score them."""

    def __init__(self, rows: VersionRows) -> None:
        super().__init__((), rows.files.in_order)
        self._table = rows

    def begin(self, query: NDArray[np.int8], allowed: Mask, top: int) -> Callable[[], tuple[Numbers, Scores]]:
        """Look for the nearest while words are looked for: both wait for the index."""
        return self._table.beside.submit(super().begin(query, allowed, top)).result

    def nearest(self, query: NDArray[np.int8], allowed: Mask, top: int) -> tuple[Numbers, Scores]:
        found, files = [np.empty(0, np.int64)], self._table.files
        for corpus, name in CHUNK_TABLES.items():
            whole = files.whole(corpus).mask
            both = whole[: allowed.size] & allowed[: whole.size]
            if both.any():
                chosen = np.flatnonzero(both)
                everything = chosen.size == np.count_nonzero(whole)
                only = None if everything else files.select([files.by_id[n] for n in chosen.tolist()])
                near = self._table.search(name, query.astype(np.float32), "vector", only, top)
                found.append(near[of_lines(near)])
        return self._reader(np.concatenate(found)).nearest(query, allowed, top)

    def nearest_among(self, query: NDArray[np.int8], wanted: Numbers, top: int) -> tuple[Numbers, Scores]:
        if wanted.size > _FEW_FILES:  # the nearest of all chunks, as far as they are among these
            names = CHUNK_TABLES.values()
            near = [self._table.search(n, query.astype(np.float32), "vector", None, 10 * top) for n in names]
            wanted = np.intersect1d(np.concatenate(near), wanted)
        return self._reader(wanted).nearest_among(query, wanted, top)

    def scores_of(self, query: NDArray[np.int8], wanted: Numbers) -> NDArray[np.float64]:
        return self._reader(wanted).scores_of(query, wanted)

    def _reader(self, numbers: Numbers) -> VectorReader:
        found = sorted(self._table.chunks(numbers.tolist()).values(), key=lambda packed: packed.number)
        if not found:
            return VectorReader(())
        segment = Segment(
            np.array([packed.number for packed in found], np.int64),
            np.array([packed.scale for packed in found], np.float32),
            np.stack([packed.vector for packed in found]),
        )
        return VectorReader([segment], self._order)


class PublishedChunks(ChunkRows):
    def __init__(self, rows: VersionRows) -> None:
        self._rows = rows

    def by_number(self, numbers: Sequence[int]) -> dict[int, StoredChunk]:
        return {number: self._stored(packed) for number, packed in self._rows.chunks(numbers).items()}

    def texts(self, numbers: Sequence[int]) -> dict[int, str]:
        return {number: packed.described[5] for number, packed in self._rows.chunks(numbers).items()}

    def of_file(self, path: str) -> list[StoredChunk]:
        file = self._rows.files.find(path)
        return [self._stored(packed) for packed in self._rows.of_file(file)] if file else []

    def line(self, file_id: int, line: int) -> str | None:
        file = self._rows.files.by_id.get(file_id)
        chunks = self.of_file(file.path) if file else []
        holding = (c for c in chunks if c.kind != "outline" and c.start_line <= line <= c.end_line)
        chunk = next(holding, None)
        lines = chunk.text.split("\n") if chunk else []
        at = line - chunk.start_line if chunk else 0
        return lines[at] if 0 <= at < len(lines) else None

    def facets(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        fields = ("number", "chunk_type", "tags")
        rows = [row for name in CHUNK_TABLES.values() for row in self._rows.all(name, fields)]
        for number, chunk_type, tags in sorted(rows):
            yield number, chunk_type, tuple(tags.split("\n")) if tags else ()

    def breadcrumbs(self, numbers: Sequence[int]) -> dict[int, str]:
        return {number: packed.described[8] or "" for number, packed in self._rows.chunks(numbers).items()}

    def headed(self, name: str) -> list[SymbolPlace]:
        """Return where a definition is shown under a name; sections of other texts are not looked for."""
        found = self._rows.look_up(DEFINITIONS_TABLE, "name", last_name(name).lower())
        chunks = self.by_number([row[2] for row in found]).values()
        return [
            SymbolPlace(c.breadcrumb.rpartition(" > ")[2], c.kind, c.number >> ORDINAL_BITS, c.start_line)
            for c in chunks
            if c.breadcrumb and c.breadcrumb.replace(" > ", ".") == name
        ]

    def extents(self, numbers: Sequence[int]) -> dict[int, Extent]:
        found = self.by_number(numbers)
        return {n: Extent(c.start_line, c.end_line, c.kind, "\n".join(c.symbols)) for n, c in found.items()}

    def vector(self, number: int) -> tuple[NDArray[np.int8], float]:
        packed = self._rows.chunks([number])[number]
        return packed.vector, packed.scale

    def _stored(self, packed: PackedChunk) -> StoredChunk:
        return packed.stored(self._rows.files.by_id[packed.number >> ORDINAL_BITS].path)


class PublishedSymbols(SymbolRows):
    """The names that chunks of a version define."""

    def __init__(self, rows: VersionRows) -> None:
        self._rows, self._files = rows, rows.files.by_id

    def of_chunks(self, numbers: Sequence[int]) -> dict[int, list[Symbol]]:
        found = self._rows.chunks(numbers).items()
        return {number: packed.symbols for number, packed in found}

    def constants_of(self, file_id: int) -> list[SymbolPlace]:
        rows = sorted(self._rows.look_up(DEFINITIONS_TABLE, "file_id", file_id), key=itemgetter(2, 5))
        return [
            SymbolPlace(row[3], row[4], file_id, row[5]) for row in rows if row[4] in ("constant", "field")
        ]

    def chunks_defining(self, kinds: Sequence[str]) -> set[int]:
        listed = ", ".join(f"'{kind}'" for kind in kinds)
        return {row[0] for row in self._rows.all(DEFINITIONS_TABLE, ("number",), f"kind IN ({listed})")}

    def _named(self, names: Sequence[str]) -> list[SymbolRow]:
        found = self._rows.look_up(DEFINITIONS_TABLE, "name", *names)
        return sorted(((row[0], *row[2:]) for row in found), key=itemgetter(1, 4))


class PublishedFacts(FactRows):
    def __init__(self, rows: VersionRows) -> None:
        self._rows = rows

    def _packed(self, file_id: int) -> bytes | None:
        rows = self._rows.look_up(REFERENCES_TABLE, "file_id", file_id)
        return rows[0][1] if rows else None

    def files_naming(
        self, name: str, first: int = ALL_NUMBERS[0], last: int = ALL_NUMBERS[1]
    ) -> list[tuple[int, int, int]]:
        found = [row[1:] for row in self._rows.look_up(NAMES_TABLE, "name", name)]
        return sorted(each for each in found if first <= each[0] <= last and each[1] + each[2])

    def files_defining(self, name: str, first: int = ALL_NUMBERS[0], last: int = ALL_NUMBERS[1]) -> list[int]:
        return [number for number, defined, _ in self.files_naming(name, first, last) if defined]

    def defined_names(self) -> list[str]:
        names = {row[0] for row in self._rows.all(NAMES_TABLE, ("name",), "defined > 0")}
        return sorted(name for name in names if " " not in name)

    def is_defined(self, name: str) -> bool:
        return " " not in name and bool(self.files_defining(name))

    def spellings(self, name: str) -> list[str]:
        rows = self._rows.look_up(DEFINITIONS_TABLE, "name", last_name(name).lower())
        found = {spelled for row in rows for spelled in (row[3], last_name(row[3]))}
        return sorted(each for each in found if each.lower() == name.lower() and self.is_defined(each))


class PublishedEdges(EdgeRows):
    """The resolved references of a version: those that were resolved when it was published."""

    def __init__(self, rows: VersionRows) -> None:
        self._rows = rows

    def pending(self) -> set[int]:
        return set()

    def to(self, target: int) -> list[tuple[int, bytes]]:
        return sorted(row[1:] for row in self._rows.look_up(EDGES_TABLE, "target", target))

    def sources(self, file_id: int) -> bytes:
        rows = self._rows.look_up(REFERENCES_TABLE, "file_id", file_id)
        return bytes(rows[0][2]) if rows else b""


class PublishedSkips(SkipRows):
    """The skips of a version; they are few, and read when they are first asked for."""

    def __init__(self, rows: VersionRows) -> None:
        self._rows = rows

    @cached_property
    def _all(self) -> list[tuple[Skip, Stamp | None]]:
        rows = sorted(self._rows.all(SKIPS_TABLE), key=lambda row: str(row[0]))
        return [
            (Skip(path, SkipReason(why), detail), None if mtime_ns is None else Stamp(size, mtime_ns, 0, 0))
            for path, why, detail, size, mtime_ns in rows
        ]

    def all(self, *reasons: str) -> list[Skip]:
        return [skip for skip, _ in self._all if not reasons or skip.reason in reasons]

    def files_read(self, below: str | None = None) -> dict[str, Stamp]:
        return {skip.path: stamp for skip, stamp in self._all if stamp is not None}


class PublishedSnapshot(Snapshot):
    """One version, for every question that is asked of it; safe to use from several threads."""

    def __init__(self, rows: VersionRows, meta: Mapping[str, str], generation: int) -> None:
        words = {corpus: Frequencies.read(*row) for corpus, *row in rows.all(WORDS_TABLE)}
        keywords: dict[str, KeywordReader] = {
            corpus: PublishedKeywords(rows, corpus, known) for corpus, known in words.items()
        }
        self.rows = rows
        self.derived = Derived(generation, rows.files, keywords, PublishedVectors(rows))
        self.generation, self.files = generation, rows.files
        self.keywords, self.vectors = keywords, self.derived.vectors
        self.chunks, self.symbols = PublishedChunks(rows), PublishedSymbols(rows)
        self.facts, self.edges = PublishedFacts(rows), PublishedEdges(rows)
        self.skips = PublishedSkips(rows)
        self._meta = dict(meta)

    def meta(self) -> dict[str, str]:
        return self._meta
