"""The tables of a published index: opened by version, changed by drafts, committed by their head.

The only module that writes with lancedb. A location is a folder, or an address such as `s3://bucket/prefix`.
`Tables` can only be read; only `findspot publish` opens `WritableTables`.

The head is the commit point: one row that lists the published versions, each with the versions of the tables
that hold its rows. Nobody sees what a publisher has added until the row is exchanged.

lancedb's errors differ only in their texts. Only an object that is missing or cut short counts as damage.
Everything else may be a service's bad day.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.errors import (
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    InvalidArgumentError,
    PermissionDeniedError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import disk_full
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    CODE_TABLE,
    HEAD_TABLE,
    KEYS,
    LANCE_FORMAT,
    NUMBERED,
    TABLES,
    database_of,
    schema_of,
    table_of,
)
from findspot.text.snippet import cut

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

_REFUSALS = (
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "RequestExpired", "InvalidToken",
    "AccessDenied", "RequestTimeTooSkewed",
)  # fmt: skip
_RIGHTS = (
    "Check the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE), when they expire, "
    "their rights to the bucket, and the clock of this machine."
)
INDEX_CACHE_BYTES = 128 << 20
METADATA_CACHE_BYTES = 16 << 20
"""What lancedb keeps of indexes and of tables: the most that a reader's memory grows by."""

KEEP_VERSIONS = timedelta(hours=1)
"""How long a version of a table stays that nothing needs: somebody may just be writing or reading it."""

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

_SHOWN_CHARS = 300
_MAX_LISTED = 2_000
"""Numbers in one condition."""

_LEAST_INDEXED = 1_000
"""Rows that are searched one by one: vectors of a small table, and what was added since an index was made."""

_VECTOR_BYTES = 64
"""The most of one vector in its index, so that a reader keeps the whole index in memory."""


class OvertakenError(IndexBusyError):
    """Someone else has written to a table meanwhile."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is published: exchanged as a whole."""

    generation: int = 0
    """How often the row was exchanged: who finds another number than it read has lost."""
    last_file: int = 0
    """The highest number ever given to a file."""
    versions: list[dict[str, Any]] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        state = {name: value for name, value in asdict(self).items() if name != "generation"}
        return {"generation": self.generation, "format": LANCE_FORMAT, "state": json.dumps(state)}

    @classmethod
    def read(cls, rows: Sequence[Mapping[str, Any]]) -> Head:
        """Return the head that a table holds; one of a newer format is refused."""
        if len(rows) != 1:
            raise IndexCorruptError(f"head: {len(rows)} rows")
        generation, version, state = rows[0]["generation"], rows[0]["format"], rows[0]["state"]
        if version > LANCE_FORMAT:
            raise IndexFormatError(version, LANCE_FORMAT)
        if version < LANCE_FORMAT:  # of rows that cannot be searched: they are published again
            return cls(generation)
        try:
            return cls(generation, **json.loads(state))
        except (ValueError, TypeError) as error:
            raise IndexCorruptError(f"head: {error}") from error


class Tables:
    """The tables of a published index, to be read; safe to use from several threads."""

    def __init__(self, location: str | Path, options: Mapping[str, str] | None = None) -> None:
        """`options` of lancedb's client of an object store go before ours."""
        self.location = location
        self._options = dict(options or {})
        self._guard = threading.Lock()
        self._session: lancedb.Session | None = None
        self._databases: dict[str, lancedb.DBConnection] = {}

    def head(self) -> Head | None:
        table = self.open(HEAD_TABLE)
        if table is None:
            return None
        with self.translated():
            rows = table.to_arrow().to_pylist()
        return Head.read(rows)

    def open(self, name: str, version: int | None = None) -> Table | None:
        """Return a table as it is now, or as it was at a version; None when there is none of that name."""
        database = database_of(name)
        if isinstance(self.location, Path) and not (self.location / database / f"{name}.lance").is_dir():
            return None  # connecting would create the folder
        with self.translated():
            try:
                table = self._database(database).open_table(name, storage_options=self._for(name))
            except (ValueError, FileNotFoundError) as error:
                if f"{error}".startswith(f"Table '{name}' was not found"):
                    return None
                raise
            if version is not None:
                table.checkout(version)
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
                "A published index needs a package that is not installed.",
                hint="Run `pip install 'findspot[lance]'`.",
            ) from None
        if self._session is None:
            self._session = lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)
        session = self._session
        if isinstance(self.location, Path):
            return lancedb.connect(self.location / name, session=session)
        uri = f"{self.location.rstrip('/')}/{name}"
        return lancedb.connect(uri, storage_options={**_QUICK, **self._options}, session=session)

    def _for(self, table: str) -> dict[str, str] | None:
        large = {} if table == HEAD_TABLE else _LARGE
        return None if isinstance(self.location, Path) else {**_QUICK, **large, **self._options}

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn lancedb's errors, which differ by their texts only, into ours."""
        try:
            yield
        except (ValueError, RuntimeError, OSError) as error:
            raise translation(error, self.location) from error


class WritableTables(Tables):
    """The tables of a published index, to be written as well."""

    def begin(self) -> Head:
        """Write the first head, or read the one that someone else has just written."""
        if self.open(CODE_TABLE) is not None:
            raise InvalidArgumentError(
                f"The tables at {self.location} belong to another program.",
                hint="Publish to an address of its own.",
            )
        self._database(database_of(HEAD_TABLE))  # says which package is missing, before one is used
        if isinstance(self.location, Path):
            self.location.mkdir(parents=True, exist_ok=True)
        self.make(HEAD_TABLE, table_of(HEAD_TABLE, [tuple(Head().row().values())]))
        return self.head() or Head()

    def exchange(self, old: Head, new: Head) -> bool:
        """Replace the head that this one was made from; False when that is no longer there."""
        table = self.open(HEAD_TABLE)
        if table is None:
            return False
        with self.translated():
            where = f"generation = {old.generation}"
            return bool(table.update(where=where, values=new.row()).rows_updated)

    def make(self, name: str, rows: pa.Table | None = None) -> None:
        """Make a table, unless someone else has just made it."""
        rows = schema_of(name).empty_table() if rows is None else rows
        with self.translated():
            try:
                self._database(database_of(name)).create_table(name, rows, storage_options=self._for(name))
            except ValueError as error:
                if "already exists" not in f"{error}":
                    raise

    def tidy(self, needed: Mapping[str, Collection[int]]) -> dict[str, tuple[int, int]]:
        """Drop the versions of tables that nobody needs: those that are named, and who is at work, do.

        Returns the last version of tables, and the one that has the same rows now, in fewer fragments.
        """
        moved = {}
        for name in TABLES:
            table = self.open(name)
            if table is None:
                continue
            with self.translated():
                last, versions = int(table.version), needed.get(name, ())
                table.optimize(cleanup_older_than=_age_to_keep(table, versions))
                table.checkout_latest()
                if last in versions:
                    moved[name] = last, int(table.version)
        return moved


def _age_to_keep(table: Table, needed: Collection[int]) -> timedelta:
    """Return the age beyond which no version is needed: lancedb drops by age alone."""
    now = datetime.now(tz=UTC)
    versions = ((each["version"], each["timestamp"]) for each in table.list_versions())
    ages: list[timedelta] = [
        now - when.astimezone(UTC) + _CLOCKS_DIFFER for version, when in versions if version in needed
    ]
    return max([KEEP_VERSIONS, *ages])


class Draft:
    """The tables as the next version will name them.

    Each change makes a new version of its table. One that does not follow on the last one seen means that
    someone else wrote in between, and the draft is given up.
    """

    def __init__(self, tables: WritableTables, base: Mapping[str, int]) -> None:
        self._tables = tables
        self._opened: dict[str, Table] = {}
        self.versions: dict[str, int] = {}
        for name in TABLES:
            self._rewind(name, base.get(name))

    def add(self, name: str, rows: pa.Table, *, instead: bool = False) -> None:
        """Add rows, or put them in the place of all others; a table that is empty takes over their fields."""
        table = self._opened[name]
        with self._tables.translated():
            appends = not instead and table.schema.equals(rows.schema)
            self._follow(name, table.add(rows, mode="append" if appends else "overwrite").version)

    def delete(self, name: str, numbers: Sequence[int]) -> None:
        for first in range(0, len(numbers), _MAX_LISTED):
            listed = ", ".join(map(str, numbers[first : first + _MAX_LISTED]))
            with self._tables.translated():
                self._follow(name, self._opened[name].delete(f"{NUMBERED[name]} IN ({listed})").version)

    def finish(self) -> dict[str, int]:
        """Let the indexes of the tables cover their rows; return the versions that hold all of it."""
        for name in KEYS:
            table = self._opened[name]
            with self._tables.translated():
                if not self._is_due(table, name):
                    continue
                before = _content(table, name)
                _index(table, name)
                table.checkout_latest()
                if _content(table, name) != before:
                    raise OvertakenError("another publisher")
                self.versions[name] = int(table.version)
        return dict(self.versions)

    def _is_due(self, table: Table, name: str) -> bool:
        """Return whether more rows are outside of the indexes than should be read one by one."""
        rows = table.count_rows()
        held = [table.index_stats(index.name) for index in table.list_indices()]
        unindexed = max((each.num_unindexed_rows for each in held if each), default=rows)
        return bool(rows and (unindexed > _LEAST_INDEXED or not held))

    def _rewind(self, name: str, version: int | None) -> None:
        """Open a table as a version has it; undo what a publisher left without committing."""
        if self._tables.open(name) is None:
            self._tables.make(name)
        table = self._tables.open(name)
        if table is None:
            raise IndexCorruptError(f"table {name} is missing")
        with self._tables.translated():
            if version is not None and table.version != version:
                table.restore(version)
            self._opened[name], self.versions[name] = table, int(table.version)
            if version is None and table.count_rows():
                self.add(name, schema_of(name).empty_table(), instead=True)

    def _follow(self, name: str, version: int) -> None:
        if version != self.versions[name] + 1:
            raise OvertakenError("another publisher")
        self.versions[name] = version


def _content(table: Table, name: str) -> tuple[int, int]:
    """Return what tells whether a table still has the same rows: their number, and the sum of their files."""
    import pyarrow.compute as pc

    batches = table.search().select([NUMBERED[name]]).to_batches()
    sums = [pc.sum(batch.column(0)).as_py() or 0 for batch in batches]
    return table.count_rows(), sum(sums)


def _index(table: Table, name: str) -> None:
    """Make the indexes of a table, or add to them the rows that they lack."""
    from lancedb.index import FTS, BTree, IvfPq

    indexed = {column for index in table.list_indices() for column in index.columns}
    wanted: dict[str, Any] = {column: BTree() for column in KEYS[name]}
    if name in CHUNK_TABLES.values():
        wanted["keywords"] = FTS(
            base_tokenizer="whitespace", max_token_length=None, lower_case=False, stem=False,
            remove_stop_words=False, ascii_folding=False,
        )  # fmt: skip
        if table.count_rows() > _LEAST_INDEXED:
            size = table.schema.field("vector").type.list_size
            parts = next(parts for parts in range(_VECTOR_BYTES, 0, -1) if size % parts == 0)
            wanted["vector"] = IvfPq(
                distance_type="cosine", num_sub_vectors=parts, sample_rate=32, max_iterations=10
            )
    if indexed:
        table.optimize(cleanup_older_than=timedelta(days=3_650))  # versions are dropped by their tags
    for column, config in wanted.items():
        if column not in indexed:
            table.create_index(column, config=config)


def translation(error: Exception, location: str | Path) -> FindspotError:
    """Return our error for one of lancedb's."""
    text = " ".join(f"{error}".split())
    shown = cut(text, _SHOWN_CHARS)
    if any(word in text for word in _CONFLICTS):
        return OvertakenError("another publisher")
    if isinstance(location, Path):
        if "os error 28" in text:
            return disk_full(location)
        return PermissionDeniedError(str(location)) if "os error 13" in text else IndexCorruptError(shown)
    return _answer_of_service(text, shown, location)


def _answer_of_service(text: str, shown: str, location: str) -> FindspotError:
    named, answered = _CODE.search(text), _STATUS.search(text)
    code, status = named[1] if named else "", answered[1] if answered else ""
    said = f"{location}: {status} {code}".strip()
    if code in _REFUSALS or status in _REFUSED:
        return StoreRefusedError(said, hint=_RIGHTS)
    if "CredentialsNotLoaded" in text or "Failed to get AWS credentials" in text:
        return StoreRefusedError(f"{location}: no credentials", hint=_RIGHTS)
    if status and status != _BEYOND_END:
        return StoreUnavailableError(said)
    if status or any(word in text for word in _DAMAGED):
        return IndexCorruptError(shown)
    return StoreUnavailableError(f"{location}: {shown}")  # away or slow: the texts are the same
