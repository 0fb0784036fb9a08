"""The store on LanceDB: the truth in tables of a folder, answers from a local copy in a default store."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from findspot.core.errors import IndexBusyError, IndexCorruptError, IndexNotFoundError
from findspot.core.files import folder_bytes, make_private_dir, remove_folder, write_json
from findspot.core.locks import DELETE_WAIT_S, SET_ASIDE, IndexLock
from findspot.core.log import get_logger
from findspot.core.model import Corpus
from findspot.store.lance.lance_commits import foreign_head, open_commit
from findspot.store.lance.lance_format import CODE_DATABASE, DOCS_DATABASE, Head, first_head
from findspot.store.lance.lance_tables import Tables, WritableTables
from findspot.store.lance.lance_writer import EPOCH, STAMP, CopyWriter, LanceWriter
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore, WriterKind
from findspot.store.store_protocol import Figures

_log = get_logger("store")

C = TypeVar("C", bound=CopyWriter)

CACHE = "cache"

FILL_WAIT_S = 60.0
"""How long a writer, or a reader that has nothing yet, waits for someone who fills the copy."""


def is_filled(copy: SqliteStore) -> bool:
    """Return whether a copy holds anything of its index: a copy that was only begun answers nothing."""
    with contextlib.suppress(IndexCorruptError, IndexNotFoundError):
        return copy.exists and EPOCH in copy.meta()
    return False


def open_copy_writer(copy: SqliteStore, stack: contextlib.ExitStack, kind: WriterKind[C], wait_s: float) -> C:
    """Open a writer of a copy; one that is damaged, or of a newer version, is rebuilt."""
    try:
        return stack.enter_context(copy.writer_of(kind, wait_s))
    except IndexCorruptError as error:
        _log.warning("filling the local copy again: %s", error.developer_message)
        copy.maintenance.delete()
        return stack.enter_context(copy.writer_of(kind, wait_s))


def follow(copy: SqliteStore, tables: Tables, head: Head, stamp: str | None = None) -> None:
    """Bring a copy to the commit of a head; only what differs is read."""
    with contextlib.ExitStack() as stack:
        wait_s = 0.0 if is_filled(copy) else FILL_WAIT_S
        writer = open_copy_writer(copy, stack, CopyWriter, wait_s)
        writer.follow(head, open_commit(tables, head), stamp)


class LocalCopy:
    """The local copy of tables in a folder."""

    def __init__(self, folder: Path, project_path: str, tables: Tables, lock: IndexLock) -> None:
        self.store = SqliteStore(folder / CACHE, project_path)
        self._tables = tables
        self._lock = lock
        self._guard = threading.Lock()
        self._current_stamp: str | None = None
        """The stamp under which the copy was last found to be current."""

    def refresh(self) -> None:
        """Bring the copy to the last commit, where it is not."""
        stamp = self._tables.stamp()
        if not self._is_due(stamp):
            return
        try:
            self._fill(stamp)
        except IndexBusyError:
            # Whoever has the copy's lock is filling it.
            if not is_filled(self.store):
                raise

    def close(self) -> None:
        """Close the copy, and compare it with the tables at the next opportunity."""
        self.store.close()
        self._note_current(None)

    def _is_due(self, stamp: str | None) -> bool:
        if stamp is None or not self.store.exists:
            return True
        with self._guard:
            if stamp == self._current_stamp:
                return False
        try:
            current = self.store.meta().get(STAMP) == stamp
        except IndexCorruptError:
            return True
        if current:
            self._note_current(stamp)
        return not current

    def _fill(self, stamp: str | None) -> None:
        head = self._last_head()
        try:
            follow(self.store, self._tables, head, stamp)
        except IndexCorruptError:
            newer = self._last_head()
            if newer.commit == head.commit:
                raise
            follow(self.store, self._tables, newer)  # the versions that were being read are gone
        self._note_current(stamp)

    def _last_head(self) -> Head:
        head = self._tables.head() or foreign_head(self._tables)
        if head is None:
            if self.store.exists:
                self.store.maintenance.delete()
            raise self._lock.not_found()
        return head

    def _note_current(self, stamp: str | None) -> None:
        with self._guard:
            self._current_stamp = stamp


FINGERPRINTS = {Corpus.CODE: "fingerprints.json", Corpus.DOCS: "docs-fingerprints.json"}


class LanceStore:
    """An index in LanceDB. Its folder holds the tables and their local copy."""

    kind = "lancedb"
    read_only = False
    notice = ""
    damaged = False
    """A damaged local copy is filled again at once, and damaged tables raise when read."""

    def __init__(self, folder: Path, project_path: str) -> None:
        self.folder = folder
        self.tables = WritableTables(folder)
        self.lock = IndexLock(folder, project_path, str(folder))
        self.copy = LocalCopy(folder, project_path, self.tables, self.lock)
        self.maintenance = LanceMaintenance(self)

    @property
    def exists(self) -> bool:
        return self.tables.exists

    @property
    def local(self) -> SqliteStore:
        return self.copy.store

    @property
    def being_written(self) -> bool:
        return self.lock.is_held

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open the last commit, from the local copy, which is brought up to it first."""
        self.copy.refresh()
        try:
            with self.copy.store.snapshot() as snapshot:
                yield snapshot
        except DerivedDamagedError:
            raise
        except IndexCorruptError:
            with contextlib.suppress(IndexBusyError):
                self.copy.store.maintenance.delete()  # the next snapshot rebuilds it
            raise

    def figures(self) -> Figures:
        """Return what the index says about itself, and its files and chunks by corpus."""
        self.copy.refresh()
        return self.copy.store.figures()

    def meta(self) -> dict[str, str]:
        """Return what the index says about itself."""
        self.copy.refresh()
        return self.copy.store.meta()

    def parts(self) -> dict[str, int]:
        """Return the bytes of the tables and of the local copy."""
        sizes = {
            "code tables": folder_bytes(self.folder / CODE_DATABASE),
            "documentation tables": folder_bytes(self.folder / DOCS_DATABASE),
            "local copy": sum(self.copy.store.parts().values()),
        }
        return {name: size for name, size in sizes.items() if size}

    @contextlib.contextmanager
    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> Iterator[LanceWriter]:
        """Open the only writer; of several programs that write, the first to commit goes on."""
        with self.publisher(wait_s, create=create) as (writer, head):
            writer.follow(head, open_commit(self.tables, head), self.tables.stamp())
            yield writer

    @contextlib.contextmanager
    def publisher(self, wait_s: float = 0.0, *, create: bool = True) -> Iterator[tuple[LanceWriter, Head]]:
        """Open the writer with whatever the local copy holds, and the head that it follows."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.lock.hold_for_writer(wait_s, lambda: self.exists, create=create))
            # The first head is of no tables yet, or of those that another program left here.
            head = self.tables.head() or self.tables.begin(foreign_head(self.tables) or first_head({}))
            kind = partial(LanceWriter, tables=self.tables, head=head)
            writer = open_copy_writer(self.copy.store, stack, kind, max(wait_s, FILL_WAIT_S))
            yield writer, head
            if writer.published:
                writer.tidy()
                self._write_fingerprints(writer)

    def close(self) -> None:
        """Close what is open; the store can still be used and opens it again."""
        self.copy.close()

    def _write_fingerprints(self, writer: LanceWriter) -> None:
        """For other programs that know the specification's files; Findspot itself reads its tables."""
        files = writer.files.all()
        for corpus, name in FINGERPRINTS.items():
            hashes = {file.path: file.sha256 for file in files if file.corpus == corpus}
            write_json(self.folder / name, hashes)


class LanceMaintenance:
    """What is done to an index in LanceDB as a whole."""

    def __init__(self, store: LanceStore) -> None:
        self._store = store

    def repair(self) -> None:
        """Rebuild the derived parts of the local copy."""
        self._store.copy.store.maintenance.repair()

    def set_aside(self) -> Path:
        """Move the tables to `index.bak`."""
        store = self._store
        backup = store.folder / SET_ASIDE
        with store.lock.hold(make_folder=False):
            store.copy.store.maintenance.delete()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            for name in (CODE_DATABASE, DOCS_DATABASE):
                with contextlib.suppress(FileNotFoundError):
                    (store.folder / name).rename(backup / name)
        store.close()
        return backup

    def delete(self) -> None:
        """Remove the tables, then the folder; the lock is held so that nobody here is writing."""
        store = self._store
        with store.lock.hold(DELETE_WAIT_S):
            # The code table first: from then on there is no index, whatever happens to the rest.
            for name in (CODE_DATABASE, DOCS_DATABASE):
                shutil.rmtree(store.folder / name, ignore_errors=True)
            store.copy.store.maintenance.delete()
            remove_folder(store.folder)
        store.close()

    def tidy(self) -> None:
        """Put small fragments together and drop old versions."""
        with self._store.writer() as writer:
            writer.tidy(now=True)

    def copy_to(self, path: Path) -> None:
        """Write everything that the index holds to one database file."""
        self._store.copy.refresh()
        self._store.copy.store.maintenance.copy_to(path)

    def take(self, path: Path) -> None:
        """Replace the index by what such a file holds: the local copy first, then the tables."""
        self._store.copy.store.maintenance.take(path)
        with self._store.publisher() as (writer, _):
            writer.publish_all()
