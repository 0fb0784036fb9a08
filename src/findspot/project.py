"""One project: its root, its settings, its index, and everything that can be asked of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.config import RememberedSettings, keep_given, load_settings
from findspot.core.configfiles import write_starter
from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    IndexStoppedError,
    ModelMismatchError,
)
from findspot.core.files import folder_bytes
from findspot.core.locks import is_locked
from findspot.core.log import get_logger
from findspot.core.model import (
    NO_ASSISTANCE,
    Assistance,
    Corpus,
    IndexReport,
    IndexState,
    IndexStatus,
    Progress,
    Query,
    Results,
    Skip,
    SkipReason,
)
from findspot.core.paths import index_folder, project_root
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.roots import Roots, configured_roots
from findspot.core.settings import Settings, StoreSettings
from findspot.discover.admission import not_indexable, policy_of
from findspot.discover.walk import classify
from findspot.embed.embedder import Embedder, model_name
from findspot.embed.provider_registry import OpenEmbedder, OpenModels, two_speeds
from findspot.indexing import pipeline
from findspot.indexing.imported import keep_checked
from findspot.indexing.spread import RayWorkers
from findspot.indexing.workers import SparePool
from findspot.research.findings import DEFAULT_DEPTH, Findings, Focus, Inquiry
from findspot.search.freshness import Disk
from findspot.search.reader import IndexReader, QueryModels
from findspot.slower_model.background_reading import BackgroundReading, SlowerModel, slower_model_status
from findspot.store.index_meta import COMPLETE, unfinished, was_stopped, write_metadata
from findspot.store.prebuilt import Imported, Manifest, pack, read_manifest, unpack
from findspot.store.snapshot import Snapshot
from findspot.store.stores import check_kind, convert, open_store
from findspot.sync.catching_up import catch_up, run_options, status_notes
from findspot.sync.changed_paths import read_dirty
from findspot.sync.strategies import Lazy, strategy_note
from findspot.sync.supervisor import LOCK_NAME, MANY, Standing, Supervisor

if TYPE_CHECKING:
    from findspot.llm import Sample

_log = get_logger("project")

MAX_PATH_RESULTS = 100_000
"""Paths a glob may give back, whatever the limit asked for."""

_NO_FAILURE = (CancelledError, FileLimitError, IndexBusyError, IndexFormatError)
"""Stopped on request, asked first, or not ours to write to."""


class Project:
    """A folder with an index. Safe to use from several threads."""

    def __init__(
        self,
        root: str | Path,
        flags: dict[str, object] | None = None,
        embedder: OpenEmbedder | None = None,
    ) -> None:
        self.root = project_root(root)
        self._flags = flags or {}
        self._models = OpenModels()
        """Of a project that stands alone; an engine's projects share the engine's."""
        self._embedder = embedder or self._models
        self._workers = SparePool()
        self._supervisor: Supervisor | None = None
        self._slower = SlowerModel(self._embedder)
        self._failure = ""
        """Why the last update of this process failed: a full disk may have no room for that."""
        self._guard = threading.Lock()
        home = load_settings(flags=self._flags).home
        folder = index_folder(home, self.root)
        wanted = load_settings(self.root, folder, self._flags).store
        self.store = open_store(folder, str(self.root), wanted)
        self._settings = RememberedSettings(self.root, self.store.folder, self._flags)

    @property
    def settings(self) -> Settings:
        """The configuration in force now; edits to its files count at once."""
        return self._settings.now()

    @property
    def roots(self) -> Roots:
        """Where the files are: the project's folder, or those that `roots` names now."""
        return configured_roots(self.root, self.settings)

    def update(
        self,
        *,
        force: bool = False,
        allow_large: bool = False,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> IndexReport:
        """Bring the index up to date, making it first if there is none.

        `force` does every file anew. `allow_large` agrees to a project of more than `maxFiles`.
        """
        self.slower_model()  # a model that cannot be opened is told before anything is done
        check_kind(self.store, self._flags.get("store"))
        run = self._run(
            asked=True,
            options=self._flags,
            force=force,
            allow_large=allow_large,
            progress=progress,
            cancel=cancel or CancelToken(),
        )
        with self._alone():
            report = self._update(run)
        self._go_on_reading()
        return report

    def _update(self, run: pipeline.Run) -> IndexReport:
        run.other_reader = self._other_reader()
        if run.settings.chunk.workers:  # a cluster is for whole projects: saved files are cut here
            run.workers = RayWorkers(run.settings.chunk.workers)
        try:
            report = pipeline.apply(run)
        except FindspotError as error:
            _log.info("%s: indexing stopped: %s", self.root, error.developer_message)
            self._note_failure(error)
            raise
        self._failure = ""
        write_starter(self.store.folder)
        keep_given(self.root, self.store.folder, self._flags)
        write_metadata(self.store, self.root)
        note = strategy_note(run.settings.sync.strategy, run.tree)
        return replace(report, notes=(*report.notes, note)) if note else report

    def reindex_file(self, path: str) -> int:
        """Index one file anew, whatever the index thinks of it; returns its number of chunks."""
        relative = self.roots.relative(path)
        self._require_index()
        with self._alone():
            return self._reindex_file(relative)

    def _reindex_file(self, relative: str) -> int:
        run = self._run()
        found = classify(self.roots, relative, policy_of(run.settings))
        if isinstance(found, Skip):
            self._forget(relative, found)
            raise not_indexable(relative, found)
        chunks = pipeline.apply_one(run, found)
        if run.skips and not chunks:
            raise not_indexable(relative, run.skips[0])
        write_metadata(self.store, self.root)
        return chunks

    def delete(self) -> bool:
        """Remove the index; False when there was none."""
        if not self.store.folder.exists():
            return False
        with self._alone():
            self._slower.close()
            self.store.delete()
        return True

    @property
    def wanted(self) -> bool:
        """Whether there is an index to keep fresh: one that exists, and whose building nobody stopped."""
        if not self.store.exists:
            return False
        try:
            return not was_stopped(self.store.meta())
        except FindspotError:  # a damaged one is wanted: the update rebuilds it
            return True

    def refresh(self, paths: frozenset[str] | None, cancel: CancelToken) -> None:
        """Bring paths, or everything, up to date without being asked, as a watcher does.

        Like all background work it creates no index, and continues none that was stopped.
        """
        self._require_index()
        if not self.wanted:  # the pipeline would find out, after a look at every file
            raise IndexStoppedError
        if paths is not None and self._refresh_paths(paths, cancel):
            self._go_on_reading()
            return
        self._update(self._run(cancel=cancel))
        self._go_on_reading()

    def catch_up(
        self, progress: ProgressSink = ignore_progress, cancel: CancelToken | None = None
    ) -> str | None:
        """Index what changed before an answer is given; returns what to tell where that cannot be done."""

        def update() -> None:
            with self._alone():
                self._update(self._run(progress=progress, cancel=cancel or CancelToken()))

        if not self._flags and (options := run_options(self.store)):
            with contextlib.closing(Project(self.root, options, self._embedder)) as same:
                return same.catch_up(progress, cancel)
        return catch_up(self, update)

    def watch(self) -> Supervisor:
        """Keep the index fresh from now on, in this process or whichever watches already."""
        with self._guard:
            if self._supervisor is None:
                self._supervisor = Supervisor(self)
            return self._supervisor

    def unwatch(self) -> None:
        """Stop watching in this process."""
        with self._guard:
            supervisor, self._supervisor = self._supervisor, None
        if supervisor:
            supervisor.stop()

    def files(self, pattern: str = "**", limit: int = MAX_PATH_RESULTS) -> tuple[list[str], int]:
        """Indexed paths that match a glob, in order, and how many there are before the limit."""
        with self.reader() as reader:
            found = reader.files(pattern)
        return found[: min(limit, MAX_PATH_RESULTS)], len(found)

    def skipped(self, reason: str | None = None) -> list[Skip]:
        """Return files that are not in the index, and why."""
        with self.store.snapshot() as snapshot:
            return snapshot.skips(reason)

    @contextlib.contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """Open the index for one question: everything that is asked of it is read from one snapshot.

        What the `lazy` strategy left waiting is indexed before the snapshot is opened.
        """
        settings = self.settings
        if settings.sync.strategy == Lazy.name:
            self._catch_up()
        models = QueryModels(
            partial(self._open, settings), partial(self._slower.open_reader, self.store, settings.embed)
        )
        disk = Disk(self.roots, settings.discover.max_file_bytes, settings.discover.secret_scan)
        with self.store.snapshot() as snapshot:
            yield IndexReader(snapshot, self.store, disk, models, self._note_stale)

    def search(
        self, query: Query, wanted: Assistance = NO_ASSISTANCE, client: Sample | None = None
    ) -> Results:
        """Answer a query; where `wanted`, expand it and sum up the results.

        `client` asks the language model of whoever is asking; without it, and without a configured
        service, both are done from the index itself.
        """
        if not wanted:
            with self.reader() as reader:
                return reader.search(query)
        from findspot.llm import choose_model
        from findspot.research.assisted_search import assisted_search

        return assisted_search(self.reader, query, wanted, choose_model(self.settings.llm, client))

    def research(
        self,
        question: str | Inquiry,
        depth: int = DEFAULT_DEPTH,
        focus: Focus | None = None,
        *,
        client: Sample | None = None,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Findings:
        """Follow the code from a question: its symbols and relations, or what search finds for it."""
        from findspot.llm import choose_model
        from findspot.research.investigate import investigate
        from findspot.research.synthesis import summarise_findings

        inquiry = question if isinstance(question, Inquiry) else Inquiry(question, depth, focus)
        with self.reader() as reader:
            findings = investigate(reader, inquiry, progress, cancel or CancelToken())
        return summarise_findings(findings, choose_model(self.settings.llm, client))

    def convert_store(self, to: str) -> None:
        """Move the index to `default`, `lancedb` or an address, with its vectors as they are."""
        with self._alone():
            self.store = convert(self.store, StoreSettings(to, self.settings.store.uri), str(self.root))
        write_metadata(self.store, self.root)

    def export_index(self, target: str | Path) -> Manifest:
        """Write the index to one file, for others who work on the same files."""
        return pack(self.store, Path(target), self.root.name)

    def import_index(self, source: str | Path) -> Imported:
        """Take over an index that `export_index` wrote; `update` brings it to the files that are here."""
        manifest = read_manifest(Path(source))
        model = self._model(self.settings)
        if manifest.model != model:
            raise ModelMismatchError(manifest.model, model)
        with self._alone():
            check = partial(keep_checked, roots=self.roots.checked(), settings=self.settings)
            imported = unpack(Path(source), self.store, self.root, check)
        write_starter(self.store.folder)
        keep_given(self.root, self.store.folder, self._flags)
        write_metadata(self.store, self.root)
        return imported

    def status(self, *, check_disk: bool = True) -> IndexStatus:
        """Return what the index holds and, with `check_disk`, how it stands to the files on disk."""
        try:
            with self.store.snapshot() as snapshot:
                return self._status(snapshot, check_disk)
        except IndexNotFoundError:
            return IndexStatus(IndexState.NOT_FOUND, str(self.root), str(self.store.folder))
        except IndexCorruptError as error:
            return IndexStatus(
                IndexState.FAILED,
                str(self.root),
                str(self.store.folder),
                last_error=f"{error.user_message} ({error.developer_message})",
            )

    def close(self) -> None:
        """Close files and end workers; the project can still be used and opens them again."""
        self.unwatch()
        self._slower.close()
        self._workers.close()
        self.store.close()
        self._models.close()

    def _note_stale(self, paths: frozenset[str]) -> None:
        if self._supervisor:
            self._supervisor.note(paths)

    def _catch_up(self) -> None:
        """`lazy`: a search is what the waiting changes wait for; many are left to the watcher."""
        waiting = read_dirty(self.store.folder)
        if waiting and len(waiting) <= MANY and "" not in waiting:
            with contextlib.suppress(FindspotError):  # the answer says itself what is stale
                self._refresh_paths(frozenset(waiting), CancelToken())

    def _refresh_paths(self, paths: frozenset[str], cancel: CancelToken) -> bool:
        run = self._run(cancel=cancel)
        try:
            if not pipeline.apply_paths(run, paths):
                return False
        except IndexFormatError:
            raise
        except IndexCorruptError:  # the way over the whole project knows what to do
            return False
        write_metadata(self.store, self.root)
        return True

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """With this process's watcher keeping off."""
        supervisor = self._supervisor
        return supervisor.giving_way() if supervisor else contextlib.nullcontext()

    def _run(self, **asked: Any) -> pipeline.Run:
        """Return an indexing run with the settings in force; `asked` says what is different about it."""
        settings = self.settings
        fast, _ = two_speeds(settings.embed)
        return pipeline.Run(
            root=project_root(self.root),  # it may be gone since the project was opened
            roots=self.roots.checked(),
            store=self.store,
            settings=replace(settings, embed=fast),
            model=self._model(settings),
            embedder=self._open(settings),
            workers=self._workers,
            **asked,
        )

    def _model(self, settings: Settings) -> str:
        """Return what tells the vectors of one model from another's."""
        return model_name(self._open(settings))

    def _open(self, settings: Settings) -> Embedder:
        fast, _ = two_speeds(settings.embed)
        return self._embedder(fast.provider, fast)

    def slower_model(self) -> BackgroundReading | None:
        """Return the slower model that reads after the first, where one is chosen; it is opened here."""
        return self._slower.open(self.store, self.settings.embed)

    def _go_on_reading(self) -> None:
        """In a process that stays, the slower model reads in the background."""
        if self._supervisor is not None:
            self._slower.start(self.store, self.settings.embed)

    def _other_reader(self) -> bool:
        """Return whether this run is given another slower model than the index has, beside the same first
        one.
        """
        kept, given = load_settings(self.root, self.store.folder).embed, self.settings.embed
        same_first = two_speeds(kept)[0].provider == two_speeds(given)[0].provider
        return same_first and kept.provider != given.provider

    def _require_index(self) -> None:
        if not self.store.exists:
            raise IndexNotFoundError(str(self.root), str(self.store.folder))

    def _forget(self, relative: str, skip: Skip) -> None:
        with self.store.writer(create=False) as writer:
            if writer.remove(relative) and skip.reason is not SkipReason.VANISHED:
                writer.add_skips([skip])
            writer.commit()

    def _note_failure(self, error: FindspotError) -> None:
        """Keep the reason for the status, where there is an index to keep it in."""
        if isinstance(error, _NO_FAILURE):
            return
        self._failure = f"{error.user_message} ({error.developer_message})"
        with contextlib.suppress(FindspotError), self.store.writer(create=False) as writer:
            writer.set_meta(last_error=self._failure)
            writer.commit()

    def _status(self, snapshot: Snapshot, check_disk: bool) -> IndexStatus:
        meta, settings, counts = snapshot.meta(), self.settings, snapshot.counts()
        files, chunks = counts.get(Corpus.CODE, (0, 0))
        docs, doc_chunks = counts.get(Corpus.DOCS, (0, 0))
        complete, writing = meta.get("build") == COMPLETE, self.store.being_written
        # Background work on a complete index is no news: it answers as before, and `pending_changes` counts.
        indexing = writing and (not complete or bool(meta.get("asked")))
        state = IndexState.INDEXING if indexing else IndexState.READY if complete else IndexState.INCOMPLETE
        done, total = int(meta.get("done", "0")), int(meta.get("total", "0"))
        stopped = unfinished(meta, being_written=writing) if was_stopped(meta) else None
        roots, away = self.roots, self.roots.missing
        return IndexStatus(
            state=state,
            project_path=str(self.root),
            index_path=str(self.store.folder),
            total_files=files + docs,
            total_chunks=chunks + doc_chunks,
            total_docs=docs,
            total_doc_chunks=doc_chunks,
            storage_bytes=folder_bytes(self.store.folder),
            last_updated=meta.get("updated_at") or meta.get("created_at"),
            created_at=meta.get("created_at"),
            query_ready=files + docs > 0,
            pending_changes=pipeline.pending(roots, snapshot, settings) if check_disk and not away else 0,
            watcher_active=is_locked(self.store.folder / LOCK_NAME),
            progress=None if state is IndexState.READY else Progress(done, total, "indexing"),
            last_error=away or meta.get("last_error") or self._standing.last_error or self._failure or None,
            model=meta.get("model"),
            slower_model=slower_model_status(self.store, settings.embed),
            store=self.store.kind,
            strategy=settings.sync.strategy,
            languages=snapshot.languages(),
            skipped=snapshot.skip_counts(),
            notes=status_notes(snapshot, settings, roots, self.store.behind, stopped),
        )

    @property
    def _standing(self) -> Standing:
        return self._supervisor.standing if self._supervisor else Standing(watching=False)
