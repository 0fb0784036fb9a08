"""Damage of an index: how it is noticed, confirmed and marked.

`checksums.json` lists the database and every file of the keyword index, with its size and one CRC-32 per
block. It holds something exactly while nobody writes: a writer empties it before it changes anything, and
fills it when it is done. A writer that was killed leaves it empty; until the next run only SQLite's own
checks are left. Vector segments carry their own checksum (`vector_segments`).

`compared.json` says that the files were found intact, with their sizes, inodes and times: a new process reads
only files that have changed since. It expires after a day and when the machine restarts.

`damaged.json` marks an index that was found to be damaged. It outlives the process that found it and makes
the next run set the index aside and rebuild it: an update of a few files might never meet the damaged page.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexCorruptError, IndexFormatError
from findspot.core.facts import unpack
from findspot.core.files import (
    open_private,
    read_json,
    stat_of,
    translated_os_errors,
    write_atomic,
    write_json,
)
from findspot.core.log import get_logger
from findspot.core.model import Corpus
from findspot.core.paths import restrict_tree
from findspot.core.sqlite import Connection, Error, logged_pages, page_bytes, shrink_log, translated
from findspot.store.database import FILE_NAME, connect_reader, read_meta, write_meta
from findspot.store.derived import KEYWORDS, VECTORS
from findspot.store.records import ORDINAL_BITS, DerivedDamagedError

_log = get_logger("store")

CHECKSUMS = "checksums.json"
CHECKSUMS_NOTE = "checksums"
"""The row of `meta` that says that there is such a file: without it nothing could be trusted."""

COMPARED = "compared.json"
_COMPARED_COUNTS_S = 86_400
_SETTLED_S = 1.0
"""A file that changed less than this ago may change again without looking different."""

_NOTHING = -1

BLOCK_BYTES = 1 << 16
_TRIES = 5

Blocks = NDArray[np.uint32]
Described = tuple[int, ...]
"""A file as the system describes it."""
_CHANGED = 2
State = tuple[Described, Described]
"""Of `checksums.json` and of the database."""


class FileSums(NamedTuple):
    """The size of a file and the checksum of each block."""

    size: int
    blocks: Blocks


Sums = dict[str, FileSums]
"""By path within the folder of the index."""


class Checksums:
    """The checksums of one index, as this process has read, compared and written them."""

    def __init__(self, folder: Path, checked: set[str] | None = None) -> None:
        """Take the names of vector segments and word counts known to be whole; those noted are added."""
        self._folder = folder
        self._checked = set() if checked is None else checked
        self._path = folder / CHECKSUMS
        self._guard = threading.Lock()
        self._compared: State | None = None
        """In which state the files were compared …"""
        self._sums: Sums = {}
        """… and what it said."""
        self._looked: dict[str, Described] = {}
        """How the files looked that were found to be as written."""
        self._noted = _NOTHING
        """How many of the segments were known to be whole when that was written down."""
        self._is_strict = False
        """Whether what was written down counts no longer."""

    def check(self) -> None:
        """Compare the files with their checksums, once per state; raise the error of what is damaged."""
        state = self._state()
        if state is None:
            _require_sums(self._folder)
        if state is None or state == self._compared:
            if state is not None and self._noted != len(self._checked):
                self._note()
            return
        with self._guard:
            for _ in range(_TRIES):
                state = self._state()
                sums = _read(self._path)
                if state is None:
                    return
                if sums is None:
                    if self._state() == state:
                        raise IndexCorruptError(f"{CHECKSUMS} cannot be read")
                    continue  # a writer has begun meanwhile
                if self._compared and self._compared[0] == state[0]:
                    self._sums = {}  # somebody else has written to the database: all of it is compared
                looked = self._described(sums)
                is_noted = self._is_as_noted(looked, sums)
                damaged = None if is_noted else self._first_damaged(sums)
                if self._state() == state:  # else a writer has begun meanwhile
                    if damaged:
                        raise damaged
                    self._compared, self._sums, self._looked = state, sums, looked
                    self._noted = len(self._checked) if is_noted else _NOTHING
                    if not is_noted:
                        self._note()
                    return

    def begin(self) -> None:
        """Say that the files change from now on; only what was just compared need not be read at the end."""
        if self._compared is None or self._compared != self._state():
            self._sums = {}
        with translated_os_errors(self._path), open_private(self._path, "wb") as out:
            os.fsync(out.fileno())
        self._compared = None

    def finish(self, pages: set[int] | None, page_bytes: int) -> None:
        """Write the checksums of the files as they are; `pages` of the database changed, or any with None."""
        changed = None if pages is None else {(page - 1) * page_bytes // BLOCK_BYTES for page in pages}
        restrict_tree(self._folder / KEYWORDS)  # the files look from now on as the note will say
        with contextlib.suppress(FindspotError, OSError):  # without them nothing is compared
            sums = {name: self._renewed(name, changed) for name in self._names()}
            write_atomic(self._path, _encoded(sums))
            self._compared, self._sums, self._noted = self._state(), sums, _NOTHING
            self._looked = self._described(sums)

    @property
    def compared(self) -> State | None:
        """In which state the files were compared or written; None where they changed since."""
        return self._compared if self._compared == self._state() else None

    def forget(self) -> None:
        """Compare everything again at the next opportunity."""
        with self._guard:
            self._compared, self._sums, self._is_strict = None, {}, True

    def _note(self) -> None:
        """Write down that the files are as written, once the last change is a moment ago."""
        compared, now, known = self._compared, time.time(), len(self._checked)
        files = self._described((*self._sums, *(f"{VECTORS}/{name}" for name in sorted(self._checked))))
        self._looked = files | self._looked
        if _boot() is None or not files.items() <= self._looked.items():
            self._noted = known  # there is nothing to write down
        elif now - max(described[_CHANGED] for described in files.values()) / 1e9 > _SETTLED_S:
            self._noted = known
            if compared == self._state():
                with contextlib.suppress(FindspotError, OSError):  # the next process compares them again
                    write_json(self._folder / COMPARED, {"boot": _boot(), "at": now, "files": files})

    def _is_as_noted(self, looked: dict[str, Described], sums: Sums) -> bool:
        """Return whether files look as they did when they were found to be as written."""
        noted = {} if self._is_strict else self._read_note()
        if len(looked) <= len(sums) or not looked.items() <= noted.items():
            return False
        segments = {name: look for name, look in noted.items() if name.startswith(f"{VECTORS}/")}
        same = self._described(segments).items() & segments.items()
        self._checked.update(name.removeprefix(f"{VECTORS}/") for name, _ in same)
        return True

    def _read_note(self) -> dict[str, Described]:
        """Return how files that were found to be as written looked then."""
        try:
            held = read_json(self._folder / COMPARED)
            if held["boot"] != _boot() or abs(time.time() - held["at"]) > _COMPARED_COUNTS_S:
                return {}
            return {str(name): tuple(map(int, described)) for name, described in held["files"].items()}
        except (FindspotError, OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def _described(self, names: Iterable[str]) -> dict[str, Described]:
        """Return what the system says of the checksums and of files of the index, as far as they exist."""
        folder = str(self._folder)
        found = ((name, _description(f"{folder}/{name}")) for name in (CHECKSUMS, *names))
        return {name: described for name, described in found if described}

    def _state(self) -> State | None:
        """Return what changes with the checksums and with the database; None where there are none."""
        sums, database = _description(self._path), _description(self._folder / FILE_NAME)
        return (sums, database) if sums and database and sums[-1] else None

    def _names(self) -> Iterator[str]:
        yield FILE_NAME
        base = str(self._folder)
        for above, _, files in sorted(os.walk(f"{base}/{KEYWORDS}")):
            inside = above.removeprefix(base).replace(os.sep, "/").strip("/")
            yield from (f"{inside}/{name}" for name in sorted(files) if not name.endswith(".lock"))

    def _renewed(self, name: str, changed: set[int] | None) -> FileSums:
        """Return the checksums of a file; blocks that cannot have changed keep theirs."""
        path, known = f"{self._folder}/{name}", self._sums.get(name)
        size = os.stat(path).st_size  # noqa: PTH116 - every commit asks for every file; Path.stat takes 5 times as long
        if known and known.size == size and name != FILE_NAME and not name.endswith(".json"):
            return known  # the files of a keyword segment never change
        blocks = np.zeros(-(-size // BLOCK_BYTES), np.uint32)
        again = set(range(blocks.size))
        if known and name == FILE_NAME and changed is not None:
            same = min(known.size, size) // BLOCK_BYTES
            blocks[:same] = known.blocks[:same]
            again -= set(range(same)) - changed
        for number, checksum in _sums_of(Path(path), sorted(again)):
            blocks[number] = checksum
        return FileSums(size, blocks)

    def _first_damaged(self, sums: Sums) -> IndexCorruptError | None:
        """Return the error of the first file that is not as written; blocks known to be whole are not
        read.
        """
        for name, expected in sums.items():
            if not self._is_whole(name, expected):
                kind = IndexCorruptError if name == FILE_NAME else DerivedDamagedError
                return kind(f"{name} has changed since it was written")
        return None

    def _is_whole(self, name: str, expected: FileSums) -> bool:
        known = self._sums.get(name)
        again = np.arange(expected.blocks.size)
        if known and known.size == expected.size:
            again = np.flatnonzero(known.blocks != expected.blocks)
        try:
            path = self._folder / name
            if path.stat().st_size != expected.size:
                return False
            return all(checksum == expected.blocks[n] for n, checksum in _sums_of(path, again.tolist()))
        except FileNotFoundError:
            return False


def _require_sums(folder: Path) -> None:
    """Raise the error of an index whose checksums were removed; an older version wrote none."""
    database, sums = folder / FILE_NAME, folder / CHECKSUMS
    if sums.exists() or not database.exists():
        return
    with translated(database), contextlib.closing(sqlite.connect_reader(database)) as db:
        expected = sqlite.version_of(db) and CHECKSUMS_NOTE in read_meta(db)
    if expected and database.exists() and not sums.exists():
        raise IndexCorruptError(f"{CHECKSUMS} is missing")


def _description(path: str | Path) -> Described | None:
    file = stat_of(path)
    return file and (file.st_ino, file.st_mtime_ns, file.st_ctime_ns, file.st_size)


@cache
def _boot() -> str | None:
    """Return what differs after each start of the machine; None where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return None


def note_checksums(db: Connection) -> None:
    """Write down, once, that there is a file of checksums from now on."""
    if CHECKSUMS_NOTE not in read_meta(db):
        write_meta(db, {CHECKSUMS_NOTE: CHECKSUMS})


def _sums_of(path: Path, blocks: list[int]) -> Iterator[tuple[int, int]]:
    if not blocks:
        return
    with sqlite.open_beside(path) if path.name == FILE_NAME else _open(path) as source:
        for number in blocks:
            yield number, zlib.crc32(_read_block(source, number))


@contextlib.contextmanager
def _open(path: Path) -> Iterator[int]:
    with path.open("rb", buffering=0) as file:
        yield file.fileno()


if hasattr(os, "pread"):

    def _read_block(source: int, number: int) -> bytes:
        return os.pread(source, BLOCK_BYTES, number * BLOCK_BYTES)

else:

    def _read_block(source: int, number: int) -> bytes:
        os.lseek(source, number * BLOCK_BYTES, os.SEEK_SET)
        return os.read(source, BLOCK_BYTES)


def _encoded(sums: Sums) -> bytes:
    files = {name: [size, blocks.astype("<u4").tobytes().hex()] for name, (size, blocks) in sums.items()}
    return json.dumps({"version": 1, "crc": _crc(files), "files": files}, indent=1).encode()


def _read(path: Path) -> Sums | None:
    """Return the checksums; None where they are damaged themselves, or being written."""
    try:
        held: dict[str, Any] = json.loads(path.read_bytes())
        files = held["files"]
        if held["version"] != 1 or held["crc"] != _crc(files):
            raise ValueError("its own checksum is wrong")
        return {
            name: FileSums(int(size), np.frombuffer(bytes.fromhex(blocks), "<u4"))
            for name, (size, blocks) in files.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _crc(files: Any) -> int:
    return zlib.crc32(json.dumps(files, sort_keys=True).encode())


MARK = "damaged.json"

UNEXPECTED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, zlib.error)
"""What reading damaged rows may end in; or a mistake of ours, so it is confirmed first."""

_FALSE_ALARM = re.compile(r"(?:NULL|non-[A-Z]+) value in ")
"""What SQLite 3.40 says of columns in tables without rowids whose key is in another order."""

_TABLES = "meta files chunks symbols skips facts names edges edge_sources pending"

_MISCOUNTED = (
    "SELECT path FROM files WHERE chunks <> (SELECT COUNT(*) FROM chunks "
    f"WHERE chunks.id >= files.id << {ORDINAL_BITS} AND chunks.id < (files.id + 1) << {ORDINAL_BITS})"
)


class DamageDetector:
    """Notices, confirms and marks the damage of one index in the default store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = folder / FILE_NAME
        self.checked: set[str] = set()
        """Names of derived files, which never change, that were compared with their checksums."""
        self._checksums = Checksums(folder, self.checked)
        self._left: object = None
        """What the last writer of this process left behind, whole."""
        self.derived_is_whole = False
        """Of an index that is being written: whether its derived parts are still as that writer left them."""
        self.abandoned = False
        """Whether the writer gave up a commit, of which derived parts may hold something."""

    @property
    def is_marked(self) -> bool:
        """Whether the index was found to be damaged."""
        return self._database.is_file() and (self._folder / MARK).exists()

    def check(self) -> None:
        """Raise the error of an index that is marked, or that is not as it was written."""
        if self._database.is_file():
            check_mark(self._folder)
            self._compare()

    def confirm(self, error: BaseException) -> IndexCorruptError | None:
        """Mark a damaged database and return its error; None where it is whole, or of another format."""
        if isinstance(error, IndexFormatError) or not self._database.is_file():
            return None
        problem = find_problem(self._database)
        if problem is None:
            return None
        damage = IndexCorruptError(problem)
        mark_damaged(self._folder, damage)
        return damage

    def confirmed(self, error: IndexCorruptError) -> FindspotError:
        """Return the error of a database that is damaged for certain, or one that says that it is whole.

        A mistake in a statement of ours or one failed read is reported by SQLite much as damage is.
        """
        if isinstance(error, DerivedDamagedError) or self.is_marked:
            return error
        damage = self.confirm(error)
        if damage is not None or not isinstance(error.__cause__, Error):
            return damage or error
        return FindspotError(
            f"The index could not be used: {error.detail}. Nothing was changed.",
            f"{error.detail}; the database was read in full and is whole",
            hint="Try again; report it if it happens again.",
        )

    def begin_writing(self) -> bool:
        """Compare and drop the checksums; return whether the keyword index is damaged."""
        check_mark(self._folder)
        damaged = False
        try:
            if self._database.is_file():
                self._compare()
        except DerivedDamagedError as damage:
            _log.warning("rebuilding the keyword index: %s", damage.developer_message)
            damaged = True
        self.derived_is_whole = self._left is not None and self._left == self._now()
        self._left, self.abandoned = None, False
        self._checksums.begin()
        return damaged

    def end_writing(self, db: Connection, *, whole: bool) -> None:
        """Close the database, and write the checksums of what is whole."""
        try:
            pages = logged_pages(db, self._database)
            size = page_bytes(db)
            if shrink_log(db) and whole:
                self._checksums.finish(pages, size)
                self._left = None if self.abandoned else self._now()
        except Error:
            _log.info("without checksums until the next run")
        finally:
            db.close()

    def forget(self) -> None:
        """Check everything again that was found to be whole."""
        self.checked.clear()
        self._left = None
        self._checksums.forget()

    def _now(self) -> object:
        """Return what changes with the database and its derived parts; None where that cannot be told."""
        state = self._checksums.compared
        lists = [stat_of(self._folder / KEYWORDS / corpus / "meta.json") for corpus in Corpus]
        return state and (state, [(file.st_ino, file.st_mtime_ns) if file else None for file in lists])

    def _compare(self) -> None:
        try:
            self._checksums.check()
        except DerivedDamagedError:
            raise
        except IndexCorruptError as error:
            mark_damaged(self._folder, error)
            raise


def mark_damaged(folder: Path, error: IndexCorruptError) -> None:
    """Note that the index of a folder is damaged, where the folder can be written to."""
    with contextlib.suppress(FindspotError, OSError):
        write_json(folder / MARK, {"detail": error.detail})


def check_mark(folder: Path) -> None:
    """Raise the error of an index that was found to be damaged."""
    if not (folder / MARK).exists():
        return
    try:
        detail = str(read_json(folder / MARK)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        detail = "found to be damaged"
    raise IndexCorruptError(detail)


def find_problem(database: Path) -> str | None:
    """Read all of a database, and say what is wrong with it; None when nothing is."""
    try:
        with translated(database), contextlib.closing(connect_reader(database)) as db:
            return _problem(db)
    except IndexCorruptError as error:
        return error.detail
    except UNEXPECTED as error:
        return type(error).__name__


def _problem(db: Connection) -> str | None:
    for (said,) in db.execute("PRAGMA integrity_check"):
        if said != "ok" and not _FALSE_ALARM.match(said):
            return str(said)
    for table in _TABLES.split():
        for _ in db.execute(f"SELECT * FROM {table}"):
            continue
    if db.execute(_MISCOUNTED).fetchone():
        return "chunks of a file are missing"
    for (data,) in db.execute("SELECT data FROM facts"):
        unpack(data)
    return None
