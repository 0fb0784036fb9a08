"""The index of one project: built, brought up to date."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from findspot.core.config import (
    keep_given,
    load_settings,
    settings_now,
    write_starter,
)
from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    IndexStoppedError,
)
from findspot.core.log import get_logger
from findspot.core.model import IndexReport, Skip, SkipReason
from findspot.core.paths import Roots, index_folder, project_root, storable_root
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.discover.walk import classify, not_indexable, walk
from findspot.embed.embedder import Embedder, model_name
from findspot.embed.provider_registry import OpenEmbedder, OpenModels
from findspot.graph import resolve_waiting
from findspot.indexing import pipeline
from findspot.indexing.delta import is_current
from findspot.indexing.spread import RayWorkers
from findspot.indexing.workers import SparePool
from findspot.publishing.known_vectors import PublishedVectors
from findspot.publishing.published import PROJECT, PublishedIndex
from findspot.publishing.published_store import PublishedStore, ReadOnlyError
from findspot.store.index_meta import COMPLETE, was_stopped, write_metadata
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store
from findspot.store.stores import drop_old_store, holds_index
from findspot.sync.changed_paths import read_dirty
from findspot.sync.strategies import strategy_note
from findspot.sync.supervisor import MANY

_log = get_logger("project")

_OLD_STORE = "A project can no longer be stored in 'lancedb': its index was built again in the default store."

_NO_FAILURE = (CancelledError, FileLimitError, IndexBusyError, IndexFormatError)
"""Stopped on request, asked first, or not ours to write to."""


class Indexer:
    """Everything that changes the index of one project. Safe to use from several threads.

    What cuts and stores files is imported when something is indexed: a first question waits for no import
    that it does not need.
    """

    def __init__(
        self,
        root: Path,
        flags: dict[str, object],
        open_embedder: OpenEmbedder | None,
        folder: Path | None = None,
    ) -> None:
        """Open the index of a project; with `folder`, one that lies there and believes no settings of it."""
        self.root = root
        self.configured_at = root if folder is None else None
        """Where the project's own configuration is read."""
        self.flags = flags
        self._models = OpenModels()
        """Of a project that is opened alone; the projects of an engine share the engine's."""
        self.open_model = open_embedder or self._models
        self.workers = SparePool()
        self.shown_progress: Callable[[], AbstractContextManager[ProgressSink]] = lambda: (
            contextlib.nullcontext(ignore_progress)
        )
        """Provides what shows the progress of an update that nobody asked for."""
        self.publishes_to: str | None = None
        """The address of `findspot publish`, from which the index may begin too."""
        self.failure = ""
        """Why the last update of this process failed: a full disk may have no room for that."""
        folder = folder or index_folder(load_settings(flags=flags).home, root)
        wanted = load_settings(self.configured_at, folder, flags).store
        self.own = SqliteStore(folder, str(root))
        """The index of the files that are here."""
        published = (wanted.address or "") if self.configured_at else ""
        self.reads_from = published.replace(PROJECT, root.name) or None
        """The address of the published index that the project reads."""
        self.shared = self._published(self.reads_from) if self.reads_from else None
        """The published index that answers while there is no index of the files that are here."""

    @property
    def store(self) -> Store:
        return self.own if self.shared is None or holds_index(self.own.folder) else self.shared

    def _published(self, address: str) -> PublishedStore:
        return PublishedStore(self.own.folder, self.root, PublishedIndex(address))

    @property
    def has_files(self) -> bool:
        """Whether the index is of files that are here: a search server may have none of them."""
        if self.shared is None or not self.store.read_only:
            return True
        is_here = self.shared.has_common_file(self.root)
        return bool(walk(self.root, self.settings.discover).files) if is_here is None else is_here

    @property
    def settings(self) -> Settings:
        settings = settings_now(self.configured_at, self.own.folder, self.flags)
        if self.configured_at is None:
            found = settings.discover
            return replace(settings, discover=replace(found, build_folders=True, top_names=found.roots))
        return settings

    @property
    def roots(self) -> Roots:
        return Roots(self.root)

    @property
    def wanted(self) -> bool:
        """Whether there is an index to keep fresh: one that exists, and whose building nobody stopped."""
        if not self.store.exists or self.store.read_only:
            return self.store.exists
        try:
            return not was_stopped(self.store.meta())
        except FindspotError:  # a damaged one is wanted: the update rebuilds it
            return True

    def open_embedder(self, settings: Settings) -> Embedder:
        return self.open_model(settings.embed.provider, settings.embed)

    def run(self, **asked: Any) -> pipeline.Run:
        """Return an indexing run with the settings in force; `asked` says what is different about it."""
        if self.shared is not None and not self.has_files:
            raise ReadOnlyError(self.shared.address)
        settings = self.settings
        embedder = self.open_embedder(settings)
        return pipeline.Run(
            root=storable_root(self.root),  # it may be gone since the project was opened
            store=self.own,
            settings=settings,
            model=model_name(embedder),
            embedder=embedder,
            workers=self.workers,
            **asked,
        )

    def apply(self, run: pipeline.Run) -> IndexReport:
        """Bring the whole index up to date; the reason of a failure is stored for the status."""
        if run.settings.chunk.workers:  # a cluster is for whole projects: saved files are cut here
            run.workers = RayWorkers(run.settings.chunk.workers)
        published = None
        if address := self.publishes_to or self.reads_from:
            published = PublishedVectors(address.replace(PROJECT, self.root.name), self.root, run.model)
            run.known_vectors = published.of_file
        try:
            report = pipeline.apply(run)
        except FindspotError as error:
            _log.info("%s: indexing stopped: %s", self.root, error.developer_message)
            if not isinstance(error, _NO_FAILURE):
                self.failure = f"{error.user_message} ({error.developer_message})"
                _store_failure(self.own, self.failure)
            raise
        self.failure = ""
        rebuilt = _OLD_STORE if drop_old_store(self.own.folder) else None
        _write_files(self)
        if self.shared is not None:
            self.shared.close()  # from now on the index of these files answers
        strategy = strategy_note(run.settings.sync.strategy, run.root)
        notes = filter(None, (strategy, rebuilt, published.note if published else None))
        return replace(report, notes=(*report.notes, *notes))

    def reindex_file(self, relative: str) -> int:
        """Index one file again, whatever the index has of it; returns its number of chunks."""
        run = self.run()
        found = classify(self.root, relative, run.settings.discover)
        if isinstance(found, Skip):
            _remove(self.store, relative, found)
            raise not_indexable(relative, found)
        chunks = pipeline.apply_one(run, found)
        if run.skips and not chunks:
            raise not_indexable(relative, run.skips[0])
        write_metadata(self.store, self.root)
        return chunks

    def refresh(self, paths: frozenset[str] | None, cancel: CancelToken) -> None:
        """Bring paths, or everything, up to date without being asked, as a watcher does.

        Like all background work it creates no index, and continues none that was stopped.
        """
        require_index(self.root, self.store)
        if not self.wanted:  # the pipeline would find out, after a look at every file
            raise IndexStoppedError
        with self.shown_progress() as progress:
            first = self.store.read_only  # a reader's own index is begun as if somebody had asked
            if paths is None or first or not self.refresh_paths(paths, cancel, progress):
                self.apply(self.run(cancel=cancel, progress=progress, asked=first))

    def resolve_some(self, cancel: CancelToken) -> bool:
        """Resolve the references of some files that an update left pending; return whether more are."""
        return resolve_waiting(self.store, ignore_progress, cancel)

    def catch_up(
        self, progress: ProgressSink = ignore_progress, cancel: CancelToken | None = None
    ) -> str | None:
        """Index what changed before an answer is given; returns a warning where that cannot be done.

        Nobody asked for the update itself, so that its failure is no reason to give no answer.
        """
        if not self.flags and (options := _run_options(self.own)):
            with contextlib.closing(Indexer(self.root, options, self.open_model)) as same:
                return same.catch_up(progress, cancel)
        if not (self.has_files and self.wanted):
            return None
        if self.store.being_written and not is_complete(self.store):
            return None  # whoever builds it goes on, and the answer says how far that is
        try:
            first = self.store.read_only
            if first or not self._is_current():
                self.apply(self.run(progress=progress, cancel=cancel or CancelToken(), asked=first))
        except CancelledError:
            raise
        except IndexBusyError:
            return "Another process is updating the index: what changed a moment ago may be missing."
        except FileLimitError as error:
            grown = f"the project has grown to {error.count} files"
            return f"The index is not up to date: {grown}. Index it to go on."
        except FindspotError as error:
            return f"The index could not be brought up to date: {error.user_message}"
        return None

    def _is_current(self) -> bool:
        try:
            with self.store.snapshot() as snapshot:
                return is_current(project_root(self.root), snapshot, self.settings)
        except IndexCorruptError:  # the update repairs it
            return False

    def close(self) -> None:
        """Close files and end workers; the next use opens them again."""
        self.workers.close()
        self.own.close()
        if self.shared is not None:
            self.shared.close()
        self._models.close()

    def refresh_paths(
        self, paths: frozenset[str], cancel: CancelToken, progress: ProgressSink = ignore_progress
    ) -> bool:
        """Bring some paths up to date; returns False where the whole project has to be looked at."""
        try:
            if not pipeline.apply_paths(self.run(cancel=cancel, progress=progress), paths):
                return False
        except IndexFormatError:
            raise
        except IndexCorruptError:  # the way over the whole project knows what to do
            return False
        write_metadata(self.store, self.root)
        return True


def refresh_waiting(index: Indexer) -> None:
    """Index the changes that wait for a question; many are left to the watcher."""
    waiting = read_dirty(index.store.folder)
    if waiting and len(waiting) <= MANY and "" not in waiting:
        with contextlib.suppress(FindspotError):  # the answer says itself what is stale
            index.refresh_paths(waiting, CancelToken())


def require_index(root: Path, store: Store) -> None:
    if not store.exists:
        raise IndexNotFoundError(str(root), str(store.folder))


def is_complete(store: Store) -> bool:
    try:
        return store.exists and store.meta().get("build") == COMPLETE
    except FindspotError:
        return False


def _run_options(store: Store) -> dict[str, object]:
    """Return the settings that were given for the last run that somebody asked for, and for it alone."""
    with contextlib.suppress(FindspotError, ValueError):
        return dict(json.loads(store.meta().get("options", "{}"))) if store.exists else {}
    return {}


def _write_files(index: Indexer) -> None:
    """Write what is next to the database for people and other programs."""
    write_starter(index.store.folder)
    keep_given(index.configured_at, index.store.folder, index.flags)
    write_metadata(index.store, index.root)


def _remove(store: Store, relative: str, skip: Skip) -> None:
    with store.writer(create=False) as writer:
        if writer.remove(relative) and skip.reason is not SkipReason.VANISHED:
            writer.skips.add([skip])
        writer.commit()


def _store_failure(store: Store, failure: str) -> None:
    with contextlib.suppress(FindspotError), store.writer(create=False) as writer:
        writer.set_meta(last_error=failure)
        writer.commit()
