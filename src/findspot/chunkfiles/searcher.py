"""The searcher of one project: its chunk files, if there are any, else its index; and their export."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from findspot.chunkfiles.chunk_reader import (
    CONSTANT,
    CONSTANT_KINDS,
    FILE_NAMES,
    FILE_VERSION,
    ChunkFilesError,
    ContextChunk,
    Facets,
    FoundChunks,
    Rows,
    SearchOptions,
    SearchResult,
    ServedFiles,
    chunk_files,
    cosines,
)
from findspot.core.errors import IndexNotFoundError, ModelMismatchError
from findspot.core.files import Folder, translated_os_errors
from findspot.core.model import ChunkType
from findspot.core.paths import Roots, expanded, is_secret_path
from findspot.core.settings import CHUNK_SERVICE, COMMITTED_FILES, CORTEX_FILE, Settings
from findspot.core.utc_time import utc_now, utc_time
from findspot.discover.secrets import masked
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Embedder, EmbedMode, model_name
from findspot.embed.provider_registry import PROVIDERS, require_chosen
from findspot.embed.services import HttpEmbedder
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL, StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.text.snippet import listed

_MODE = 0o666
"""The user's umask applies: the files are for other programs."""

DIGITS = 6
"""A stored vector's steps are a thousand times larger: reading it back gives the same int8 row."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    folder: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def export_chunks(
    snapshot: Snapshot, folder: Path, skip_under: str | None = None, base: Path | None = None
) -> ExportReport:
    """Write the four files; each appears whole, and only after all of them are written.

    With `base`, no link below it is followed: a repository may have one instead of the folder.
    """
    counts = dict.fromkeys(map(str, FILE_NAMES), 0)
    with translated_os_errors(folder), _opened(folder, base) as target:
        _keep_out_of_repository(target)
        with contextlib.ExitStack() as stack:
            files = {
                str(kind): stack.enter_context(target.replacing(name, _MODE))
                for kind, name in FILE_NAMES.items()
            }
            for kind, file in files.items():
                _write(file, '{"_metadata":' + json.dumps(_head(snapshot, kind)) + ',"chunks":[')
            describer = Describer(snapshot)
            for chunk in _chunks(snapshot, skip_under):
                row, scale = snapshot.chunks.vector(chunk.number)
                vector = [round(float(value), DIGITS) for value in row.astype(np.float64) * scale]
                for kind in describer.types_of(chunk.number, chunk.chunk_type, chunk.tags):
                    value = describer.describe(chunk, kind).as_object() | {"embedding": vector}
                    separator = ",\n" if counts[kind] else "\n"
                    _write(files[kind], separator + json.dumps(value, ensure_ascii=False))
                    counts[kind] += 1
            for file in files.values():
                _write(file, "\n]}\n")
    return ExportReport(str(folder), counts)


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "replace"))


def _head(snapshot: Snapshot, kind: str) -> dict[str, Any]:
    model = snapshot.meta().get("model", "")
    size = int(model.rpartition("/")[2] or 0)
    about = {"model": model, "dimensions": size, "chunk_type": kind}
    return about | {"generated": utc_now(), "version": FILE_VERSION}


def _chunks(snapshot: Snapshot, skip_under: str | None) -> Iterator[StoredChunk]:
    for file in snapshot.files.files:
        if is_secret_path(file.path):  # an index that somebody else built may name any file
            continue
        if skip_under is None or not file.path.startswith(f"{skip_under}/"):
            yield from snapshot.chunks.of_file(file.path)


@contextlib.contextmanager
def _opened(folder: Path, base: Path | None) -> Iterator[Folder]:
    if base is None:
        folder.mkdir(parents=True, exist_ok=True)
        base = folder
    with Folder.open(base) as top, top.holding(folder.relative_to(base).parts, make_mode=0o777) as target:
        yield target


def _keep_out_of_repository(folder: Folder) -> None:
    """Keep generated files out of commits and indexes, unless their owner decides otherwise."""
    try:
        folder.lstat(".gitignore")
    except FileNotFoundError:
        with folder.replacing(".gitignore", _MODE) as note:
            note.write(b"*\n")


_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_PACKAGE = re.compile(r"^Package: (.+)$", re.MULTILINE)
_IMPORTS = re.compile(r"^Imports: (\d+) packages?$", re.MULTILINE)
_CUT = re.compile(r"^  … \d+ more$", re.MULTILINE)
_MARK_CHARS = 8
_MOST_SYMBOLS = 3


class Describer:
    """Describes the chunks of one snapshot; ids of paths that look alike get a hash."""

    def __init__(self, snapshot: Snapshot) -> None:
        files = snapshot.files.files
        self._constants = snapshot.symbols.chunks_defining(CONSTANT_KINDS)
        self._files = {file.id: file for file in files}
        counts = Counter(_slug(file.path) for file in self._files.values())
        self._shared = {slug for slug, count in counts.items() if count > 1}

    def describe(self, chunk: StoredChunk, kind: ChunkType) -> ContextChunk:
        file = self._files[chunk.number >> ORDINAL_BITS]
        written = utc_time(file.mtime_ns)
        return ContextChunk(
            id=self._id(chunk, kind),
            chunk_type=kind,
            title=_title(chunk, kind),
            text=chunk.text,
            tags=self.tags(chunk.number, chunk.tags),
            metadata=_metadata(chunk),
            created_at=written,
            updated_at=written,
        )

    def tags(self, number: int, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags of a chunk, with the tag of constants if it defines one."""
        return (*tags, CONSTANT) if number in self._constants and CONSTANT not in tags else tags

    def types_of(self, number: int, chunk_type: str, tags: tuple[str, ...]) -> tuple[ChunkType, ...]:
        """Return the types of a chunk: constants are data too, where they stand beside functions."""
        kind = ChunkType(chunk_type)
        is_both = kind is ChunkType.DEFINITIONS and CONSTANT in self.tags(number, tags)
        return (kind, ChunkType.DATA) if is_both else (kind,)

    def _id(self, chunk: StoredChunk, kind: ChunkType) -> str:
        """Return an id such as `code-symbols-src-a-go`; other chunks of a file are numbered."""
        slug = _slug(chunk.path)
        if slug in self._shared:
            slug += "-" + sha256(chunk.path.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
        prefix = "doc" if kind is ChunkType.DOCUMENTATION else f"code-{kind}"
        ordinal = chunk.number & OUTLINE_ORDINAL
        return f"{prefix}-{slug}" if ordinal == OUTLINE_ORDINAL else f"{prefix}-{slug}-{ordinal + 1}"


def _slug(path: str) -> str:
    return _NO_WORD.sub("-", path).strip("-").lower()


def _title(chunk: StoredChunk, kind: ChunkType) -> str:
    about = _about(chunk)
    title = f"{chunk.path} {kind}"
    return f"{title}: {about}" if about and kind is not ChunkType.SYMBOLS else title


def _about(chunk: StoredChunk) -> str:
    main = chunk.breadcrumb or ""
    last = main.rpartition(" > ")[2]
    others = [name for name in dict.fromkeys(chunk.symbols) if name != last]
    named = [*filter(None, [main]), *others]
    return listed(named, _MOST_SYMBOLS)


def _metadata(chunk: StoredChunk) -> dict[str, Any]:
    is_docs = chunk.chunk_type == ChunkType.DOCUMENTATION
    metadata: dict[str, Any] = {
        "source": "documentation" if is_docs else "code",
        "file_path": chunk.path,
        "language": chunk.language,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
    }
    return metadata | _outline_figures(chunk.text) if chunk.chunk_type == ChunkType.SYMBOLS else metadata


def _outline_figures(text: str) -> dict[str, Any]:
    """Return the figures in an outline; counts of a list that was cut short are left out."""
    package, imports = _PACKAGE.search(text), _IMPORTS.search(text)
    figures: dict[str, Any] = {"package": package[1]} if package else {}
    figures["imports_count"] = int(imports[1]) if imports else 0
    sections = {part.split(":", 1)[0]: part for part in text.split("\n\n")}
    cut = _CUT.search(text) is not None
    for title, name in (("Types", "types_count"), ("Functions", "functions_count")):
        section = sections.get(title, "")
        if not cut or (section and not _CUT.search(section)):
            figures[name] = section.count("\n  - ")
    return figures


_MOST_NAMED = 3


def _compared(
    roots: Roots, results: list[SearchResult], *, may_be_elsewhere: bool
) -> tuple[list[SearchResult], str]:
    """Return results without those of deleted files, and how they differ from the disk.

    A chunk has its file's modification time. If no file of any result exists, the project may be elsewhere:
    then nothing is left out.
    """
    existing: list[SearchResult] = []
    states: dict[str, bool | None] = {}
    for result in results:
        path = str(result.chunk.metadata.get("file_path", ""))
        if path not in states:
            states[path] = _is_same(roots, path, result.chunk)
        if states[path] is not None:
            existing.append(result)
    if may_be_elsewhere and not existing:
        return results, ""
    changed = [path for path, same in states.items() if same is False]
    gone = [path for path, same in states.items() if same is None]
    parts = [f"changed since then: {listed(changed, _MOST_NAMED)}"] if changed else []
    parts += [f"gone, so left out: {listed(gone, _MOST_NAMED)}"] if gone else []
    return existing, "; ".join(parts)


def _is_same(roots: Roots, path: str, chunk: ContextChunk) -> bool | None:
    """Return whether a file is unchanged; None if it is gone.

    A name that is not a file below the root counts as unchanged.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        return True
    try:
        info = os.lstat(roots / path)
    except ValueError:
        return True
    except OSError:
        return None
    written = utc_time(info.st_mtime_ns)
    return stat.S_ISREG(info.st_mode) and written == chunk.updated_at


class _Generation:
    """What is derived from one generation of the index: numbers, filters, descriptions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.generation = snapshot.generation
        self.describer = Describer(snapshot)
        self.facets = Facets()
        numbers = array("q")
        for number, chunk_type, tags in snapshot.chunks.facets():
            numbers.append(number)
            types = self.describer.types_of(number, chunk_type, tags)
            self.facets.add(types, self.describer.tags(number, tags))
        self.numbers: Rows = np.array(numbers, np.int64)

    def described(self, chunk: StoredChunk, options: SearchOptions) -> ContextChunk:
        types = self.describer.types_of(chunk.number, chunk.chunk_type, chunk.tags)
        wanted = [kind for kind in types if kind in options.chunk_types]
        return self.describer.describe(chunk, (wanted or types)[0])


class IndexedChunks:
    """Searches the chunks of an index, including outlines."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._generation: _Generation | None = None

    def search(self, embedder: Embedder, query: str, options: SearchOptions) -> list[SearchResult]:
        with self._store().snapshot() as snapshot:
            meta = snapshot.meta()
            if meta.get("model") not in (None, model_name(embedder)):
                raise ModelMismatchError(meta["model"], model_name(embedder))
            state = self._state(snapshot)
            question = quantise(embedder.embed([query], EmbedMode.QUERY))
            if not question.values.any():
                return []
            wanted = state.numbers[state.facets.rows(options)]
            numbers, scores = snapshot.vectors.nearest_among(question.values[0], wanted, options.limit)
            chunks = snapshot.chunks.by_number(numbers.tolist())
            shown = cosines(scores * question.scales[0]).tolist()
            results = [
                SearchResult(state.described(chunks[number], options), score)
                for number, score in zip(numbers.tolist(), shown, strict=True)
            ]
        near = [result for result in results if result.combined_score >= options.min_score]
        return sorted(near, key=lambda result: (-result.combined_score, result.chunk.id))

    def stats(self) -> Mapping[str, Any]:
        with self._store().snapshot() as snapshot:
            state, meta = self._state(snapshot), snapshot.meta()
        return {
            "source": "index",
            "total_chunks": int(state.numbers.size),
            "chunks_by_type": state.facets.type_counts,
            "model": meta.get("model", ""),
        }

    def _state(self, snapshot: Snapshot) -> _Generation:
        with self._guard:
            if self._generation is None or self._generation.generation != snapshot.generation:
                self._generation = _Generation(snapshot)
            return self._generation


SPARE_RESULTS = 20
"""Additional results to fetch, since those of deleted files are left out."""


_OTHER_MODEL = "Run `findspot chunks export` again, or configure the model that the files were made with."


class ProjectChunks:
    """Answers `cortex_search` for one folder. Safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        store: Callable[[], Store],
        settings: Callable[[], Settings],
        roots: Callable[[], Roots],
        embedder: Callable[[str], Embedder],
    ) -> None:
        self.root = root
        self._roots = roots
        self._settings = settings
        self._embedder = embedder
        self._indexed = IndexedChunks(store)
        self._guard = threading.Lock()
        self._served: ServedFiles | None = None

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        """Return the nearest chunks, best first."""
        settings = self._settings()
        served = self._files(settings)
        wider = replace(options, limit=options.limit + SPARE_RESULTS)
        if served is None:
            embedder = self._embedder(settings.embed.provider)
            found = self._indexed.search(embedder, query, wider)
            results, differs = _compared(self._roots(), found, may_be_elsewhere=False)
            made_by, remedy = "The index", "It is brought up to date in a moment."
        else:
            collection = served.collection()
            embedder = self._embedder_of(collection.head.model, collection.head.dimensions, settings)
            vector = embedder.embed([query], EmbedMode.QUERY)[0]
            found = collection.search(vector, wider)
            results, differs = found, ""
            if _is_own_model(collection.head.model):
                results, differs = _compared(self._roots(), found, may_be_elsewhere=True)
            made_by, remedy = "The export", "Run `findspot chunks export`."
        outdated = f"{made_by} is older than the project ({differs}). {remedy}" if differs else None
        warnings = (*_about_cortex(settings), served.warning if served else None, outdated)
        results = results[: options.limit]
        if settings.discover.secret_scan != "off":
            results = _without_secrets(results)
        return FoundChunks(results, " ".join(filter(None, warnings)) or None)

    def stats(self) -> Mapping[str, Any]:
        """Return counts of what is searched, for the server to show."""
        served = self._files(self._settings())
        return self._indexed.stats() if served is None else served.stats()

    def check(self) -> None:
        """Raise the error that a query would meet: nothing to search, or nobody to embed it."""
        settings = self._settings()
        served = self._files(settings)
        if served is None:
            self._check_index(settings)
            return
        head = served.collection().head
        embedder = self._embedder_of(head.model, head.dimensions, settings)
        if isinstance(embedder, HttpEmbedder):
            embedder.check()
        embedder.embed(["dimensions"], EmbedMode.QUERY)

    @property
    def has_files(self) -> bool:
        """Whether the folder has chunk files, so that its index is not asked."""
        return self._files(self._settings()) is not None

    def _files(self, settings: Settings) -> ServedFiles | None:
        """Return the chunk files that the settings name; None if there are none."""
        folder = chunks_folder(self.root, settings)
        with self._guard:
            if self._served is None or self._served.folder != folder:
                self._served = ServedFiles(folder, settings.cortex.dimensions)
            served = self._served
        if served.exist:
            return served
        named = settings.sources.get("cortex.chunksDir", CORTEX_FILE)
        if named != CORTEX_FILE and not folder.is_dir():
            raise ChunkFilesError(
                f"Chunks directory not found: {folder}",
                hint="Run `findspot chunks export`, or correct CORTEX_CHUNKS_DIR.",
            )
        return None

    def _check_index(self, settings: Settings) -> None:
        try:
            self._indexed.stats()
        except IndexNotFoundError:
            folder = chunks_folder(self.root, settings)
            raise ChunkFilesError(
                f"Chunks directory not found: {folder}, and the project has no index.",
                hint="Run `findspot index`, or `findspot chunks export`.",
            ) from None

    def _embedder_of(self, model: str, dimensions: int, settings: Settings) -> Embedder:
        """Return our own model for files that it made, else the configured service."""
        provider = model.partition("@")[0]
        if not _is_own_model(model):
            return HttpEmbedder(settings.cortex.endpoint or CHUNK_SERVICE, dimensions)
        require_chosen(model, settings.embed.provider, _OTHER_MODEL)
        embedder = self._embedder(provider)
        if model_name(embedder) != model:
            raise ModelMismatchError(model, model_name(embedder), _OTHER_MODEL)
        return embedder


def _without_secrets(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Return the results with secrets masked, since anybody may have written the chunk files."""
    return [
        replace(result, chunk=replace(result.chunk, text=masked(result.chunk.text)))
        for result in results
        if not is_secret_path(str(result.chunk.metadata.get("file_path", "")))
    ]


def _is_own_model(model: str) -> bool:
    """Return whether one of our models made the vectors; such a model is named `provider@revision`."""
    return "@" in model and model.partition("@")[0] in PROVIDERS


def _about_cortex(settings: Settings) -> list[str]:
    """Return the warnings about `.cortex/config.yml`, which decides what is searched."""
    return [f"{warning}." for warning in settings.warnings if warning.startswith(CORTEX_FILE)]


def chunks_folder(root: Path, settings: Settings) -> Path:
    """Return the folder of chunk files; a folder named by the project must not be a link out of it."""
    folder = root / expanded(settings.cortex.chunks_dir)
    if not _chosen_by_user(settings) and chunk_files(folder) and not folder.resolve().is_relative_to(root):
        raise ChunkFilesError(f"The chunks directory {folder} is a link that leaves the project.")
    return folder


def _chosen_by_user(settings: Settings) -> bool:
    """Return whether the user chose the chunks folder, and not a file that is committed with the project."""
    return settings.sources.get("cortex.chunksDir", CORTEX_FILE) not in COMMITTED_FILES


def export_project(root: Path, store: Store, settings: Settings, chosen: Path | None) -> ExportReport:
    """Write a project's chunks to the folder that the user names now, or to the one in its settings.

    If a committed file may have named the folder, no link inside the project is followed.
    """
    folder = chosen or chunks_folder(root, settings)
    inside = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else None
    base = None if chosen or _chosen_by_user(settings) else root
    with store.snapshot() as snapshot:
        return export_chunks(snapshot, folder, skip_under=inside, base=base)
