"""The searcher of one project: its chunk files where there are some, else its index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from findspot.chunkfiles.files import ServedFiles
from findspot.chunkfiles.indexed import IndexedChunks
from findspot.chunkfiles.loading import chunk_files
from findspot.chunkfiles.model import ChunkFilesError, SearchOptions, SearchResult
from findspot.core.errors import IndexNotFoundError, ModelMismatchError
from findspot.core.settings import Settings
from findspot.embed.protocol import Embedder, EmbedMode, model_name
from findspot.embed.providers.http import HttpEmbedder
from findspot.embed.registry import PROVIDERS, require_chosen, two_speeds
from findspot.store.protocol import Store

DEFAULT_ENDPOINT = "http://localhost:8121"

_OTHER_MODEL = "Run `findspot chunks export` again, or configure the model that the files were made with."


class ProjectChunks:
    """Answers `cortex_search` for one folder. Safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        store: Store,
        settings: Callable[[], Settings],
        embedder: Callable[[str], Embedder],
    ) -> None:
        self.root = root
        self._settings = settings
        self._embedder = embedder
        self._indexed = IndexedChunks(store)
        self._guard = threading.Lock()
        self._served: ServedFiles | None = None

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        """The nearest chunks, best first."""
        settings = self._settings()
        served = self._files(settings)
        if served is None:
            return self._indexed.search(
                self._embedder(two_speeds(settings.embed)[0].provider), query, options
            )
        collection = served.collection()
        embedder = self._embedder_of(collection.head.model, collection.head.dimensions, settings)
        return collection.search(embedder.embed([query], EmbedMode.QUERY)[0], options)

    def stats(self) -> Mapping[str, Any]:
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
        return self._files(self._settings()) is not None

    def close(self) -> None:
        with self._guard:
            served, self._served = self._served, None
        if served is not None:
            served.close()

    def _files(self, settings: Settings) -> ServedFiles | None:
        """The chunk files that the settings name now; None where there are none."""
        folder = chunks_folder(self.root, settings)
        with self._guard:
            before = self._served
            if before is None or before.folder != folder:
                self._served = ServedFiles(folder, settings.home / "spool", settings.cortex.dimensions)
            served = self._served
        if before is not None and before is not served:
            before.close()
        if served is not None and served.exist:
            return served
        if "cortex.chunksDir" in settings.sources and not folder.is_dir():
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
        """Our own model for files that it made, else the configured service."""
        provider = model.partition("@")[0]
        if provider not in PROVIDERS or "@" not in model:
            return HttpEmbedder(settings.cortex.endpoint or DEFAULT_ENDPOINT, dimensions)
        require_chosen(model, settings.embed.provider, _OTHER_MODEL)
        embedder = self._embedder(provider)
        if model_name(embedder) != model:
            raise _mismatch(model, model_name(embedder))
        return embedder


def _mismatch(model: str, ours: str) -> ModelMismatchError:
    error = ModelMismatchError(model, ours)
    error.hint = _OTHER_MODEL
    return error


def chunks_folder(root: Path, settings: Settings) -> Path:
    """Where chunk files are; a project's own folder must not lead out of it by a link."""
    folder = root / Path(settings.cortex.chunks_dir).expanduser()
    named_by_user = settings.sources.get("cortex.chunksDir", "") not in ("", ".cortex/config.yml")
    if not named_by_user and chunk_files(folder) and not folder.resolve().is_relative_to(root):
        raise ChunkFilesError(f"The chunks directory {folder} is a link that leaves the project.")
    return folder
