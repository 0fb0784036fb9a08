"""An index in one file, made in a build pipeline and taken over by everyone who works on the project.

The file is a ZIP archive of `manifest.json` and `index.sqlite`. It may come from anyone, so
nothing of it is trusted: only these two names are read, sizes and the checksum must be as the
manifest says, the database must have our tables and nothing else, and its paths must stay below a root.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import IO, Any, get_type_hints

from findspot.core import sqlite
from findspot.core.errors import IndexCorruptError, IndexFormatError, InvalidArgumentError
from findspot.core.files import (
    PRIVATE_FILE_MODE,
    disk_full,
    make_private_dir,
    open_named,
    open_private,
    reason,
    replacing,
    translated_os_errors,
)
from findspot.core.sqlite import Connection, remove_database
from findspot.store.database import (
    FILE_NAME,
    FORMAT_VERSION,
    MIGRATIONS,
    connect,
    connect_reader,
    read_meta,
    write_meta,
)
from findspot.store.index_meta import COMPLETE
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store

ARCHIVE_FORMAT = 1
MANIFEST = "manifest.json"
_MAX_MANIFEST_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20
_MAX_RATIO = 100
"""Indexes are compressed to a third or a fourth."""

_WORKING = "prebuilt.sqlite"

_ITS_OWN = ("updated_at", "checked_at", "scanned_ns", "done", "total", "notes", "last_error", "project_path")
"""What an index says of its own runs. Without `scanned_ns` no time of writing proves anything."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a prebuilt index says of itself."""

    archive: int
    format: int
    project: str
    model: str
    pipeline: str
    files: int
    chunks: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What was taken over of a prebuilt index: the files that are here with the same content."""

    manifest: Manifest
    files: int
    chunks: int


def pack(store: Store, target: Path, project: str) -> Manifest:
    """Write the index to one file, which is there whole or not at all."""
    if target.exists() and not target.is_file():  # a device or a pipe would be gone
        raise InvalidArgumentError(f"{target} is not a file that can be replaced.")
    if store.meta().get("build") != COMPLETE:
        raise InvalidArgumentError(
            "The index is not finished, so it cannot be exported.", hint="Run `findspot index` first."
        )
    with tempfile.TemporaryDirectory(prefix="findspot-") as folder:  # the index's own may be read-only
        path = Path(folder, _WORKING)
        store.copy_to(path)
        with contextlib.closing(connect(path)) as db:
            db.executemany("DELETE FROM meta WHERE key = ?", ((key,) for key in _ITS_OWN))
        manifest = _describe(path, project)
        with (
            replacing(target, PRIVATE_FILE_MODE) as out,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2))
            archive.write(path, FILE_NAME)
        return manifest


def _describe(path: Path, project: str) -> Manifest:
    with contextlib.closing(connect_reader(path)) as db:
        version, meta = sqlite.version_of(db), read_meta(db)
        files, chunks = db.execute("SELECT count(*), coalesce(sum(chunks), 0) FROM files").fetchone()
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return Manifest(
        archive=ARCHIVE_FORMAT,
        format=version,
        project=project,
        model=meta.get("model", ""),
        pipeline=meta.get("pipeline", ""),
        files=files,
        chunks=chunks,
        bytes=path.stat().st_size,
        sha256=digest,
    )


def read_manifest(source: Path) -> Manifest:
    """Return what a file says of itself; one of a newer version is refused."""
    with _opened(source) as archive:
        return _manifest(archive)


def unpack(source: Path, store: SqliteStore, root: Path, check: Callable[[Connection], object]) -> Imported:
    """Make the index in a file the one of a store, after looking at all of it.

    `check` drops from the database what the files of the project do not confirm.
    """
    path = store.folder / _WORKING
    try:
        remove_database(path)
        with _opened(source) as archive:
            manifest = _manifest(archive)
            with translated_os_errors(path), archive.open(FILE_NAME) as packed:
                _extract(packed, path, manifest)
        check_database(path, manifest.model)
        take_checked(path, store, root, check)
    finally:
        remove_database(path)
    counts = store.figures()[1].values()
    return Imported(manifest, sum(files for files, _ in counts), sum(chunks for _, chunks in counts))


def take_checked(path: Path, store: SqliteStore, root: Path, check: Callable[[Connection], object]) -> None:
    """Make a database that `check_database` passed the index of a store, without what `check` drops."""
    try:
        with sqlite.translated(path), contextlib.closing(connect(path)) as db:
            sqlite.migrate(db, MIGRATIONS)
            check(db)
            write_meta(db, {"project_path": str(root)})
        store.take(path)
    except IndexFormatError:
        raise
    except IndexCorruptError as error:  # found by reading all of it; what was there before still is
        raise _not_an_index(error.developer_message) from error


_DAMAGES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError,
    KeyError, EOFError, RuntimeError, ValueError,
)  # fmt: skip
"""What reading an archive raises if somebody made or changed it otherwise than `pack`."""


@contextlib.contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_named(source) as opened, zipfile.ZipFile(opened) as archive:
            yield archive
    except FileNotFoundError:
        raise InvalidArgumentError(f"There is no file {source}.") from None
    except OSError as error:
        raise InvalidArgumentError(f"{source} cannot be read: {reason(error)}.") from error
    except _DAMAGES as error:
        raise _not_an_index(f"{error}") from error


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if archive.getinfo(MANIFEST).file_size > _MAX_MANIFEST_BYTES:
        raise _not_an_index("its manifest is too large")
    try:
        held: dict[str, Any] = json.loads(archive.read(MANIFEST))
        manifest = Manifest(**{name: kind(held[name]) for name, kind in get_type_hints(Manifest).items()})
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise _not_an_index(f"its manifest cannot be read: {error}") from error
    for found, known in ((manifest.archive, ARCHIVE_FORMAT), (manifest.format, FORMAT_VERSION)):
        if found > known:
            raise IndexFormatError(found, known)
    database = archive.getinfo(FILE_NAME)
    if database.file_size > _MAX_RATIO * database.compress_size:
        raise _not_an_index("its database is compressed more than any index is")
    return manifest


def _extract(packed: IO[bytes], path: Path, manifest: Manifest) -> None:
    """Copy the database out, and no more of it than the manifest says."""
    make_private_dir(path.parent)
    if shutil.disk_usage(path.parent).free < manifest.bytes:
        raise disk_full(path.parent, manifest.bytes)
    digest = hashlib.sha256()
    left = manifest.bytes
    with open_private(path, "wb") as out:
        while block := packed.read(_BLOCK_BYTES):
            left -= len(block)
            if left < 0:
                break
            digest.update(block)
            out.write(block)
    if left or digest.hexdigest() != manifest.sha256:
        raise _not_an_index("its content is not what its manifest says")


def check_database(path: Path, model: str) -> None:
    """Check that a file holds our tables and nothing else: a trigger or a view would run as ours."""
    try:
        with contextlib.closing(sqlite.connect_reader(path)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA cell_size_check = ON")
            version = sqlite.version_of(db)
            if version > FORMAT_VERSION:
                raise IndexFormatError(version, FORMAT_VERSION)
            if _tables(db) != _expected_tables(version):
                raise _not_an_index("its tables are not those of an index")
            lengths = set(db.execute("SELECT DISTINCT typeof(vector), length(vector) FROM chunks"))
            if not lengths <= {("blob", _dimensions(model))}:
                raise _not_an_index("its vectors are not of its model")
            paths = [path for (path,) in db.execute("SELECT path FROM files")]
    except sqlite.Error as error:
        raise _not_an_index(f"{error}") from error
    if not all(map(_stays_below, paths)):
        raise _not_an_index("it names files outside of a project")


def _tables(db: Connection) -> set[tuple[Any, ...]]:
    return set(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def _expected_tables(version: int) -> set[tuple[Any, ...]]:
    with contextlib.closing(sqlite.connect_in_memory()) as db:
        if version not in range(1, FORMAT_VERSION + 1):
            return set()
        sqlite.migrate(db, {step: MIGRATIONS[step] for step in range(version)})
        return _tables(db)


def _dimensions(model: str) -> int:
    """Return the last part of a model's name."""
    number = model.rpartition("/")[2]
    return int(number) if number.isdecimal() else 0


def _stays_below(path: object) -> bool:
    if not isinstance(path, str) or not path or "\0" in path:
        return False
    native = PurePath(path)  # which knows drives and backslashes where they mean something
    return not (native.drive or native.root or path.startswith("/") or ".." in native.parts)


def _not_an_index(detail: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "This file is not an index that `findspot export` wrote.",
        detail,
        hint="Export it again, and check that it was copied whole.",
    )
