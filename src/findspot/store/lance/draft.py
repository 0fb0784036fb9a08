"""Changes to the tables that no head names yet.

Each change makes a new version of its table. A version that does not follow on the last one
seen means that someone else wrote in between, and the draft is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from findspot.store.lance.faults import OvertakenError
from findspot.store.lance.head import Head
from findspot.store.lance.layout import CHUNK_TABLES, TABLES, schema_of
from findspot.store.lance.tables import KEPT, Tables, ann_index

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.table import Table

_MAX_LISTED = 2_000
"""Numbers in one condition."""


class Draft:
    """The tables as the next head will name them."""

    def __init__(self, tables: Tables, head: Head) -> None:
        self._tables = tables
        self._opened: dict[str, Table] = {}
        self.versions: dict[str, int] = {}
        for name in TABLES:
            self._rewind(name, head.tables.get(name))

    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows; a table that is empty takes over their fields."""
        table = self._opened[name]
        with self._tables.translated():
            alike = table.schema.equals(rows.schema)
            self._follow(name, table.add(rows, mode="append" if alike else "overwrite").version)

    def delete(self, name: str, field: str, numbers: Sequence[int]) -> None:
        """Remove the rows of these numbers."""
        for first in range(0, len(numbers), _MAX_LISTED):
            listed = ", ".join(map(str, numbers[first : first + _MAX_LISTED]))
            with self._tables.translated():
                self._follow(name, self._opened[name].delete(f"{field} IN ({listed})").version)

    def empty(self, name: str) -> None:
        """Remove every row, and give the table our fields."""
        with self._tables.translated():
            rows = schema_of(name).empty_table()
            self._follow(name, self._opened[name].add(rows, mode="overwrite").version)

    def index_vectors(self, least_rows: int) -> None:
        """Give large tables of chunks an approximate index, for programs that search them as they are."""
        for name in CHUNK_TABLES.values():
            table = self._opened[name]
            with self._tables.translated():
                indexed = any("vector" in index.columns for index in table.list_indices())
                if not indexed and table.count_rows() >= least_rows:
                    table.create_index("vector", config=ann_index())

    def compact(self) -> None:
        """Put small fragments together, and let go of versions that nobody can still be reading."""
        for name, table in self._opened.items():
            with self._tables.translated():
                table.optimize(cleanup_older_than=KEPT)
                table.checkout_latest()
                self.versions[name] = int(table.version)

    def _rewind(self, name: str, version: int | None) -> None:
        """A table as the head has it: what a writer left that did not get to its commit is undone."""
        found = self._tables.open(name)
        table = self._tables.make(name) if found is None else found
        with self._tables.translated():
            if found is not None and version is not None and table.version != version:
                table.restore(version)
            self._opened[name], self.versions[name] = table, int(table.version)
        if found is not None and version is None:
            self.empty(name)

    def _follow(self, name: str, version: int) -> None:
        if version != self.versions[name] + 1:
            raise OvertakenError("another indexer")
        self.versions[name] = version
