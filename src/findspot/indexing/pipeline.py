"""Indexing: discover → compare → cut and embed → store, in committed batches."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from findspot.core.errors import (
    CancelledError,
    DiskFullError,
    FileLimitError,
    FindspotError,
    IndexCorruptError,
    IndexFormatError,
    IndexStoppedError,
    ModelMismatchError,
)
from findspot.core.files import disk_full
from findspot.core.locks import REBUILT
from findspot.core.log import get_logger
from findspot.core.model import Chunk, IndexReport, Progress, Skip, SkipReason, SourceFile
from findspot.core.platforms import memory_given_back
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.core.utc_time import utc_now
from findspot.discover.walk import Discovery, left_out_notes, look, walk
from findspot.embed.chunk_vectors import embed_chunks
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.embed.provider_registry import provider_named
from findspot.graph import given_up_note, store_edges
from findspot.indexing.delta import (
    Delta,
    compare,
    disk_bytes,
    outermost,
    pipeline_name,
    scanned_ns,
    split_by_content,
)
from findspot.indexing.workers import (
    Indexed,
    Job,
    Outcome,
    Setup,
    Unchanged,
    Workers,
    worker_count,
)
from findspot.store.index_meta import COMPLETE, INCOMPLETE, STOPPED, was_stopped
from findspot.store.records import DerivedDamagedError, StoredFile
from findspot.store.sqlite_store import SqliteStore
from findspot.store.writer import Writer

BATCH_CHUNKS = 64
"""Enough for services to fill their requests, few enough to stop within seconds on request."""


KnownVectors = Callable[[str], Mapping[bytes, tuple[float, bytes]]]
"""Returns scale and vector by key, of a path."""


def embedded(
    outcomes: Iterable[Outcome],
    embedder: Embedder,
    cancel: CancelToken,
    known_vectors: KnownVectors | None = None,
) -> Iterator[Outcome]:
    """Yield the same outcomes, with the vectors that their chunks lack; whole files only."""
    waiting: list[Indexed] = []
    missing = 0
    for outcome in outcomes:
        if not isinstance(outcome, Indexed):
            yield outcome
            continue
        path = outcome.record.file.path
        indexed = outcome if known_vectors is None else _with_vectors(outcome, known_vectors(path))
        waiting.append(indexed)
        missing += len(indexed.record.rows.lacking(path))
        if missing >= BATCH_CHUNKS:
            yield from _filled(waiting, embedder, cancel)
            waiting, missing = [], 0
    yield from _filled(waiting, embedder, cancel)


def _with_vectors(outcome: Indexed, known: Mapping[bytes, tuple[float, bytes]]) -> Indexed:
    rows = outcome.record.rows.with_vectors(known)
    return replace(outcome, record=replace(outcome.record, rows=rows))


def _filled(waiting: list[Indexed], embedder: Embedder, cancel: CancelToken) -> Iterator[Outcome]:
    lacking: dict[bytes, Chunk] = {}
    for each in waiting:
        lacking |= each.record.rows.lacking(each.record.file.path)
    made: dict[bytes, tuple[float, bytes]] = {}
    left = iter(lacking)
    while keys := list(islice(left, BATCH_CHUNKS)):
        cancel.check()
        vectors = embed_chunks(embedder, [lacking[key] for key in keys])
        made |= zip(keys, zip(vectors.scales.tolist(), map(bytes, vectors.values), strict=True), strict=True)
    yield from (_with_vectors(each, made) for each in waiting)


_log = get_logger("indexing")

WAIT_S = 1.0
"""How long another writer is waited for: saved files are stored in less than that."""

_GROWTH = 1.2
"""A project that somebody agreed to have indexed may grow by so much before the question comes again."""

COMMIT_S = 1.0
_COMMIT_SHARE = 10
_LONGEST_COMMIT_S = 15.0
"""A run commits every second, or less often where commits would take more than a tenth of its time: every
commit rewrites segments. What was done since the last one is lost where the run is killed."""

_SMALL_BYTES = 65_536
"""Larger files are indexed after smaller ones, in such steps."""

_FEW_FILES = 20
"""So few files are embedded sooner than the vectors of a published index are found."""

_COMMIT_CHUNKS = 16_000
"""A commit at least this often, so that what waits for it takes some tens of megabytes."""


@dataclass(slots=True)
class Run:
    """One indexing run: what was asked, and what has been done so far."""

    root: Path
    store: SqliteStore
    settings: Settings
    model: str
    embedder: Embedder
    workers: Workers
    asked: bool = False
    """Whether somebody asked for this run. Background work creates no index, and continues none that
    was stopped on request."""
    force: bool = False
    allow_large: bool = False
    edges: bool = True  # whether references are resolved
    options: Mapping[str, object] = field(default_factory=dict)
    """Settings given for this run alone; what catches up with it keeps to them."""
    known_vectors: KnownVectors | None = None
    """Returns vectors of a file that need not be made, where the model is slow or far away."""
    first: Callable[[], Iterable[str]] = tuple
    """Returns paths that are to be indexed before the others, in this order: a question waits for them."""
    progress: ProgressSink = ignore_progress
    cancel: CancelToken = field(default_factory=CancelToken)
    started_ns: int = field(default_factory=time.time_ns)
    created: bool = False
    indexed: int = 0
    unchanged: int = 0
    chunks: int = 0
    skips: list[Skip] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    """What the report and the status say beside what the walk notes."""
    needed_bytes: int = 0
    """About what the files to index take on disk, once they are known."""

    def afresh(self, *notes: str) -> Run:
        return replace(self, created=False, indexed=0, unchanged=0, chunks=0, skips=[], notes=notes)


def apply(run: Run) -> IndexReport:
    """Bring an index up to date; a damaged one is kept as `index.bak` and rebuilt, and the report says so."""
    try:
        return _apply(run)
    except IndexFormatError:
        if not run.force:
            raise
        run.store.set_aside()
    except DerivedDamagedError:
        run.store.repair()
    except IndexCorruptError as error:
        backup = run.store.set_aside()
        _log.warning("%s; kept as %s and rebuilt", error.developer_message, backup.name)
        return _apply(run.afresh(REBUILT))
    except DiskFullError as error:
        if error.needed_mb is None and run.needed_bytes:
            raise disk_full(run.store.folder, run.needed_bytes) from error
        raise
    return _apply(run.afresh())


def _apply(run: Run) -> IndexReport:
    run.progress(Progress(0, 0, "scanning"))
    found = discover(run)
    found.notes.extend(run.notes)
    with memory_given_back(), _writer(run) as writer:
        run.created = not writer.meta().get("created_at")
        force = _prepare(run, writer)
        # Permissions change without a trace in a file's time of writing: such files are tried again.
        writer.skips.drop(SkipReason.UNREADABLE)
        if run.asked:  # memory that was short may be there now
            writer.skips.drop(SkipReason.WORKER_CRASHED)
        delta = compare(found.files, writer.known_files(), scanned_ns(writer.meta()), force=force)
        run.needed_bytes = disk_bytes(file.size for file, _ in delta.changed)
        _begin(run, writer, found, delta)
        _index_changed(run, writer, delta, force)
        _finish(run, writer, found, delta, full=force or run.created)
        if run.edges:
            store_edges(run.store, writer, run.cancel, progress=run.progress)
        if run.asked:
            run.cancel.check()
        return _report(run, writer, found, delta)


def apply_one(run: Run, file: SourceFile) -> int:
    """Index one file again and return its number of chunks."""
    with run.store.writer(WAIT_S, create=False) as writer:
        _prepare(run, writer)
        delta = Delta(changed=[(file, None)])
        _index_changed(run, writer, delta, force=True)
        writer.set_meta(updated_at=utc_now())
        writer.commit()
        store_edges(run.store, writer, run.cancel, few=True)
    return run.chunks


def apply_paths(run: Run, paths: Iterable[str]) -> bool:
    """Bring some files and folders up to date; False when that is not enough.

    It is not where the index is unfinished, or was made by another model or another revision.
    """
    places = outermost(paths)
    found = Discovery()
    for place in places:
        run.cancel.check()
        here = look(run.root, place, run.settings.discover)
        found.files += here.files
        found.skips += [skip for skip in here.skips if skip.reason is not SkipReason.VANISHED]
    with _writer(run) as writer:
        meta = writer.meta()
        wanted = {"build": COMPLETE, "pipeline": pipeline_name(run.settings), "model": run.model}
        if any(meta.get(name) != value for name, value in wanted.items()):
            return False
        _apply_found(run, writer, found, places)
        store_edges(run.store, writer, run.cancel, few=True)
        return True


@contextlib.contextmanager
def _writer(run: Run) -> Iterator[Writer]:
    """Provide the writer of a run. This is where work that nobody asked for ends: see `Run.asked`."""
    with run.store.writer(WAIT_S, create=run.asked) as writer:
        if not run.asked and was_stopped(writer.meta()):
            raise IndexStoppedError
        yield writer


def _apply_found(run: Run, writer: Writer, found: Discovery, places: tuple[str, ...]) -> None:
    """Store what was found at some places; without a commit where all is as the index has it."""
    # Someone said that these files changed: their times of writing prove nothing.
    delta = compare(found.files, writer.known_files(places), 0, force=False)
    gone = (*delta.removed, *delta.forgotten)
    for path in gone:
        writer.remove(path)
    left_out = writer.skips.replace_walk_at(places, found.skips)
    _index_changed(run, writer, delta, force=False)
    written = any(known is None or known.stamp != file.stamp for file, known in delta.changed)
    if gone or left_out or written or run.indexed or run.skips:
        writer.set_meta(updated_at=utc_now(), last_error="")
        writer.commit()
        _log_run(run.root, run.indexed, run.unchanged, len(gone), [*found.skips, *run.skips])


def discover(run: Run) -> Discovery:
    """Walk the project; more files than `maxFiles` must have been agreed to."""
    try:
        found = walk(run.root, run.settings.discover, run.cancel.check)
    except CancelledError:
        if run.store.exists:  # there was nothing to write yet
            with contextlib.suppress(FindspotError), run.store.writer(WAIT_S, create=False) as writer:
                _note_stop(run, writer)
                writer.commit()
        raise
    count, limit = len(found.files), run.settings.discover.max_files
    if count > limit and not _is_agreed(run, count):
        raise FileLimitError(count, limit)
    return found


def _note_stop(run: Run, writer: Writer) -> None:
    """Remember that somebody stopped the first run: only a run that is asked for goes on."""
    if run.asked and not run.cancel.interrupted and writer.meta().get("build") != COMPLETE:
        writer.set_meta(build=STOPPED)


def _is_agreed(run: Run, count: int) -> bool:
    """Return whether somebody agreed to so many files: now, or when the index was last asked for."""
    if run.allow_large:
        return True
    try:
        meta, counts = run.store.figures()
    except FindspotError:  # there is no index, or none that can be read
        return False
    if count <= int(meta.get("agreed_files", "0")) * _GROWTH:
        return True
    return not run.asked and sum(files for files, _ in counts.values()) > run.settings.discover.max_files


def _prepare(run: Run, writer: Writer) -> bool:
    """Return whether to redo every file; an index of another model is emptied."""
    meta = writer.meta()
    stored_model = meta.get("model", run.model)
    pipeline = pipeline_name(run.settings)
    outdated = meta.get("pipeline", pipeline) != pipeline
    if stored_model != run.model:
        if not run.force:
            raise ModelMismatchError(stored_model, run.model)
        run.embedder.embed(
            [run.model], EmbedMode.PASSAGE
        )  # a model that does not answer costs nobody the index
        writer.clear()
        writer.set_meta(build=INCOMPLETE, model=run.model)
    # Until the run is finished the index holds files of both revisions, and belongs to neither.
    writer.set_meta(pipeline="mixed" if outdated else pipeline)
    return run.force or outdated


def _begin(run: Run, writer: Writer, found: Discovery, delta: Delta) -> None:
    """Commit what is known before any file is read: the index says it is being built."""
    for gone in (*delta.removed, *delta.forgotten):
        writer.remove(gone)
    writer.skips.replace_walk(found.skips)
    now = utc_now()
    writer.set_meta(
        project_path=str(run.root),
        model=run.model,
        created_at=writer.meta().get("created_at", now),
        build=COMPLETE if writer.meta().get("build") == COMPLETE else INCOMPLETE,
        total=str(len(found.files)),
        done=str(delta.unchanged),
        last_error="",
        asked="yes" if run.asked else "",
    )
    if run.asked:
        agreed = {"agreed_files": str(len(found.files))} if run.allow_large else {}
        writer.set_meta(options=json.dumps(dict(run.options)), **agreed)
    writer.commit()


def _index_changed(run: Run, writer: Writer, delta: Delta, force: bool) -> None:
    """Read, cut and embed what changed, committing every few seconds and when it is stopped."""
    total = delta.settled + len(delta.changed)
    run.unchanged = delta.unchanged
    commits = _Commits(run, writer, delta.settled)
    with contextlib.closing(_outcomes(run, writer, delta, force, commits.if_due)) as outcomes:
        try:
            for outcome in outcomes:
                _store(run, writer, outcome)
                commits.done += 1
                run.progress(Progress(commits.done, total, "indexing"))
                commits.if_due()
        except CancelledError:
            writer.set_meta(asked="")
            _note_stop(run, writer)
            commits.commit()
            raise


class _Commits:
    """Commits what is done, less often the longer that takes, also while one file holds up the others."""

    def __init__(self, run: Run, writer: Writer, done: int) -> None:
        self._run, self._writer = run, writer
        self.done = self._committed = done
        self._at, self._chunks, self._wait_s = time.monotonic(), 0, COMMIT_S

    def if_due(self) -> None:
        """Commit if there is something new, and much of it or long since the last commit."""
        late = time.monotonic() - self._at >= self._wait_s
        if self.done > self._committed and (late or self._run.chunks - self._chunks >= _COMMIT_CHUNKS):
            self.commit()

    def commit(self) -> None:
        began = time.monotonic()
        self._writer.set_meta(done=str(self.done))
        with memory_given_back():
            self._writer.commit()
        self._at, self._chunks, self._committed = time.monotonic(), self._run.chunks, self.done
        self._wait_s = min(max(COMMIT_S, _COMMIT_SHARE * (self._at - began)), _LONGEST_COMMIT_S)


def _outcomes(
    run: Run, writer: Writer, delta: Delta, force: bool, idle: Callable[[], None]
) -> Generator[Outcome, None, None]:
    unchanged, changed = split_by_content(delta, run.root, run.settings.discover.max_file_bytes, force=force)
    yield from map(Unchanged, unchanged)
    if not changed:
        return
    embedder = None if provider_named(run.settings.embed.provider).in_workers else run.embedder
    # A file that costs much must not keep the others from being found meanwhile.
    first = {path: place for place, path in enumerate(run.first())}
    changed.sort(key=lambda each: (first.get(each[0].path, len(first)), each[0].size // _SMALL_BYTES))
    size = worker_count(len(changed), sum(file.size for file, _ in changed))
    if not run.asked:  # nobody waits for it: other programs have the other half of the machine
        size = max(1, size // 2)
    setup = Setup(
        root=run.root,
        provider=run.settings.embed.provider,
        strategy=run.settings.chunk.strategy,
        max_file_bytes=run.settings.discover.max_file_bytes,
        revision=None if embedder is None else embedder.revision,
        secret_scan=run.settings.discover.secret_scan,
    )
    with run.workers.lend(setup, size) as pool:
        jobs = (_job(run, writer, file, known, force) for file, known in changed)
        outcomes = pool.run(jobs, run.cancel, idle)
        if embedder is None:
            yield from outcomes
            return
        known = run.known_vectors if run.asked and not run.force and len(changed) >= _FEW_FILES else None
        yield from embedded(outcomes, embedder, run.cancel, known)


def _job(run: Run, writer: Writer, file: SourceFile, known: StoredFile | None, force: bool) -> Job:
    same_kind = known and known.corpus == file.corpus and known.language == file.language
    if (run.force and force) or not known or not same_kind:
        return Job(file)
    # Of an index of another revision every file is cut again; its embeddings remain valid.
    return Job(file, None if force else known.sha256, writer.chunks.keys(known.id))


def _store(run: Run, writer: Writer, outcome: Outcome) -> None:
    if isinstance(outcome, Indexed):
        writer.put(outcome.record)
        run.indexed += 1
        run.chunks += len(outcome.record.rows.chunks)
        if outcome.skip:
            run.skips.append(outcome.skip)
            writer.skips.add([outcome.skip], outcome.record.file)
    elif isinstance(outcome, Unchanged):
        writer.touch(outcome.file)
        run.unchanged += 1
    else:
        writer.remove(outcome.file.path)
        run.skips.append(outcome.skip)
        if outcome.skip.reason is not SkipReason.VANISHED:
            writer.skips.add([outcome.skip], outcome.file)


def _finish(run: Run, writer: Writer, found: Discovery, delta: Delta, *, full: bool) -> None:
    run.progress(Progress(len(found.files), len(found.files), "finishing"))
    now = utc_now()
    writer.set_meta(
        asked="", build=COMPLETE, pipeline=pipeline_name(run.settings), notes="\n".join(found.notes)
    )
    writer.set_meta(done=str(len(found.files)), checked_at=now, scanned_ns=str(run.started_ns))
    if full:
        writer.set_meta(last_full_index=now)
    if run.indexed or delta.removed or full:
        writer.set_meta(updated_at=now)
    writer.commit()
    _log_run(run.root, run.indexed, run.unchanged, len(delta.removed), [*found.skips, *run.skips])


def _report(run: Run, writer: Writer, found: Discovery, delta: Delta) -> IndexReport:
    total_files, total_chunks = writer.files.totals()
    worker_trouble = (SkipReason.WORKER_CRASHED, SkipReason.WORKER_TIMEOUT, SkipReason.UNREADABLE)
    with run.store.snapshot() as snapshot:
        given_up = given_up_note(snapshot)
    return IndexReport(
        project_path=str(run.root),
        files_indexed=run.indexed,
        files_unchanged=run.unchanged,
        files_removed=len(delta.removed),
        files_skipped=writer.skips.count(),
        chunks_created=run.chunks,
        total_files=total_files,
        total_chunks=total_chunks,
        seconds=(time.time_ns() - run.started_ns) / 1e9,
        created=run.created,
        errors=tuple(s for s in (*found.skips, *run.skips) if s.reason in worker_trouble),
        notes=(*found.notes, *left_out_notes(found.skips), *filter(None, [given_up])),
    )


def _log_run(project: Path, indexed: int, unchanged: int, removed: int, skips: Sequence[Skip]) -> None:
    _log.info("%s: %d files indexed, %d unchanged, %d removed", project, indexed, unchanged, removed)
    counts = Counter(skip.reason for skip in skips).most_common()
    if counts:
        _log.info("%s: left out: %s", project, ", ".join(f"{n} {reason}" for reason, n in counts))
