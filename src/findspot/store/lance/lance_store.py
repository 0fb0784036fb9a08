"""The store on LanceDB: the truth in tables of a folder or an object store, answers from a local copy."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from findspot.core.errors import IndexBusyError, IndexCorruptError
from findspot.core.files import folder_bytes, make_private_dir, remove_folder, write_json
from findspot.core.model import Corpus
from findspot.store.index_lock import DELETE_WAIT_S, SET_ASIDE, IndexLock
from findspot.store.lance.lance_commits import foreign_head, open_commit
from findspot.store.lance.lance_format import CODE_DATABASE, DOCS_DATABASE, Head, first_head
from findspot.store.lance.lance_tables import Tables
from findspot.store.lance.lance_writer import LanceWriter
from findspot.store.lance.local_copy import FILL_WAIT_S, LocalCopy
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Figures

FINGERPRINTS = {Corpus.CODE: "fingerprints.json", Corpus.DOCS: "docs-fingerprints.json"}


class LanceStore:
    """An index in LanceDB. Its folder holds the local copy and, unless they are elsewhere, the tables."""

    kind = "lancedb"
    damaged = False
    """A damaged local copy is filled again at once, and damaged tables raise when read."""

    def __init__(
        self,
        folder: Path,
        project_path: str,
        uri: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.tables = Tables(uri or folder, options)
        self.remote = self.tables.remote
        self.lock = IndexLock(folder, project_path, str(self.tables.location))
        self.copy = LocalCopy(folder, project_path, self.tables, self.lock)
        self.maintenance = LanceMaintenance(self)

    @property
    def exists(self) -> bool:
        return (self.remote and self.copy.is_filled) or self.tables.exists

    @property
    def being_written(self) -> bool:
        return self.lock.is_held

    @property
    def behind(self) -> str:
        return self.copy.trouble and f"Answers come from the local copy. {self.copy.trouble}"

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
        """Return the bytes of the tables, where they are here, and of the local copy."""
        sizes = {
            "code tables": folder_bytes(self.folder / CODE_DATABASE),
            "documentation tables": folder_bytes(self.folder / DOCS_DATABASE),
            "local copy": sum(self.copy.store.parts().values()),
        }
        return {name: size for name, size in sizes.items() if size}

    @contextlib.contextmanager
    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> Iterator[LanceWriter]:
        """Open the only writer of this machine; of several machines, the first to commit goes on."""
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
            writer = self.copy.open_writer(stack, kind, max(wait_s, FILL_WAIT_S))
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
        """Check the derived parts of the local copy in full, and rebuild them where they are damaged."""
        self._store.copy.store.maintenance.repair()

    def set_aside(self) -> Path:
        """Move the tables to `index.bak`; those of an object store, which cannot be moved, are dropped."""
        store = self._store
        backup = store.folder / SET_ASIDE
        with store.lock.hold(make_folder=False):
            store.copy.store.maintenance.delete()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            if store.remote:
                store.tables.drop()
            for name in (CODE_DATABASE, DOCS_DATABASE):
                with contextlib.suppress(FileNotFoundError):
                    (store.folder / name).rename(backup / name)
        store.close()
        return backup

    def delete(self) -> None:
        """Remove the tables, then the folder; the lock is held so that nobody here is writing."""
        store = self._store
        with store.lock.hold(DELETE_WAIT_S):
            if store.remote:
                store.tables.drop()
            else:  # the code table first: from then on there is no index, whatever happens to the rest
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
