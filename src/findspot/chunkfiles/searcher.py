"""The searcher of one project: its chunk files where there are some, else its index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from findspot.chunkfiles.files import ServedFiles
from findspot.chunkfiles.freshness import Compared, compare
from findspot.chunkfiles.indexed import IndexedChunks
from findspot.chunkfiles.loading import chunk_files
from findspot.chunkfiles.model import ChunkFilesError, FoundChunks, SearchOptions, SearchResult
from findspot.chunkfiles.spool import SpoolDamagedError
from findspot.core.denied import is_secret_path
from findspot.core.errors import IndexNotFoundError, ModelMismatchError
from findspot.core.keys import CHUNK_SERVICE, CORTEX_FILE
from findspot.core.roots import Roots
from findspot.core.settings import Settings
from findspot.discover.secrets import masked
from findspot.embed.protocol import Embedder, EmbedMode, model_name
from findspot.embed.providers.http import HttpEmbedder
from findspot.embed.registry import PROVIDERS, require_chosen, two_speeds
from findspot.store.protocol import Store

SPARE_RESULTS = 20
"""Results asked for beyond the limit, since those of deleted files are left out."""


_OTHER_MODEL = "Run `findspot chunks export` again, or configure the model that the files were made with."


class ProjectChunks:
    """Answers `cortex_search` for one folder. Safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        store: Store,
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
            embedder = self._embedder(two_speeds(settings.embed)[0].provider)
            compared = self._compared(self._indexed.search(embedder, query, wider), may_be_elsewhere=False)
            told = compared.warning("The index", "It is brought up to date in a moment.")
        else:
            collection = served.collection()
            embedder = self._embedder_of(collection.head.model, collection.head.dimensions, settings)
            vector = embedder.embed([query], EmbedMode.QUERY)[0]
            try:
                found = collection.search(vector, wider)
            except SpoolDamagedError:
                served.renew()
                found = served.collection().search(vector, wider)
            ours = _made_by_us(collection.head.model)
            compared = self._compared(found, may_be_elsewhere=True) if ours else Compared(found, (), ())
            told = compared.warning("The export", "Run `findspot chunks export`.")
        warnings = (*_about_cortex(settings), served.warning if served else None, told)
        results = compared.results[: options.limit]
        if settings.discover.secret_scan != "off":
            results = _without_secrets(results)
        return FoundChunks(results, " ".join(filter(None, warnings)) or None)

    def _compared(self, found: Sequence[SearchResult], *, may_be_elsewhere: bool) -> Compared:
        return compare(self._roots(), found, may_be_elsewhere=may_be_elsewhere)

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
        """Return the chunk files that the settings name now; None where there are none."""
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
        """Our own model for files that it made, else the configured service."""
        provider = model.partition("@")[0]
        if not _made_by_us(model):
            return HttpEmbedder(settings.cortex.endpoint or CHUNK_SERVICE, dimensions)
        require_chosen(model, settings.embed.provider, _OTHER_MODEL)
        embedder = self._embedder(provider)
        if model_name(embedder) != model:
            raise _mismatch(model, model_name(embedder))
        return embedder


def _without_secrets(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Return chunks as they may be shown: anybody may have written the files that they come from."""
    return [
        replace(result, chunk=replace(result.chunk, text=masked(result.chunk.text)))
        for result in results
        if not is_secret_path(str(result.chunk.metadata.get("file_path", "")))
    ]


def _made_by_us(model: str) -> bool:
    """Return whether one of our models made the vectors; it is named `provider@revision`."""
    return "@" in model and model.partition("@")[0] in PROVIDERS


def _about_cortex(settings: Settings) -> list[str]:
    """Return what is wrong with `.cortex/config.yml`, which decides what is searched."""
    return [f"{warning}." for warning in settings.warnings if warning.startswith(CORTEX_FILE)]


def _mismatch(model: str, ours: str) -> ModelMismatchError:
    error = ModelMismatchError(model, ours)
    error.hint = _OTHER_MODEL
    return error


def chunks_folder(root: Path, settings: Settings) -> Path:
    """Return where chunk files are; a project's own folder must not lead out of it by a link."""
    folder = root / Path(settings.cortex.chunks_dir).expanduser()
    named_by_user = settings.sources.get("cortex.chunksDir", "") not in ("", CORTEX_FILE)
    if not named_by_user and chunk_files(folder) and not folder.resolve().is_relative_to(root):
        raise ChunkFilesError(f"The chunks directory {folder} is a link that leaves the project.")
    return folder
