"""The store on LanceDB: the truth in tables of a folder or an object store, answers from a local copy."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from findspot.core.errors import (
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import folder_bytes, make_private_dir, remove_folder, write_json
from findspot.core.locks import is_locked, writer_lock
from findspot.core.log import get_logger
from findspot.core.model import Corpus
from findspot.store.lance.lance_commits import Committed, Foreign, Truth, foreign_head
from findspot.store.lance.lance_format import CODE_DATABASE, DOCS_DATABASE, Head, first_head
from findspot.store.lance.lance_tables import Tables
from findspot.store.lance.lance_writer import EPOCH, ORIGIN, STAMP, CacheWriter, LanceWriter
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import DELETE_WAIT_S, LOCK_NAME, SET_ASIDE, IndexStore, WriterKind
from findspot.store.store_protocol import Figures

_log = get_logger("store")

C = TypeVar("C", bound=CacheWriter)

CACHE = "cache"
FINGERPRINTS = {Corpus.CODE: "fingerprints.json", Corpus.DOCS: "docs-fingerprints.json"}

_FILL_WAIT_S = 60.0
"""How long a writer, or a reader that has nothing yet, waits for someone who fills the copy."""

_ASK_EVERY_S = 2.0
"""How old an answer from an object store may be: each look at its head is a request."""

_LEAVE_ALONE_S = 30.0
"""How long a store that is away is not asked again: finding that out takes seconds each time."""


PATIENCE_S = 10.0
"""How long a search waits for a store that is slow; after that the copy will do, until the look is over."""


class _Look(threading.Thread):
    """One look at an object store, which whoever waits for it may leave alone."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 - a thread has no caller; whoever waits is told
            self._error = error

    def finished(self, within_s: float) -> bool:
        self.join(within_s)
        if self._error:
            raise self._error
        return not self.is_alive()


class LanceStore:
    """An index in LanceDB. Its folder holds the local copy and, unless it is elsewhere, the tables."""

    kind = "lancedb"

    def __init__(
        self,
        folder: Path,
        project_path: str,
        uri: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._project_path = project_path
        self._tables = Tables(uri or folder, options)
        self._cache = IndexStore(folder / CACHE, project_path)
        self._guard = threading.Lock()
        self._seen: str | None = None
        """The stamp under which the copy was last found to be current."""
        self._ask_at = float("-inf")
        self._looking: _Look | None = None
        self._trouble = ""

    @property
    def exists(self) -> bool:
        return (self._tables.remote and self._copied) or self._tables.exists

    @property
    def remote(self) -> bool:
        """Whether the tables are elsewhere than in the folder, and perhaps others' as well."""
        return self._tables.remote

    @property
    def _copied(self) -> bool:
        """Whether the local copy holds anything of the index: what was only begun answers nothing."""
        with contextlib.suppress(IndexCorruptError, IndexNotFoundError):
            return self._cache.exists and EPOCH in self._cache.figures()[0]
        return False

    @property
    def published(self) -> bool:
        """Whether there are tables, whatever the local copy holds."""
        return self._tables.exists

    @property
    def damaged(self) -> bool:
        """False: a damaged local copy is filled again at once, and damaged tables raise when read."""
        return False

    @property
    def being_written(self) -> bool:
        return is_locked(self._lock)

    @property
    def behind(self) -> str:
        return self._trouble and f"Answers come from the local copy. {self._trouble}"

    @property
    def _lock(self) -> Path:
        return self.folder / LOCK_NAME

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Provide the last commit, from the local copy, which is brought up to it first."""
        self._refresh()
        try:
            with self._cache.snapshot() as snapshot:
                yield snapshot
        except DerivedDamagedError:
            raise
        except IndexCorruptError:
            with contextlib.suppress(IndexBusyError):
                self._cache.delete()  # the next snapshot makes it anew
            raise

    def figures(self) -> Figures:
        self._refresh()
        return self._cache.figures()

    def meta(self) -> dict[str, str]:
        self._refresh()
        return self._cache.meta()

    def parts(self) -> dict[str, int]:
        """Return the bytes of the tables, where they are here, and of the local copy."""
        sizes = {
            "code tables": folder_bytes(self.folder / CODE_DATABASE),
            "documentation tables": folder_bytes(self.folder / DOCS_DATABASE),
            "local copy": sum(self._cache.parts().values()),
        }
        return {name: size for name, size in sizes.items() if size}

    @contextlib.contextmanager
    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> Iterator[LanceWriter]:
        """Provide the only writer of this machine; of several machines, the first to commit goes on."""
        with self._publisher(wait_s, create=create) as (writer, head):
            writer.follow(head, self._truth(head), self._tables.stamp())
            yield writer

    def publish(self) -> None:
        """Fill the tables with what the local copy holds."""
        with self._publisher(0.0) as (writer, _):
            writer.publish_all()

    @contextlib.contextmanager
    def _publisher(self, wait_s: float, *, create: bool = True) -> Iterator[tuple[LanceWriter, Head]]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(writer_lock(self._lock, wait_s, make_folder=create))
            except IndexNotFoundError:
                raise self._not_found() from None
            if not (create or self.exists or (self.folder / SET_ASIDE).is_dir()):
                raise self._not_found()
            head = self._tables.head() or self._begin()
            kind = partial(LanceWriter, tables=self._tables, head=head)
            writer = self._open_cache(stack, kind, max(wait_s, _FILL_WAIT_S))
            yield writer, head
            if writer.published:
                writer.tidy()
                self._write_fingerprints(writer)

    def tidy(self) -> None:
        """Put small fragments together and let go of old versions."""
        with self.writer() as writer:
            writer.tidy(now=True)

    def repair(self) -> None:
        self._cache.repair()

    def set_aside(self) -> Path:
        """Move the tables to `index.bak`; those of an object store, which cannot be moved, are dropped."""
        backup = self.folder / SET_ASIDE
        with writer_lock(self._lock, make_folder=False):
            self._cache.delete()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            if self._tables.remote:
                self._tables.drop()
            for name in (CODE_DATABASE, DOCS_DATABASE):
                with contextlib.suppress(FileNotFoundError):
                    (self.folder / name).rename(backup / name)
        self.close()
        return backup

    def copy_to(self, path: Path) -> None:
        self._refresh()
        self._cache.copy_to(path)

    def take(self, path: Path) -> None:
        """The local copy first: until the tables are published, they are what the index is."""
        self._cache.take(path)
        self.publish()

    def delete(self) -> None:
        """Remove the tables, then the folder; the lock is held so that nobody here is writing."""
        with writer_lock(self._lock, DELETE_WAIT_S):
            if self._tables.remote:
                self._tables.drop()
            else:  # the code table first: from then on there is no index, whatever happens to the rest
                for name in (CODE_DATABASE, DOCS_DATABASE):
                    shutil.rmtree(self.folder / name, ignore_errors=True)
            self._cache.delete()
            remove_folder(self.folder)
        self.close()

    def close(self) -> None:
        self._cache.close()
        with self._guard:
            self._seen, self._ask_at = None, float("-inf")

    def _refresh(self) -> None:
        """Bring the local copy to the last commit, where it is not."""
        stamp = self._tables.stamp()
        if not self._is_due(stamp):
            return
        if self._tables.remote and self._copied:
            self._look()
        else:
            self._bring(stamp)

    def _look(self) -> None:
        """Bring the copy up to date, but let nobody who has one wait long for a slow store."""
        with self._guard:
            if self._looking and self._looking.is_alive():
                return
            look = self._looking = _Look(partial(self._bring, None))
            look.start()
        if not look.finished(PATIENCE_S):
            self._fall_back(
                "The store of this index does not answer in time.", f"{self._tables.place} is slow"
            )

    def _bring(self, stamp: str | None) -> None:
        wait_s = _ASK_EVERY_S
        try:
            self._fill(stamp)
            self._trouble = ""
        except IndexBusyError:
            # Who has the copy's lock is bringing it there.
            if not self._copied:
                raise
        except IndexFormatError:
            raise
        except (StoreUnavailableError, StoreRefusedError, IndexCorruptError) as error:
            # Damage is for the indexer to mend: it has the files.
            if not self._tables.remote or not self._copied:
                raise
            self._fall_back(error.user_message, error.developer_message)
            wait_s = _LEAVE_ALONE_S
        with self._guard:
            self._ask_at = time.monotonic() + wait_s

    def _fall_back(self, trouble: str, detail: str) -> None:
        self._trouble = trouble
        _log.warning("answering from the local copy: %s", detail)

    def _is_due(self, stamp: str | None) -> bool:
        with self._guard:
            if stamp is None:
                return not self._tables.remote or time.monotonic() >= self._ask_at
            if stamp == self._seen:
                return not self._cache.exists
        if not self._cache.exists:
            return True
        try:
            current = self._cache.figures()[0].get(STAMP) == stamp
        except IndexCorruptError:
            return True
        if current:
            self._note(stamp)
        return not current

    def _note(self, stamp: str | None) -> None:
        with self._guard:
            self._seen = stamp

    def _fill(self, stamp: str | None) -> None:
        head = self._found()
        if self._has(head):
            self._note(stamp)
            if stamp is None:
                return
        try:
            self._follow(head, stamp)
        except IndexCorruptError:
            newer = self._found()
            if newer.commit == head.commit:
                raise
            self._follow(newer, None)  # what was being read was let go of meanwhile
        self._note(stamp)

    def _found(self) -> Head:
        head = self._tables.head() or foreign_head(self._tables)
        if head is None:
            if self._cache.exists:
                self._cache.delete()
            raise self._not_found()
        return head

    def _not_found(self) -> IndexNotFoundError:
        return IndexNotFoundError(self._project_path, str(self._tables.place))

    def _follow(self, head: Head, stamp: str | None) -> None:
        with contextlib.ExitStack() as stack:
            writer = self._open_cache(stack, CacheWriter, 0.0 if self._copied else _FILL_WAIT_S)
            writer.follow(head, self._truth(head), stamp)

    def _has(self, head: Head) -> bool:
        with contextlib.suppress(IndexCorruptError, IndexNotFoundError):
            return self._cache.exists and self._cache.figures()[0].get(ORIGIN) == head.commit
        return False

    def _truth(self, head: Head) -> Truth:
        return Foreign(self._tables, head) if head.foreign else Committed(self._tables, head)

    def _begin(self) -> Head:
        """Return the first head: of no tables yet, or of those that another program left here."""
        return self._tables.begin(foreign_head(self._tables) or first_head({}))

    def _open_cache(self, stack: contextlib.ExitStack, kind: WriterKind[C], wait_s: float) -> C:
        """Return a writer of the local copy; one that is damaged, or of a newer version, is made anew."""
        try:
            return stack.enter_context(self._cache.writer_of(kind, wait_s))
        except IndexCorruptError as error:
            _log.warning("filling the local copy anew: %s", error.developer_message)
            self._cache.delete()
            return stack.enter_context(self._cache.writer_of(kind, wait_s))

    def _write_fingerprints(self, writer: LanceWriter) -> None:
        """For other programs that know the specification's files; Findspot itself reads its tables."""
        files = writer.files()
        for corpus, name in FINGERPRINTS.items():
            held = {file.path: file.sha256 for file in files if file.corpus == corpus}
            write_json(self.folder / name, held)
