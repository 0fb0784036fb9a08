"""One consistent state of an index, as a search reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from findspot.core.sqlite import Connection
from findspot.store.database import read_meta
from findspot.store.derived import Derived
from findspot.store.edge_rows import EdgeRows
from findspot.store.fact_rows import FactRows
from findspot.store.index_rows import ChunkRows, SkipRows, SymbolRows, file_record
from findspot.store.records import FileRecord, KnownFiles, StoredFile

T = TypeVar("T")


class Snapshot:
    """One generation of the index, for as long as it is open; what it holds is read by its parts."""

    def __init__(self, db: Connection, derived: Derived) -> None:
        self._db = db
        self.derived = derived
        self.generation = derived.generation
        self.files = derived.files
        self.keywords = derived.keywords
        self.vectors = derived.vectors
        self.chunks = ChunkRows(db)
        self.symbols = SymbolRows(db, derived.files.by_id)
        self.facts = FactRows(db)
        self.edges = EdgeRows(db)
        self.skips = SkipRows(db)
        self._meta: dict[str, str] = {}

    def meta(self) -> dict[str, str]:
        self._meta = self._meta or read_meta(self._db)
        return self._meta

    def known_files(self) -> KnownFiles:
        return KnownFiles({file.path: file for file in self.files.files}, self.skips.files_read())

    def record(self, file: StoredFile) -> FileRecord:
        return file_record(self._db, file)

    def memo(self, make: Callable[[], T], *, lasting: bool = False) -> T:
        """Return what `make` gave when it was first asked for in this generation, or, lasting, in any."""
        memos = self.derived.lasting if lasting else self.derived.memos
        return cast(T, memos.setdefault(make, make()))
