"""The tables of one index in LanceDB: opened by version, changed by drafts, committed by their head.

The only module that knows lancedb. A location is a folder, or an address such as `s3://bucket/prefix`.
`Tables` can only be read. Whoever writes opens `WritableTables`: the store of a folder, and publishing.

lancedb's errors differ only in their texts. Only an object that is missing or cut short counts as damage,
because an indexer drops a damaged index and rebuilds it. Everything else may be a service's bad day.

Each change makes a new version of its table. A version that does not follow on the last one seen means
that someone else wrote in between, and the draft is given up.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.errors import (
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    InvalidArgumentError,
    PermissionDeniedError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import disk_full
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    CODE_DATABASE,
    CODE_TABLE,
    DOCS_DATABASE,
    HEAD_TABLE,
    LANCE_FORMAT,
    TABLES,
    Head,
    database_of,
    read_head,
    schema_of,
)

if TYPE_CHECKING:
    import lancedb
    import pyarrow as pa
    from lancedb.table import Table

_CONFLICTS = ("Incompatible transaction", "ommit conflict", "concurrent writers", "oncurrent modification")
_DAMAGED = ("Not found:", "no longer exists", "Invalid range", "too small", "Corrupt", "corrupt", "magic")

_CODE = re.compile(r"<Code>(\w+)</Code>")
"""The service's own name of the error, in its answer."""
_STATUS = re.compile(r"\bstatus(?: code)?: (?:StatusCode\()?(\d{3})\b")
_REFUSED = ("401", "403")
_BEYOND_END = "416"
"""The answer to a request for a part that an object does not have."""

_RIGHTS = "Check the credentials (AWS_ACCESS_KEY_ID, …) and their rights to the bucket."
_UNKNOWN = "The service does not know these credentials: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
_EXPIRED = "The credentials have expired: renew them (AWS_SESSION_TOKEN, or your login), then try again."
_NONE = "No credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
_CLOCK = "The service's clock and this machine's differ too much: set the clock, then try again."
_BUSY = "The service asks for fewer requests. Nothing is lost: wait a minute, then try again."
_FAILED = "The service failed. Nothing is lost: try again later."
_BUCKET = "There is no such bucket: make it, or correct the address."

_REFUSALS = {
    "AccessDenied": _RIGHTS,
    "InvalidAccessKeyId": _UNKNOWN,
    "SignatureDoesNotMatch": _UNKNOWN,
    "ExpiredToken": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "InvalidToken": _EXPIRED,
    "RequestTimeTooSkewed": _CLOCK,
}
_FAILURES = {
    "NoSuchBucket": _BUCKET,
    "SlowDown": _BUSY,
    "429": _BUSY,
    "503": _BUSY,
    "500": _FAILED,
    "502": _FAILED,
}


CACHE_BYTES = 32 << 20
"""For what lancedb keeps of tables and of their indexes: rows are read once, in order, and copied."""

KEEP_VERSIONS = timedelta(hours=1)
"""How long replaced versions stay: longer than any reader takes to copy the rows of one."""

_CLOCKS_DIFFER = timedelta(minutes=1)
"""Added to the age of a version that has to stay."""

_QUICK = {
    "allow_http": "true",
    "connect_timeout": "5s",
    "timeout": "5s",
    "client_max_retries": "2",
    "client_retry_timeout": "5",
}
"""For lists and the head, which are small: a service that does not answer is noticed within half a minute,
since lancedb asks six times for a list. Plain HTTP only where the address given says so."""

_LARGE = {"timeout": "60s", "client_max_retries": "3", "client_retry_timeout": "30"}
"""For rows, which may come over a slow line."""


_MAX_LISTED = 2_000
"""Numbers in one condition."""


class OvertakenError(IndexBusyError):
    """Someone else has written to a table meanwhile."""


class Tables:
    """The tables of an index, to be read; safe to use from several threads."""

    def __init__(self, location: str | Path, options: Mapping[str, str] | None = None) -> None:
        """`options` of lancedb's client of an object store go before ours."""
        self.location = location
        self._options = dict(options or {})
        self.remote = not isinstance(location, Path)
        self._guard = threading.Lock()
        self._databases: dict[str, lancedb.DBConnection] = {}

    def stamp(self) -> str | None:
        """Return what changes with the head, read without lancedb; None for an object store."""
        if isinstance(self.location, Path):
            for table in (HEAD_TABLE, CODE_TABLE):
                versions = self.location / database_of(table) / f"{table}.lance" / "_versions"
                # Manifests count down, so that the newest is listed first.
                newest = min((path.name for path in versions.glob("*.manifest")), default=None)
                if newest:
                    return f"{table}/{newest}"
        return None

    @property
    def exists(self) -> bool:
        """Whether there is a head, or a table of chunks that another program made."""
        if isinstance(self.location, Path):
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

    def open(self, name: str, version: int | None = None) -> Table | None:
        """Return a table as it is now, or as it was at a version; None when there is none of that name."""
        if (
            isinstance(self.location, Path)
            and not (self.location / database_of(name) / f"{name}.lance").is_dir()
        ):
            return None  # connecting would create the folder, which means that there is an index
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
        if isinstance(self.location, Path):
            return lancedb.connect(self.location / name, session=session)
        uri = f"{self.location.rstrip('/')}/{name}"
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
            raise translation(error, self.location) from error


class _Exists(Exception):  # noqa: N818  not an error: someone else was first
    """Someone else has just made the table."""


class WritableTables(Tables):
    """The tables of an index, to be written as well."""

    def begin(self, head: Head) -> Head:
        """Write the first head of an index, or read the one that someone else has just written."""
        import pyarrow as pa

        row = {"generation": head.generation, "format": LANCE_FORMAT, "state": head.state()}
        rows = pa.Table.from_pylist([row], schema_of(HEAD_TABLE))
        with self.translated(), contextlib.suppress(_Exists):
            self._create(HEAD_TABLE, rows)
        return self.head() or head

    def exchange(self, old: Head, new: Head) -> bool:
        """Replace the head that this one was made from; False when that is no longer there."""
        table = self.open(HEAD_TABLE)
        if table is None:
            return False
        values = {"generation": new.generation, "format": LANCE_FORMAT, "state": new.state()}
        with self.translated():
            return bool(table.update(where=f"generation = {old.generation}", values=values).rows_updated)

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


def _age_to_keep(table: Table, needed: Collection[int]) -> timedelta:
    """Return the age beyond which no version is needed: lancedb drops by age alone."""
    now = datetime.now(tz=UTC)
    written: list[datetime] = [
        each["timestamp"] for each in table.list_versions() if each["version"] in needed
    ]
    ages = [now - when.astimezone(UTC) + _CLOCKS_DIFFER for when in written]
    return max([KEEP_VERSIONS, *ages])


def ann_index() -> Any:
    """Return a graph over vectors of one byte per value, lancedb's quickest kind to build and to search."""
    from lancedb.index import HnswSq

    return HnswSq(distance_type="cosine")


class Draft:
    """The tables as the next head will name them."""

    def __init__(self, tables: WritableTables, head: Head) -> None:
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

    def compact(self, needed: Mapping[str, Collection[int]] | None = None) -> None:
        """Put small fragments together, and drop versions that nobody can still be reading.

        `needed` names versions of tables that stay, with all that came after them.
        """
        for name, table in self._opened.items():
            with self._tables.translated():
                table.optimize(cleanup_older_than=_age_to_keep(table, (needed or {}).get(name, ())))
                table.checkout_latest()
                self.versions[name] = int(table.version)

    def _rewind(self, name: str, version: int | None) -> None:
        """Open a table as the head has it; undo what a writer left without committing."""
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


def translation(error: Exception, location: str | Path) -> FindspotError:
    """Return our error for one of lancedb's."""
    text = f"{error}"
    if any(word in text for word in _CONFLICTS):
        return OvertakenError("another indexer")
    if not isinstance(location, Path):
        return _refusal(text, location) or _failure(text, location)
    if "os error 28" in text:
        return disk_full(location)
    return (
        PermissionDeniedError(str(location)) if "os error 13" in text else IndexCorruptError(_shortened(text))
    )


def _refusal(text: str, location: str) -> StoreRefusedError | None:
    code, status = _named_error(text)
    if code in _REFUSALS or status in _REFUSED:
        return StoreRefusedError(f"{location}: {status} {code}".strip(), hint=_REFUSALS.get(code, _RIGHTS))
    if "CredentialsNotLoaded" in text or "Failed to get AWS credentials" in text:
        return StoreRefusedError(f"{location}: no credentials", hint=_NONE)
    return None


def _failure(text: str, location: str) -> FindspotError:
    code, status = _named_error(text)
    if status and status != _BEYOND_END:
        hint = _FAILURES.get(code) or _FAILURES.get(status, "")
        return StoreUnavailableError(f"{location}: {status} {code}".strip(), hint=hint)
    if status or any(word in text for word in _DAMAGED):
        return IndexCorruptError(_shortened(text))
    return StoreUnavailableError(f"{location}: {_shortened(text)}")  # away or slow: the texts are the same


def _named_error(text: str) -> tuple[str, str]:
    """Return the error that the service named, and the status of its answer."""
    code, status = _CODE.search(text), _STATUS.search(text)
    return code[1] if code else "", status[1] if status else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:300] + "…"
