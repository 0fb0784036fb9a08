"""One consistent state of an index, as a search reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from findspot.core.facts import Facts
from findspot.core.model import Corpus, Skip
from findspot.core.sqlite import Connection
from findspot.store import index_rows as rows
from findspot.store import keywords
from findspot.store import vector_segments as vectors
from findspot.store.database import read_meta
from findspot.store.derived import Derived, FileTable
from findspot.store.records import Definition, EmbeddedFields, KnownFiles, StoredChunk, StoredFile

T = TypeVar("T")


class Snapshot:
    """One consistent state of the index, for as long as it is open."""

    def __init__(self, db: Connection, derived: Derived) -> None:
        self._db = db
        self._derived = derived

    @property
    def generation(self) -> int:
        return self._derived.generation

    @property
    def files(self) -> FileTable:
        return self._derived.files

    def meta(self) -> dict[str, str]:
        return read_meta(self._db)

    def counts(self) -> dict[str, tuple[int, int]]:
        return rows.counts(self._db)

    def languages(self) -> dict[str, int]:
        return rows.languages(self._db)

    def skips(self, reason: str | None = None) -> list[Skip]:
        return rows.all_skips(self._db, reason)

    def skip_counts(self) -> dict[str, int]:
        return rows.skip_counts(self._db)

    def known_files(self) -> KnownFiles:
        return KnownFiles({file.path: file for file in self.files.files}, rows.files_left_out(self._db))

    def file(self, path: str) -> StoredFile | None:
        return rows.find_file(self._db, path)

    def chunks(self, numbers: Sequence[int]) -> dict[int, StoredChunk]:
        return rows.chunks_by_number(self._db, numbers)

    def chunks_of(self, path: str) -> list[StoredChunk]:
        file = rows.find_file(self._db, path)
        return rows.chunks_of_file(self._db, file.id) if file else []

    def definitions(self, names: Sequence[str], limit: int = 1_000) -> list[Definition]:
        """Return the definitions of any of these lower-cased names."""
        return rows.defining_chunks(self._db, names, limit) if names else []

    def memo(self, make: Callable[[], T], *, lasting: bool = False) -> T:
        """Return what `make` gave when it was first asked for in this generation, or, lasting, in any."""
        kept = self._derived.lasting if lasting else self._derived.memos
        return cast(T, kept.setdefault(make, make()))

    def facts(self, file_id: int) -> Facts | None:
        """Return what a file says about names."""
        return rows.file_facts(self._db, file_id)

    def files_naming(self, name: str) -> list[tuple[int, int, int]]:
        """Number of each file that names it, with how often it defines and uses it."""
        return rows.files_naming(self._db, name)

    def spellings(self, name: str) -> list[str]:
        """Return the defined names that differ from this one by case only."""
        return rows.spellings(self._db, name)

    def keywords(self, corpus: Corpus) -> keywords.KeywordReader | None:
        return self._derived.keywords.get(corpus)

    def nearest(
        self, query: NDArray[np.int8], allowed: vectors.Mask, top: int, *, exact: bool = False
    ) -> tuple[vectors.Numbers, NDArray[np.float32]]:
        """Return the nearest chunks of these files; of a large index nearly all of them, unless told to be
        exact.
        """
        return vectors.scan(self._derived.segments, query, allowed, top, exact=exact)

    def nearest_among(
        self, query: NDArray[np.int8], wanted: vectors.Numbers, top: int
    ) -> tuple[vectors.Numbers, NDArray[np.float32]]:
        """Return the nearest of these chunks, outlines and all; `wanted` is sorted."""
        return vectors.scan_among(self._derived.segments, query, wanted, top)

    def facets(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """Number, type and tags of every chunk, by number."""
        return rows.chunk_facets(self._db)

    def chunks_defining(self, kinds: Sequence[str]) -> set[int]:
        """Return the numbers of the chunks that define something of one of these kinds."""
        return rows.chunks_defining(self._db, kinds)

    def likeness(self, query: NDArray[np.int8], numbers: Sequence[int]) -> dict[int, float]:
        """Return what `nearest` would say of these chunks."""
        return vectors.score_of(self._derived.segments, query, numbers)

    def vector(self, number: int) -> tuple[NDArray[np.int8], float]:
        """Return the stored vector of a chunk and its scale."""
        vector, scale = self._db.execute(
            "SELECT vector, scale FROM chunks WHERE id = ?", (number,)
        ).fetchone()
        return np.frombuffer(vector, np.int8), float(scale)

    def breadcrumbs(self, numbers: Sequence[int]) -> dict[int, str]:
        return rows.breadcrumbs(self._db, numbers)

    def embedding_keys(self, numbers: Sequence[int] | None = None) -> list[tuple[int, bytes]]:
        """Number and key of these chunks, or of all; equal keys mean equal vectors."""
        return rows.embedding_keys(self._db, numbers)

    def embedded_fields(self, numbers: Sequence[int]) -> list[EmbeddedFields]:
        """Return what a model reads of these chunks."""
        return rows.fields_of(self._db, numbers)
