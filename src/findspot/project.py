"""One project: its root, its settings, its index, and everything that can be asked of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.core.errors import IndexCorruptError, IndexNotFoundError
from findspot.core.files import folder_bytes
from findspot.core.locks import REBUILT, SET_ASIDE, is_locked
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
)
from findspot.core.paths import Roots, project_root
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.discover.checkouts import head_commit
from findspot.discover.walk import NOTED, left_out_notes
from findspot.embed.provider_registry import IN_THE_BOX, OpenEmbedder
from findspot.graph import given_up_note, pending_note, resolve_waiting
from findspot.history.project_history import ProjectHistory
from findspot.index_folders import repository_of
from findspot.indexer import Indexer, refresh_waiting, require_index
from findspot.indexing.delta import pending
from findspot.package_indexes import PackageIndexes
from findspot.publishing.published_history import PublishedHistory
from findspot.research.findings import DEFAULT_DEPTH, Context, Findings, Focus, Inquiry
from findspot.search.freshness import Disk, IndexedText
from findspot.search.reader import IndexReader
from findspot.store.database import JOURNAL_NOTE
from findspot.store.index_meta import COMPLETE, unfinished, was_stopped
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.sync.strategies import Lazy, strategy_note
from findspot.sync.supervisor import LOCK_NAME, Supervisor

if TYPE_CHECKING:
    from findspot.llm import Sample
    from findspot.research.task_signals import Request

MAX_PATH_RESULTS = 100_000
"""Paths a glob may give back, whatever the limit asked for."""

_FEW_PATHS = 5
"""Changed files that a warning names."""


class Project:
    """A folder with an index. Safe to use from several threads."""

    def __init__(
        self,
        root: str | Path,
        flags: dict[str, object] | None = None,
        embedder: OpenEmbedder | None = None,
    ) -> None:
        """Open the project of a folder; `flags` are settings that go before those of all files."""
        self.root = project_root(root)
        self.index = Indexer(self.root, flags or {}, embedder)
        self.packages = PackageIndexes(self.root, self.index.open_model)
        """What the project depends on, to be searched."""
        self._supervisor: Supervisor | None = None
        self._guard = threading.Lock()

    @property
    def store(self) -> Store:
        """Where the index is kept."""
        return self.index.store

    @property
    def settings(self) -> Settings:
        """The configuration in force now; edits to its files count at once."""
        return self.index.settings

    @property
    def roots(self) -> Roots:
        """Where the files are."""
        return self.index.roots

    @property
    def indexed(self) -> bool:
        """Whether there is an index to ask."""
        return self.store.exists

    def check(self) -> None:
        """Open the index: a missing, damaged or outdated one raises its error."""
        with self.store.snapshot():
            return

    def only(self) -> Project:
        """Return the project itself: it may be asked where a workspace may be, too."""
        return self

    def update(
        self,
        *,
        force: bool = False,
        allow_large: bool = False,
        first: Callable[[], Iterable[str]] = tuple,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> IndexReport:
        """Bring the index up to date; build it first if there is none.

        `force` indexes every file again. `allow_large` agrees to a project of more than `maxFiles`. `first`
        returns paths that are indexed before the others.
        """
        index = self.index
        run = index.run(
            asked=True,
            options=index.flags,
            force=force,
            allow_large=allow_large,
            first=first,
            progress=progress,
            cancel=cancel or CancelToken(),
        )
        with _give_way(self._supervisor):
            report = index.apply(run)
        self.history.update_soon()
        return report

    @property
    def history(self) -> ProjectHistory:
        """The commits of the project's repository; of a published index, those that it was published with."""
        return self._histories[self.store is self.index.shared]

    @cached_property
    def _histories(self) -> tuple[ProjectHistory, ProjectHistory]:
        open_model, shared = partial(self.index.open_model, IN_THE_BOX), self.index.shared
        own = ProjectHistory(self.root, self.index.own.folder, open_model)
        return own, PublishedHistory(shared, open_model) if shared else own

    def reindex_file(self, path: str) -> int:
        """Index one file again, whatever the index has of it; returns its number of chunks."""
        relative = self.roots.relative(path)
        require_index(self.root, self.index.own)
        with _give_way(self._supervisor):
            return self.index.reindex_file(relative)

    def delete(self) -> bool:
        """Delete the index; False when there was none."""
        if not self.store.folder.exists():
            return False
        with _give_way(self._supervisor):
            self.store.delete()
        return True

    def watch(self, *, delay_s: float = 0.0) -> Supervisor:
        """Keep the index fresh from now on, in this process or whichever watches already."""
        with self._guard:
            if self._supervisor is None:
                self._supervisor = Supervisor(self.index, delay_s=delay_s)
                self.history.update_soon()
            return self._supervisor

    @property
    def is_followed(self) -> bool:
        """Whether this process has compared all files with the index, sees every change, and none waits."""
        supervisor = self._supervisor
        if supervisor is None or supervisor.waiting:
            return False
        status = supervisor.status
        return status.watching and status.checked

    def unwatch(self) -> None:
        """Stop watching in this process."""
        with self._guard:
            supervisor, self._supervisor = self._supervisor, None
        if supervisor:
            supervisor.stop()

    @contextlib.contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """Open the index for one question: everything that is asked of it is read from one snapshot.

        Changes that wait under the `lazy` strategy are indexed before the snapshot is opened.
        """
        index, settings = self.index, self.settings
        if settings.sync.strategy == Lazy.name:
            refresh_waiting(index)
        open_model = partial(index.open_embedder, settings)
        store, roots, discover = index.store, self.roots, settings.discover
        with store.snapshot() as snapshot:
            disk = (
                IndexedText(roots, snapshot)
                if store.read_only
                else Disk(roots, discover.max_file_bytes, discover.secret_scan)
            )
            commits = self.history.commits
            yield IndexReader(snapshot, store, disk, open_model, self.packages.describe, commits)

    def search(
        self, query: Query, wanted: Assistance = NO_ASSISTANCE, client: Sample | None = None
    ) -> Results:
        """Answer a query; where `wanted`, expand it and sum up the results.

        `client` asks the language model of whoever is asking; without it, and without a configured
        service, both are done from the index itself.
        """
        if query.dependency is not None:
            return self.packages.search(query, query.dependency)
        if not wanted:
            with self.reader() as reader:
                return reader.search(query)
        from findspot.llm import choose_model  # which brings a client of HTTP
        from findspot.research.assisted_search import assisted_search

        return assisted_search(self.reader, query, wanted, choose_model(self.settings.llm, client))

    def research(
        self,
        question: str | Inquiry,
        depth: int = DEFAULT_DEPTH,
        focus: Focus | None = None,
        *,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Findings:
        """Answer what is asked about a relation or the structure; anything else with its task context."""
        inquiry = question if isinstance(question, Inquiry) else Inquiry(question, depth, focus)
        waiting = self._supervisor.waiting if self._supervisor is not None else frozenset()
        cancel = cancel or CancelToken()
        from findspot.research.investigate import investigate  # a search starts without it

        with self._graph_reader(progress, cancel) as reader:
            findings = investigate(reader, inquiry, progress, cancel)
            missing = [path for path in sorted(waiting - {""})[:_FEW_PATHS] if reader.lacks(path)]
        return replace(findings, warning=_with_missing(findings.warning, missing))

    def context(self, request: Request, cancel: CancelToken | None = None) -> Context:
        """Return what is needed next for a signal: regions with their reasons, or none if nothing fits."""
        cancel = cancel or CancelToken()
        from findspot.research.investigate import find_context

        with self._graph_reader(ignore_progress, cancel) as reader:
            return find_context(reader, request, cancel)

    @contextlib.contextmanager
    def _graph_reader(self, progress: ProgressSink, cancel: CancelToken) -> Iterator[IndexReader]:
        """Open the index for a question about references; some that are pending are resolved before it."""
        with self.reader() as reader:
            if not reader.snapshot.edges.pending():
                yield reader
                return
        resolve_waiting(self.store, progress, cancel)
        with self.reader() as reader:
            yield reader

    def files(self, pattern: str = "**", limit: int = MAX_PATH_RESULTS) -> tuple[list[str], int]:
        """Return the indexed paths that match a glob, in order, and how many there are before the limit."""
        with self.reader() as reader:
            paths = reader.files(pattern)
        return paths[: min(limit, MAX_PATH_RESULTS)], len(paths)

    def skipped(self, reason: str | None = None) -> list[Skip]:
        """Return files that are not in the index, or not all of them, and why."""
        with self.store.snapshot() as snapshot:
            return snapshot.skips.all(*filter(None, [reason]))

    def status(self, *, check_disk: bool = True) -> IndexStatus:
        """Return what the index holds and, with `check_disk`, how many files changed since."""
        watcher_error = self._supervisor.status.last_error if self._supervisor else ""
        try:
            with self.store.snapshot() as snapshot:
                return _status(self.index, snapshot, watcher_error, check_disk=check_disk)
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
        self.history.close()
        self.packages.close()
        self.index.close()


def _with_missing(warning: str | None, paths: list[str]) -> str | None:
    """Return a warning with files that changed a moment ago: they may change any answer of the graph."""
    note = f"Changed, and not indexed yet: {', '.join(paths)}. Ask again in a moment." if paths else None
    return " ".join(filter(None, (warning, note))) or None


def _give_way(supervisor: Supervisor | None) -> contextlib.AbstractContextManager[None]:
    return supervisor.giving_way() if supervisor else contextlib.nullcontext()


def _status(index: Indexer, snapshot: Snapshot, watcher_error: str, *, check_disk: bool) -> IndexStatus:
    meta, settings, counts = snapshot.meta(), index.settings, snapshot.files.counts()
    files, chunks = counts.get(Corpus.CODE, (0, 0))
    docs, doc_chunks = counts.get(Corpus.DOCS, (0, 0))
    writing = index.store.being_written
    state = _state(meta, writing=writing)
    done, total = int(meta.get("done", "0")), int(meta.get("total", "0"))
    stopped = unfinished(meta, files + docs, being_written=writing) if was_stopped(meta) else None
    rebuilt = REBUILT if (index.store.folder / SET_ASIDE).exists() else None
    roots = index.roots
    away = roots.missing
    compares = check_disk and not away and not index.store.read_only
    return IndexStatus(
        state=state,
        project_path=str(index.root),
        index_path=str(index.store.folder),
        total_files=files + docs,
        total_chunks=chunks + doc_chunks,
        total_docs=docs,
        total_doc_chunks=doc_chunks,
        storage_bytes=folder_bytes(index.store.folder),
        last_updated=meta.get("updated_at") or meta.get("created_at"),
        created_at=meta.get("created_at"),
        query_ready=files + docs > 0,
        pending_changes=pending(index.root, snapshot, settings) if compares else 0,
        watcher_active=is_locked(index.store.folder / LOCK_NAME),
        progress=None if state is IndexState.READY else Progress(done, total, "indexing"),
        last_error=away or meta.get("last_error") or watcher_error or index.failure or None,
        model=meta.get("model"),
        store=index.store.kind,
        strategy=settings.sync.strategy,
        languages=snapshot.files.languages(),
        skipped=snapshot.skips.counts(),
        notes=_notes(index, snapshot, settings, stopped, rebuilt),
        repository=repository_of(index.root, settings),
        commit=_commit(index),
    )


def _state(meta: Mapping[str, str], *, writing: bool) -> IndexState:
    """Return how far an index is, from what it says of itself."""
    is_complete = meta.get("build") == COMPLETE
    # Background work on a complete index is no news: it answers as before, and `pending_changes` counts.
    if writing and (not is_complete or meta.get("asked")):
        return IndexState.INDEXING
    return IndexState.READY if is_complete else IndexState.INCOMPLETE


def _notes(index: Indexer, snapshot: Snapshot, settings: Settings, *others: str | None) -> tuple[str, ...]:
    """Return what a user should know of the last full run, of what is left out, and of the strategy."""
    meta = snapshot.meta()
    left_out = left_out_notes(skip for reason in NOTED for skip in snapshot.skips.all(reason))
    more = strategy_note(settings.sync.strategy, index.root), meta.get(JOURNAL_NOTE)
    of_graph = pending_note(snapshot) if meta.get("build") == COMPLETE else None, given_up_note(snapshot)
    notes = (*meta.get("notes", "").split("\n"), *left_out, *more, *of_graph, index.store.notice, *others)
    return tuple(dict.fromkeys(filter(None, notes)))


def _commit(index: Indexer) -> str | None:
    """Return the commit that answers are from: a published one, else that of the checkout."""
    if index.shared is not None and index.store.read_only:
        version = index.shared.version
        return version.commit or None if version else None
    return head_commit(index.root)
