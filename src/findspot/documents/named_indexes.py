"""Indexes by name: those in the memory of this process, and those on disk, which all processes share."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import make_private_dir
from findspot.documents.document_index import DocumentIndex, name_in
from findspot.documents.document_query import Tokenizer
from findspot.documents.document_record import (
    AddedDocument,
    Document,
    IndexInfo,
    SearchAnswer,
    UnknownIndexError,
)

DEFAULT_INDEX = "default"
BACKENDS = ("memory", "disk")
MAX_MEMORY_INDEXES = 1_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILES = "docs-*.sqlite"


class NamedIndexes:
    """Every named index that this process can reach. Safe to use from several threads."""

    def __init__(self, folder: Path, max_memory_bytes: int) -> None:
        self._folder = folder
        self._max_memory_bytes = max_memory_bytes
        self._guard = threading.Lock()
        self._memory = {DEFAULT_INDEX: DocumentIndex.in_memory(DEFAULT_INDEX, Tokenizer())}
        self._disk: dict[str, DocumentIndex] = {}

    def create(
        self, name: str, backend: str = "memory", tokenizer_config: Mapping[str, Any] | None = None
    ) -> IndexInfo:
        """Create an index; its name must be new."""
        if not _NAME.fullmatch(name):
            raise InvalidArgumentError(
                f"Invalid index name: {name}. Use 1 to 64 letters, digits, hyphens and underscores."
            )
        if backend not in BACKENDS:
            raise InvalidArgumentError(f"Unknown backend: {backend}")
        tokenizer = Tokenizer.from_config(tokenizer_config)
        with self._guard:
            if name in self._memory or self._on_disk(name):
                raise InvalidArgumentError(f"Index already exists: {name}")
            if backend == "disk":
                make_private_dir(self._folder)
                self._disk[name] = DocumentIndex.create(name, self._file(name), tokenizer)
                return self._disk[name].info()
            if len(self._memory) >= MAX_MEMORY_INDEXES:
                raise InvalidArgumentError(f"There are {MAX_MEMORY_INDEXES:,} indexes in memory already")
            self._memory[name] = DocumentIndex.in_memory(name, tokenizer)
            return self._memory[name].info()

    def add(self, documents: Iterable[Document], index_name: str = DEFAULT_INDEX) -> list[AddedDocument]:
        """Add or replace documents."""
        index = self._find(index_name)
        return index.add(documents, self._check_memory if index.backend == "memory" else lambda: None)

    def search(self, query: str, k: int = 10, index_name: str = DEFAULT_INDEX) -> SearchAnswer:
        """Return the best documents of an index for a query."""
        return self._find(index_name).search(query, k)

    def remove(self, doc_id: str, index_name: str = DEFAULT_INDEX) -> bool:
        """Remove a document; return False if the index does not have it."""
        return self._find(index_name).remove(doc_id)

    def drop(self, name: str) -> None:
        """Delete an index with all its documents; the default one is emptied."""
        index = self._find(name)
        with self._guard:
            self._disk.pop(name, None)
            self._memory.pop(name, None)
            index.drop()
            if name == DEFAULT_INDEX:
                self._memory[name] = DocumentIndex.in_memory(name, Tokenizer())

    def info(self, name: str) -> IndexInfo:
        """Return the figures of one index."""
        return self._find(name).info()

    def listing(self) -> list[IndexInfo]:
        """Return all indexes, by name."""
        with self._guard:
            names = [name for path in self._folder.glob(_FILES) if (name := name_in(path)) is not None]
            on_disk = [index for name in names if (index := self._on_disk(name)) is not None]
            indexes = [*self._memory.values(), *on_disk]
        return sorted((index.info() for index in indexes), key=lambda info: info.name)

    def close(self) -> None:
        """Close every index that is open."""
        with self._guard:
            for index in self._disk.values():
                index.close()
            self._disk.clear()

    def _find(self, name: str) -> DocumentIndex:
        with self._guard:
            index = self._memory.get(name) or (self._on_disk(name) if _NAME.fullmatch(name) else None)
        if index is None:
            raise UnknownIndexError(name, [info.name for info in self.listing()])
        return index

    def _on_disk(self, name: str) -> DocumentIndex | None:
        """Return the index of that name on disk, whichever process created it."""
        if not self._file(name).is_file():
            self._disk.pop(name, None)
            return None
        if name not in self._disk:
            try:
                self._disk[name] = DocumentIndex.open(name, self._file(name))
            except UnknownIndexError:  # only begun
                return None
        return self._disk[name]

    def _file(self, name: str) -> Path:
        """Return a file name with a hash: some file systems do not tell `Docs` from `docs`."""
        mark = "" if name == name.lower() else "." + hashlib.sha256(name.encode()).hexdigest()[:8]
        return self._folder / f"docs-{name.lower()}{mark}.sqlite"

    def _check_memory(self) -> None:
        held = sum(index.memory_bytes for index in list(self._memory.values()))
        if held > self._max_memory_bytes:
            raise InvalidArgumentError(
                f"Memory limit reached: all indexes in memory may take {self._max_memory_bytes >> 20} MB "
                "together. Use the backend 'disk', or set documents.maxMemory."
            )
