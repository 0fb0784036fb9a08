"""A published index as a folder of files: any HTTP server can serve it, and nothing has to run there.

`versions.json` lists the versions. Each version names its packs: archives as `store/prebuilt.py` writes them,
named by the SHA-256 of their content. The first pack is a whole index. A second one, if there is one, has the
list of all files, and the rows of those that differ from the first: so a version whose files are mostly those
of an earlier one costs little, and reading a version takes at most two files.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from findspot.core import sqlite
from findspot.core.errors import IndexFormatError, InvalidArgumentError, StoreUnavailableError
from findspot.core.files import ContentError, json_bytes, open_named, parse_json, reason, write_atomic
from findspot.core.http_client import Address, RequestFailedError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.model import FETCHING, Progress
from findspot.core.paths import expanded
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.utc_time import age
from findspot.publishing.choosing import likely_near, newest_first
from findspot.publishing.published import Sent, Version
from findspot.store.database import connect
from findspot.store.prebuilt import copy_complete, extract, pack_database
from findspot.store.records import ORDINAL_BITS
from findspot.store.store_protocol import Store

_log = get_logger("publishing")

FORMAT = 1
LIST = "versions.json"
MAX_PACK_BYTES = 2 << 30
MAX_LIST_BYTES = 4 << 20
PACK_TIMEOUT_S = 300.0
LIST_TIMEOUT_S = 20.0
SILENCE_S = 15.0
"""A server that sends nothing for so long is away."""

_LOCK = Path(".publishing", "lock")
_PATIENCE_S = 600.0
_FILE_MODE = 0o644
"""A web server, which is somebody else, reads the files."""

_MAX_DIFFERENT = 0.25
"""The share of chunks from which on a version becomes a whole pack of its own."""

_BLOCK_BYTES = 1 << 20
_PACK = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Pack:
    """One archive: the SHA-256 of its content, which names it, and its size."""

    sha256: str
    bytes: int

    @property
    def name(self) -> str:
        return f"{self.sha256}.findspot"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A version and its packs, as the list has them."""

    version: Version
    packs: tuple[Pack, ...]


Sink = Callable[[bytes], object]


class _Source(Protocol):
    """Where the files are read from."""

    address: str

    def read(self, name: str, sink: Sink, max_bytes: int, timeout_s: float) -> bool:
        """Hand over the content of a file, piece by piece; False where there is no such file."""


class _Site:
    """Files behind an HTTP address. Redirects are not followed."""

    def __init__(self, address: str) -> None:
        self._http = Address(address)
        self.address = self._http.text

    def read(self, name: str, sink: Sink, max_bytes: int, timeout_s: float) -> bool:
        limits: dict[str, Any] = {"timeout_s": timeout_s, "silence_s": SILENCE_S, "max_bytes": max_bytes}
        try:
            answer = self._http.ask("GET", f"/{name}", sink=sink, **limits)
        except RequestFailedError as error:
            raise _unavailable(self.address, str(error)) from error
        if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return False
        if answer.status != HTTPStatus.OK:
            redirected = " and redirects are not followed" if "location" in answer.headers else ""
            raise _unavailable(self.address, f"it answered with HTTP status {answer.status}{redirected}")
        return True


class _Folder:
    """Files in a folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = str(path)

    def read(self, name: str, sink: Sink, max_bytes: int, timeout_s: float) -> bool:
        try:
            with open_named(self.path / name) as content:
                while block := content.read(_BLOCK_BYTES):
                    max_bytes -= len(block)
                    if max_bytes < 0:
                        raise _unavailable(self.address, f"{name} is too large")
                    sink(block)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unavailable(self.address, reason(error)) from error
        return True


class StaticIndex:
    """The versions in a folder, which is read as a folder or over HTTP, and written only as a folder."""

    def __init__(self, address: str) -> None:
        remote = address.startswith(("http://", "https://"))
        self._folder = None if remote else expanded(address.removeprefix("file://")).resolve()
        self._source: _Source = _Site(address) if self._folder is None else _Folder(self._folder)
        self.address = self._source.address

    def versions(self) -> Sequence[Version]:
        """Return all versions, the newest first."""
        return newest_first(entry.version for entry in self._entries())

    def fetch(
        self,
        version: Version,
        path: Path,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> None:
        """Write a version's index to one database file."""
        packs = next((entry.packs for entry in self._entries() if entry.version == version), ())
        if not packs:
            raise _unavailable(self.address, f"it no longer has the version {version.commit[:12]}")
        with tempfile.TemporaryDirectory(prefix="findspot-") as folder:
            download = _Download(self._source, Path(folder), packs, progress, cancel or CancelToken())
            base, *others = [download.get(pack) for pack in packs]
            extract(base, path if not others else Path(folder, "base.sqlite"))
            for other in others:
                extract(other, path)
                _add_shared(path, Path(folder, "base.sqlite"))

    def add(self, version: Version, store: Store) -> Sent:
        """Add the index in a store as a version; only what its base version lacks is written."""
        version.check()
        with self._writing() as folder, tempfile.TemporaryDirectory(prefix="findspot-") as working:
            entries = self._entries()
            path = Path(working, "version.sqlite")
            copy_complete(store, path)
            base = self._base_for(version, entries)
            differing = None if base is None else _keep_differing(path, base, self._source, Path(working))
            packs = (base,) if base is not None and differing is not None else ()
            sent = Sent(0, 0)
            if differing != 0:
                added = _write_pack(path, folder)
                packs = (*packs, added)
                sent = Sent(version.files if differing is None else differing, added.bytes)
            others = [entry for entry in entries if entry.version.key != version.key]
            _write_list(folder, [_Entry(version, packs), *others])
            return sent

    def remove(self, versions: Iterable[Version]) -> None:
        """Remove versions, and the packs that no other version has."""
        removed = {version.key for version in versions}
        with self._writing() as folder:
            entries = [entry for entry in self._entries() if entry.version.key not in removed]
            _write_list(folder, entries)
            needed = {pack.name for entry in entries for pack in entry.packs}
            for path in folder.glob("*.findspot"):
                if path.name not in needed and _PACK.fullmatch(path.stem):
                    path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Path]:
        """Provide the folder to one publisher at a time."""
        if self._folder is None:
            raise InvalidArgumentError(
                f"{self.address} can only be read.",
                hint="Publish into the folder that is served there: `findspot publish FOLDER`.",
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidArgumentError(f"{self._folder} cannot be used: {reason(error)}.") from error
        with writer_lock(self._folder / _LOCK, _PATIENCE_S):
            yield self._folder

    def _base_for(self, version: Version, entries: Sequence[_Entry]) -> Pack | None:
        """Return the whole pack of the version that is probably nearest."""
        packs = {entry.version: entry.packs[0] for entry in entries}
        return next((packs[near] for near in likely_near(packs, version)), None)

    def _entries(self) -> list[_Entry]:
        data = bytearray()
        if not self._source.read(LIST, data.extend, MAX_LIST_BYTES, LIST_TIMEOUT_S):
            return []
        try:
            held = parse_json(bytes(data))
            if held["format"] > FORMAT:
                raise IndexFormatError(held["format"], FORMAT)
            rows = list(held["versions"])
        except (ContentError, ValueError, KeyError, TypeError) as error:
            raise _no_list(self.address, error) from error
        entries, wrong = [], ValueError("no version")
        for row in rows:
            try:
                entries.append(_entry(row))
            except (ValueError, KeyError, TypeError, AttributeError) as error:  # the others can still be used
                _log.info("%s: a version that is none: %s", self.address, error)
                wrong = ValueError(str(error))
        if rows and not entries:
            raise _no_list(self.address, wrong)
        return entries


class _Download:
    """Brings the packs of one version to a folder, and shows how far it is."""

    def __init__(
        self,
        source: _Source,
        folder: Path,
        packs: Sequence[Pack],
        progress: ProgressSink,
        cancel: CancelToken,
    ) -> None:
        self._source, self._folder = source, folder
        self._progress, self._cancel = progress, cancel
        self._total = sum(pack.bytes for pack in packs)
        self._done = 0

    def get(self, pack: Pack) -> Path:
        """Return a pack's file, whose content is the one that its name promises."""
        digest = hashlib.sha256()
        path = self._folder / pack.name
        with path.open("wb") as out:

            def take(block: bytes) -> None:
                self._cancel.check()
                digest.update(block)
                out.write(block)
                self._done += len(block)
                self._progress(Progress(self._done >> 10, self._total >> 10, FETCHING))

            there = self._source.read(pack.name, take, pack.bytes, PACK_TIMEOUT_S)
        if not there:
            raise _unavailable(self._source.address, f"{pack.name} is missing")
        if digest.hexdigest() != pack.sha256:
            raise InvalidArgumentError(
                f"{self._source.address} sent a damaged file.", f"{pack.name}: another SHA-256"
            )
        return path


def _entry(row: Any) -> _Entry:
    """Return one row of the list; ValueError, TypeError or KeyError where it is none."""
    packs = tuple(Pack(pack["sha256"], pack["bytes"]) for pack in row["packs"])
    version = Version(
        commit=row["commit"],
        branch=row["branch"],
        published_at=row["publishedAt"],
        files=row["files"],
        chunks=row["chunks"],
        model=row["model"],
        pipeline=row["pipeline"],
    )
    version.check()
    if not all(type(pack.bytes) is int and pack.bytes >= 0 for pack in packs):
        raise ValueError("a size that is none")
    if len(packs) not in (1, 2) or not all(_PACK.fullmatch(pack.sha256) for pack in packs):
        raise ValueError("packs that are none")
    if sum(pack.bytes for pack in packs) > MAX_PACK_BYTES:
        raise ValueError("packs that are too large")
    age(version.published_at)  # such a day exists
    return _Entry(version, packs)


def _write_list(folder: Path, entries: Iterable[_Entry]) -> None:
    rows = [
        {
            "commit": version.commit,
            "branch": version.branch,
            "publishedAt": version.published_at,
            "files": version.files,
            "chunks": version.chunks,
            "model": version.model,
            "pipeline": version.pipeline,
            "packs": [{"sha256": pack.sha256, "bytes": pack.bytes} for pack in packs],
        }
        for version, packs in ((entry.version, entry.packs) for entry in entries)
    ]
    write_atomic(folder / LIST, json_bytes({"format": FORMAT, "versions": rows}), _FILE_MODE)


def _write_pack(database: Path, folder: Path) -> Pack:
    """Write a database to the folder, under the name that its content gives it."""
    unnamed = folder / ".publishing" / "pack"
    pack_database(database, unnamed, "", _FILE_MODE)
    with unnamed.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    pack = Pack(digest, unnamed.stat().st_size)
    unnamed.replace(folder / pack.name)
    (folder / pack.name).chmod(_FILE_MODE)
    return pack


def _keep_differing(path: Path, base: Pack, source: _Source, working: Path) -> int | None:
    """Drop the rows of files that a pack has; returns how many files remain, or None where too many do."""
    try:
        archive = _Download(source, working, [base], ignore_progress, CancelToken()).get(base)
        extract(archive, working / "base.sqlite")
    except (InvalidArgumentError, StoreUnavailableError):
        return None  # it is damaged or gone: this version does without it
    with _together(path, working / "base.sqlite") as db:
        (total,) = db.execute("SELECT coalesce(sum(chunks), 0) FROM files").fetchone()
        (same,) = db.execute("SELECT coalesce(sum(chunks), 0) FROM shared").fetchone()
        if total - same > _MAX_DIFFERENT * total:
            return None
        (differing,) = db.execute(
            "SELECT count(*) FROM files WHERE id NOT IN (SELECT new FROM shared)"
        ).fetchone()
        (gone,) = db.execute(
            "SELECT (SELECT count(*) FROM base.files) - (SELECT count(*) FROM shared)"
        ).fetchone()
        for table, column in _ROWS.items():
            db.execute(f"DELETE FROM {table} WHERE {_file_number(table, column)} IN (SELECT new FROM shared)")
    with contextlib.closing(connect(path)) as db:
        db.execute("VACUUM")
    return int(differing or gone)


def _add_shared(path: Path, base: Path) -> None:
    """Add the rows of the files that a pack shares with its base, under this index's numbers."""
    with _together(path, base) as db:
        for table, column in _ROWS.items():
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
            moved = ", ".join(
                _renumbered(table, column) if name == column else f"b.{name}" for name in columns
            )
            joined = f"base.{table} b JOIN shared ON {_range(table, column)}"
            db.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {moved} FROM {joined}")


_ROWS = {"chunks": "id", "symbols": "chunk_id", "facts": "file_id", "names": "file_id"}
"""The tables with rows of a file, and the column whose number tells which file."""

_BY_CHUNK = ("chunks", "symbols")


def _file_number(table: str, column: str) -> str:
    return f"{column} >> {ORDINAL_BITS}" if table in _BY_CHUNK else column


def _renumbered(table: str, column: str) -> str:
    return f"b.{column} + ((new - old) << {ORDINAL_BITS})" if table in _BY_CHUNK else "new"


def _range(table: str, column: str) -> str:
    if table in _BY_CHUNK:
        return f"b.{column} BETWEEN old << {ORDINAL_BITS} AND ((old + 1) << {ORDINAL_BITS}) - 1"
    return f"b.{column} = old"


@contextlib.contextmanager
def _together(path: Path, base: Path) -> Iterator[sqlite.Connection]:
    """Open an index with its base attached, and the table `shared` of files that are the same in both.

    The rows of such files are the same too, apart from their numbers.
    """
    with sqlite.translated(path), contextlib.closing(connect(path)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("ATTACH ? AS base", (str(base),))
        with sqlite.transaction(db):
            db.execute(
                "CREATE TEMP TABLE shared AS SELECT f.id AS new, b.id AS old, f.chunks FROM files f "
                "JOIN base.files b USING (path, corpus, language, sha256, chunks)"
            )
            db.execute("CREATE UNIQUE INDEX temp.shared_new ON shared (new)")
            yield db
        db.execute("DETACH base")


def _no_list(address: str, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(f"{address} does not hold a published index.", f"{LIST}: {error!r}")


def _unavailable(address: str, detail: str) -> StoreUnavailableError:
    error = StoreUnavailableError(f"{address}: {detail}", hint="Check the address and the network.")
    error.user_message = f"{address} cannot be read: {detail}."
    error.args = (error.user_message,)
    return error
