"""The databases of one index: their tables by version, and the exchange of the head.

The only module that knows lancedb. A place is a folder, or an address such as `s3://bucket/prefix`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.errors import IndexCorruptError, InvalidArgumentError
from findspot.store.lance.faults import translation
from findspot.store.lance.head import LANCE_FORMAT, Head, read_head
from findspot.store.lance.layout import (
    CODE_DATABASE,
    CODE_TABLE,
    DOCS_DATABASE,
    HEAD_TABLE,
    database_of,
    schema_of,
)

if TYPE_CHECKING:
    import lancedb
    import pyarrow as pa
    from lancedb.table import Table

CACHE_BYTES = 32 << 20
"""For what lancedb keeps of tables and of their indexes: rows are read once, in order, and copied."""

KEPT = timedelta(hours=1)
"""How long replaced versions stay: longer than any reader takes to copy the rows of one."""

_QUICK = {
    "allow_http": "true",
    "connect_timeout": "5s",
    "timeout": "5s",
    "client_max_retries": "2",
    "client_retry_timeout": "5",
}
"""For lists and the head, which are small: a service that does not answer is told within half a minute,
since lancedb asks six times for a list. Plain HTTP only where the address given says so."""

_LARGE = {"timeout": "60s", "client_max_retries": "3", "client_retry_timeout": "30"}
"""For rows, which may come over a slow line."""


class Tables:
    """Opens the tables of an index; safe to use from several threads."""

    def __init__(self, place: str | Path, options: Mapping[str, str] | None = None) -> None:
        """`options` of lancedb's client of an object store go before ours."""
        self.place = place
        self._options = dict(options or {})
        self.remote = not isinstance(place, Path)
        self._guard = threading.Lock()
        self._databases: dict[str, lancedb.DBConnection] = {}

    def stamp(self) -> str | None:
        """Return what changes whenever the head does, told without lancedb; None where that cannot be
        told.
        """
        if isinstance(self.place, Path):
            for table in (HEAD_TABLE, CODE_TABLE):
                versions = self.place / database_of(table) / f"{table}.lance" / "_versions"
                # Manifests count down, so that the newest is listed first.
                newest = min((path.name for path in versions.glob("*.manifest")), default=None)
                if newest:
                    return f"{table}/{newest}"
        return None

    @property
    def exists(self) -> bool:
        """Whether there is a head, or a table of chunks that another program made."""
        if isinstance(self.place, Path):
            return self.stamp() is not None
        return self.open(HEAD_TABLE) is not None or self.open(CODE_TABLE) is not None

    def head(self) -> Head | None:
        """Return the last commit; None where Findspot has made none."""
        table = self.open(HEAD_TABLE)
        if table is None:
            return None
        with self.translated():
            rows = table.to_arrow().to_pylist()
        if len(rows) != 1:
            raise IndexCorruptError(f"head: {len(rows)} rows")
        return read_head(rows[0]["generation"], rows[0]["format"], rows[0]["state"])

    def begin(self, head: Head) -> Head:
        """Write the first head of an index, or read the one that someone else wrote this moment."""
        import pyarrow as pa

        row = {"generation": head.generation, "format": LANCE_FORMAT, "state": head.state()}
        rows = pa.Table.from_pylist([row], schema_of(HEAD_TABLE))
        with self.translated(), contextlib.suppress(_Exists):
            self._create(HEAD_TABLE, rows)
        return self.head() or head

    def exchange(self, old: Head, new: Head) -> bool:
        """Put a head in the place of the one it was made from; False when that is no longer there."""
        table = self.open(HEAD_TABLE)
        if table is None:
            return False
        values = {"generation": new.generation, "format": LANCE_FORMAT, "state": new.state()}
        with self.translated():
            return bool(table.update(where=f"generation = {old.generation}", values=values).rows_updated)

    def open(self, name: str, version: int | None = None) -> Table | None:
        """Return a table as it is now, or as it was at a version; None when there is none of that name."""
        if isinstance(self.place, Path) and not (self.place / database_of(name) / f"{name}.lance").is_dir():
            return None  # to connect would make the folder, which stands for an index
        with self.translated():
            try:
                table = self._database(database_of(name)).open_table(name, storage_options=self._for(name))
            except (ValueError, FileNotFoundError) as error:
                if f"{error}".startswith(f"Table '{name}' was not found"):
                    return None
                raise
            if version is not None:
                table.checkout(version)
            return table

    def at(self, name: str, version: int) -> Table:
        """Return a table at the version that a head names; one that is gone is damage."""
        table = self.open(name, version)
        if table is None:
            raise IndexCorruptError(f"table {name} is missing")
        return table

    def make(self, name: str) -> Table:
        """Return a new, empty table."""
        with self.translated():
            return self._create(name, schema_of(name).empty_table())

    def drop(self) -> None:
        """Remove every table."""
        for database in (DOCS_DATABASE, CODE_DATABASE):
            with self.translated():
                self._database(database).drop_all_tables()

    def _create(self, name: str, rows: pa.Table) -> Table:
        try:
            return self._database(database_of(name)).create_table(name, rows, storage_options=self._for(name))
        except ValueError as error:
            if "already exists" in f"{error}":
                raise _Exists from error
            raise

    def _database(self, name: str) -> lancedb.DBConnection:
        with self._guard:
            if name not in self._databases:
                self._databases[name] = self._connect(name)
            return self._databases[name]

    def _connect(self, name: str) -> lancedb.DBConnection:
        os.environ.setdefault("LANCE_LOG", "error")  # read once, when the library is loaded
        try:
            import lancedb
        except ImportError:
            raise InvalidArgumentError(
                "The store 'lancedb' needs a package that is not installed.",
                hint="Run `pip install 'findspot[lance]'`.",
            ) from None
        session = lancedb.Session(index_cache_size_bytes=CACHE_BYTES, metadata_cache_size_bytes=CACHE_BYTES)
        if isinstance(self.place, Path):
            return lancedb.connect(self.place / name, session=session)
        uri = f"{self.place.rstrip('/')}/{name}"
        return lancedb.connect(uri, storage_options={**_QUICK, **self._options}, session=session)

    def _for(self, table: str) -> dict[str, str] | None:
        """Return how an object store is asked for a table; None for a folder."""
        large = {} if table == HEAD_TABLE else _LARGE
        return {**_QUICK, **large, **self._options} if self.remote else None

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn lancedb's errors, which differ by their texts only, into ours."""
        try:
            yield
        except (ValueError, RuntimeError, OSError) as error:
            raise translation(error, self.place) from error


class _Exists(Exception):  # noqa: N818  not an error: someone else was first
    """Someone else made the table this moment."""


def ann_index() -> Any:
    """Return a graph over vectors of one byte a value: of lancedb's kinds the quickest to build and to
    ask.
    """
    from lancedb.index import HnswSq

    return HnswSq(distance_type="cosine")
