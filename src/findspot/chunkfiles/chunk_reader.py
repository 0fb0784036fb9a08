"""Chunk files: read into memory, searched by many threads, replaced when they change."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import FindspotError
from findspot.core.files import ContentError, State, TooLargeError, parse_json, read_below, reason, state_of
from findspot.core.log import get_logger
from findspot.core.model import ChunkType
from findspot.embed.embedder import Vectors
from findspot.text.json_text import with_whole_characters

DEFAULT_LIMIT = 15
MAX_LIMIT = 100

FILE_NAMES = {
    ChunkType.DOCUMENTATION: "doc-chunks.json",
    ChunkType.SYMBOLS: "code-symbols.json",
    ChunkType.DEFINITIONS: "code-definitions.json",
    ChunkType.DATA: "code-data.json",
}

CONSTANT = "constant"
"""The tag of a chunk that defines a constant or an enumeration: it is data, whatever else it defines."""

CONSTANT_KINDS = ("constant", "enum")

FILE_VERSION = "2.0.0"


class ChunkFilesError(FindspotError):
    """Chunk files that cannot be served."""

    code = "INDEX_CORRUPT"


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """A passage of a project as an answer shows it, without its embedding."""

    id: str
    chunk_type: str
    title: str
    text: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""

    def as_object(self) -> dict[str, Any]:
        """Return the chunk as an answer shows it."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"tags": list(self.tags), "metadata": dict(self.metadata)}


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The limits of a search; a chunk must have all the tags and one of the chunk types."""

    limit: int = DEFAULT_LIMIT
    min_score: float = 0.0
    tags: tuple[str, ...] = ()
    chunk_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A chunk and how near it is: the cosine, from -1 to 1."""

    chunk: ContextChunk
    combined_score: float


class FoundChunks(list[SearchResult]):
    def __init__(self, results: Iterable[SearchResult] = (), warning: str | None = None) -> None:
        super().__init__(results)
        self.warning = warning


class ContextSearcher(Protocol):
    """Anything that can answer `cortex_search`; called from several threads at once.

    A method `stats`, if it has one, returns the figures for `include_stats`.
    """

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        """Return the nearest chunks, best first; raise a `FindspotError` if that fails."""


MAX_FILE_BYTES = 1 << 30


class MalformedError(Exception):
    """A file that is not a chunk file; the message says why."""


@dataclass(frozen=True, slots=True)
class FileHead:
    model: str
    dimensions: int


def read_chunk_file(path: Path) -> tuple[FileHead, list[tuple[ContextChunk, Vectors]]]:
    """Return the head of a file, and its chunks with their unit vectors.

    Links, which a repository may contain, and FIFOs are refused.
    """
    try:
        data = with_whole_characters(read_below(path.parent, path.name, MAX_FILE_BYTES))
        value = parse_json(data, _with_vector)
    except TooLargeError:
        raise MalformedError(f"it is larger than {MAX_FILE_BYTES >> 30} GB") from None
    except ContentError as error:
        raise MalformedError(f"it is {error}") from error
    metadata, listed = (
        (value.get("_metadata"), value.get("chunks")) if isinstance(value, dict) else (None,) * 2
    )
    if not isinstance(listed, list):
        raise MalformedError("it has no list of chunks")
    if not isinstance(metadata, dict):
        raise MalformedError("it has no _metadata")
    read = [(_chunk(at, each, metadata), _vector(at, each)) for at, each in enumerate(listed)]
    sizes = {vector.size for _, vector in read}
    dimensions = metadata.get("dimensions", max(sizes, default=0))
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 0:
        raise MalformedError("_metadata.dimensions is not a number")
    if sizes - {dimensions}:
        found = ", ".join(map(str, sorted(sizes)))
        raise MalformedError(f"_metadata says {dimensions} dimensions, its chunks have {found}")
    return FileHead(str(metadata.get("model", "")), dimensions), read


def _with_vector(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its embedding as an array: its numbers would take ten times the memory."""
    if isinstance(value.get("embedding"), list):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            value["embedding"] = np.array(value["embedding"], np.float32)
    return value


def _vector(position: int, value: dict[str, Any]) -> Vectors:
    row: Any = value.get("embedding")
    if not isinstance(row, np.ndarray) or row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise MalformedError(f"chunk {position}: its embedding is not a list of numbers")
    vector: Vectors = row
    length = np.linalg.norm(vector.astype(np.float64))
    return vector / np.float32(length) if length else vector


_TEXTS = ("id", "text", "title", "chunk_type", "created_at", "updated_at")
_NEEDED = ("id", "chunk_type")


def _chunk(position: int, value: Any, metadata: dict[str, Any]) -> ContextChunk:
    if not isinstance(value, dict):
        raise MalformedError(f"chunk {position} is no object")
    given = {"title": "", "created_at": "", "updated_at": ""} | value
    given["chunk_type"] = value.get("chunk_type") or metadata.get("chunk_type", "")
    texts: dict[str, Any] = {name: given.get(name) for name in _TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str) or (name in _NEEDED and not text):
            raise MalformedError(f"chunk {position}: its {name} is missing or no text")
    tags, about = value.get("tags") or [], value.get("metadata") or {}
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise MalformedError(f"chunk {position}: its tags are no list of texts")
    if not isinstance(about, dict):
        raise MalformedError(f"chunk {position}: its metadata is no object")
    return ContextChunk(tags=tuple(tags), metadata=about, **texts)


_log = get_logger("chunkfiles")

Rows = NDArray[np.int64]


class Facets:
    """The types and the tags of each row; the case of tags does not matter."""

    def __init__(self) -> None:
        self._rows: list[tuple[frozenset[str], frozenset[str]]] = []
        self._same: dict[frozenset[str], frozenset[str]] = {}
        """Most rows have the types and tags of others."""

    def add(self, chunk_types: Iterable[str], tags: Iterable[str]) -> None:
        sets = frozenset(chunk_types), frozenset(tag.lower() for tag in tags)
        types, tags = (self._same.setdefault(each, each) for each in sets)
        self._rows.append((types, tags))

    @property
    def count(self) -> int:
        return len(self._rows)

    @cached_property
    def type_counts(self) -> dict[str, int]:
        return dict(sorted(Counter(name for types, _ in self._rows for name in types).items()))

    def rows(self, options: SearchOptions) -> Rows:
        wanted, among = {tag.lower() for tag in options.tags}, set(options.chunk_types)
        if not wanted and not among:
            return np.arange(self.count, dtype=np.int64)
        passing = (wanted <= tags and (not among or among & types) for types, tags in self._rows)
        return np.array([row for row, passes in enumerate(passing) if passes], np.int64)


class Collection:
    """Loaded chunk files; the vectors are unit rows."""

    def __init__(
        self, heads: Mapping[str, FileHead], chunks: Mapping[str, tuple[ContextChunk, Vectors]]
    ) -> None:
        self.names = frozenset(heads)
        self.head = next(iter(heads.values()))
        self.skipped: tuple[str, ...] = ()
        """Files that were left out, each with the reason."""
        self.facets = Facets()
        self._chunks = [chunk for chunk, _ in chunks.values()]
        self._vectors = np.stack([vector for _, vector in chunks.values()])
        for chunk in self._chunks:
            self.facets.add((chunk.chunk_type,), chunk.tags)

    def search(self, vector: Vectors, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that pass the filters: by cosine, then by id."""
        rows = self.facets.rows(options)
        if not vector.any() or not rows.size:
            return []  # a query of which the model knows nothing is near to nothing
        scores = cosines(np.vecdot(self._vectors, vector)[rows])
        least = max(np.sort(scores)[-options.limit :][0], options.min_score)
        near = zip(rows[scores >= least].tolist(), scores[scores >= least].tolist(), strict=True)
        scored = [SearchResult(self._chunks[row], score) for row, score in near]
        results: dict[object, SearchResult] = {}
        for result in sorted(scored, key=lambda found: (-found.combined_score, found.chunk.id)):
            results.setdefault(_place(result), result)
        return list(results.values())[: options.limit]


def cosines(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    shown: NDArray[np.float64] = np.clip(values.astype(np.float64), -1.0, 1.0)
    return shown.round(6)


def _place(result: SearchResult) -> object:
    """Return what two chunks of the same lines share: constants beside functions are written twice."""
    lines = [result.chunk.metadata.get(name) for name in ("file_path", "start_line", "end_line")]
    return result.chunk.id if None in lines else (*map(str, lines), result.chunk.text)


def chunk_files(folder: Path) -> list[Path]:
    """Return the chunk files of a folder in order, links included; none if it is not a folder."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
        return sorted(path for path in found if path.is_symlink() or path.is_file())
    except OSError:
        return []


def _state(folder: Path) -> dict[str, State]:
    """Return a value that changes whenever one of the files does."""
    return {path.name: state for path in chunk_files(folder) if (state := state_of(path))}


def load(folder: Path, dimensions: int | None, *, skip_malformed: bool) -> Collection:
    """Read all files; leave out a malformed one with a warning, or raise an error."""
    files = chunk_files(folder)
    if not files:
        raise ChunkFilesError(f"There are no chunk files in {folder}.")
    heads: dict[str, FileHead] = {}
    chunks: dict[str, tuple[ContextChunk, Vectors]] = {}
    skipped = []
    for path in files:
        try:
            head, read = read_chunk_file(path)
        except (MalformedError, OSError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            if not skip_malformed:
                raise ChunkFilesError(f"The chunk file {path.name} is malformed: {why}.") from error
            _log.warning("chunk file left out: %s: %s", path.name, why)
            skipped.append(f"{path.name}: {why}")
            continue
        for chunk, vector in read:
            if chunks.setdefault(chunk.id, (chunk, vector))[0] is chunk:
                heads[path.name] = head
            else:
                _log.warning("%s: the chunk %s is there already; the first counts", path.name, chunk.id)
    if not heads:
        why = "; ".join(skipped) or "they hold no chunks"
        raise ChunkFilesError(f"There are no usable chunk files in {folder}: {why}.")
    _compare(heads, dimensions)
    collection = Collection(heads, chunks)
    collection.skipped = tuple(skipped)
    return collection


def _compare(heads: Mapping[str, FileHead], dimensions: int | None) -> None:
    """Refuse files that differ: vectors of different models cannot be compared."""
    first_name, first = next(iter(heads.items()))
    wrong = "Wrong embedding dimensions:"
    for name, head in heads.items():
        if head.dimensions != first.dimensions:
            raise ChunkFilesError(f"{wrong} {name} has {head.dimensions}, {first_name} {first.dimensions}.")
        if head.model != first.model:
            raise ChunkFilesError(
                f"{name} was made with the model '{head.model}', {first_name} with '{first.model}'."
            )
    if dimensions not in (None, first.dimensions):
        raise ChunkFilesError(
            f"{wrong} the chunk files have {first.dimensions}, {dimensions} are configured."
        )


QUIET_S = 0.5
"""Several files are usually written in a row: they are read when the last is done."""


class ServedFiles:
    """The collection of a folder, compared with the disk at each question. If a reload fails, the old state
    stays.
    """

    def __init__(self, folder: Path, dimensions: int | None) -> None:
        self.folder = folder
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._collection: Collection | None = None
        self._seen: dict[str, State] = {}
        self._reloads = 0
        self._failure: str | None = None

    @property
    def exist(self) -> bool:
        return self._collection is not None or bool(chunk_files(self.folder))

    def collection(self) -> Collection:
        """Return the current collection, loaded on first use, and again once its files have changed."""
        with self._guard:
            seen = _state(self.folder)
            if self._collection is None:
                self._collection, self._seen = load(self.folder, self._dimensions, skip_malformed=True), seen
            elif seen != self._seen and not _is_being_written(seen):
                self._collection = self._reloaded(self._collection, seen)
                self._seen = seen
            return self._collection

    @property
    def warning(self) -> str | None:
        """A warning about files that were left out, or newer ones that could not be read."""
        if self._failure:
            return f"The chunk files changed, and these are the old ones: {self._failure}"
        skipped = self._collection.skipped if self._collection else ()
        return f"Chunk files left out: {'; '.join(skipped)}." if skipped else None

    def stats(self) -> Mapping[str, Any]:
        collection = self.collection()
        return {
            "source": "files",
            "total_chunks": collection.facets.count,
            "chunks_by_type": collection.facets.type_counts,
            "model": collection.head.model,
            "dimensions": collection.head.dimensions,
            "reloads": self._reloads,
            "skipped_files": list(collection.skipped),
        }

    def _reloaded(self, old: Collection, seen: dict[str, State]) -> Collection:
        """Return what the files hold now. A file that is gone, as one is for a moment while the set is
        replaced, is an error; after all of them were gone, any set is a new one.
        """
        gone = sorted(old.names - seen.keys()) if seen and self._seen else []
        try:
            if gone:
                missing = ", ".join(gone)
                raise ChunkFilesError(f"{missing} is missing. Restart the server if that is intended.")
            fresh = load(self.folder, self._dimensions, skip_malformed=False)
        except FindspotError as error:
            _log.warning("chunk files not reloaded, the old state is kept: %s", error.user_message)
            self._failure = error.user_message
            return old
        self._failure = None
        self._reloads += 1
        _log.info("chunk files reloaded: %d chunks", fresh.facets.count)
        return fresh


def _is_being_written(seen: dict[str, State]) -> bool:
    written_ns = max((max(times) for _, _, *times in seen.values()), default=0)
    return abs(time.time_ns() - written_ns) < QUIET_S * 1e9
