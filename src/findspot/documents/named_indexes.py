"""Indexes by name: those in the memory of this process, and those on disk, which all processes share."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from findspot.core.files import make_private_dir
from findspot.documents.disk_index import DiskIndex, name_in
from findspot.documents.document_query import Tokenizer, parse
from findspot.documents.document_record import (
    AddedDocument,
    Document,
    IndexExistsError,
    IndexInfo,
    IndexNameError,
    LimitReachedError,
    SearchAnswer,
    UnknownBackendError,
    UnknownIndexError,
    answer,
)
from findspot.documents.postings import DOCUMENT_BYTES, SLOT_BYTES, TERM_BYTES, Postings, rank


class MemoryIndex:
    """Documents, their metadata and their postings, under one lock; gone when the process ends."""

    backend = "memory"

    def __init__(self, name: str, tokenizer: Tokenizer, reserve: Callable[[int], None]) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._reserve = reserve
        """Raises an error if this number of additional bytes exceeds the limit."""
        self._postings = Postings()
        self._stored: dict[str, tuple[str, str]] = {}
        self._stored_bytes = 0
        self._lock = threading.Lock()

    @property
    def memory_bytes(self) -> int:
        return self._stored_bytes + self._postings.memory_bytes

    def info(self) -> IndexInfo:
        with self._lock:
            return IndexInfo(self.name, self.backend, len(self._postings), self.memory_bytes)

    def add(self, documents: Iterable[Document]) -> list[AddedDocument]:
        """Add documents, or replace those with the same id."""
        return [self._add(document) for document in documents]

    def remove(self, doc_id: str) -> bool:
        with self._lock:
            self._forget(doc_id)
            return self._postings.remove(doc_id)

    def search(self, query: str, k: int) -> SearchAnswer:
        """Return the best `k` documents for a query."""
        parsed = parse(query, self.tokenizer)
        with self._lock:
            ranked, total = rank(self._postings, parsed, k)
            stored = {doc_id: self._stored[doc_id] for doc_id, _ in ranked}
        return answer(ranked, total, stored, parsed, self.tokenizer)

    def _add(self, document: Document) -> AddedDocument:
        words = self.tokenizer.words(document.content)
        entry = (document.content, document.metadata_json)
        size = _size(entry)
        with self._lock:
            new = len(set(words).difference(self._postings.vocabulary.numbers))
            self._reserve(size + len(words) * SLOT_BYTES + new * TERM_BYTES + DOCUMENT_BYTES)
            self._forget(document.doc_id)
            encoded, _ = self._postings.vocabulary.encode(words)
            replaced = self._postings.add(document.doc_id, encoded)
            self._stored[document.doc_id] = entry
            self._stored_bytes += size
        return AddedDocument(document.doc_id, self.tokenizer.count(words), replaced)

    def _forget(self, doc_id: str) -> None:
        if doc_id in self._stored:
            self._stored_bytes -= _size(self._stored.pop(doc_id))


def _size(entry: tuple[str, str]) -> int:
    return sum(map(sys.getsizeof, entry))


DEFAULT_INDEX = "default"
BACKENDS = ("memory", "disk")
MAX_MEMORY_INDEXES = 1_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILES = "docs-*.sqlite"

Index = MemoryIndex | DiskIndex


class NamedIndexes:
    """Every named index that this process can reach. Safe to use from several threads."""

    def __init__(self, folder: Path, max_memory_bytes: int) -> None:
        self._folder = folder
        self._max_memory_bytes = max_memory_bytes
        self._guard = threading.Lock()
        self._memory = {DEFAULT_INDEX: self._in_memory(DEFAULT_INDEX, Tokenizer())}
        self._disk: dict[str, DiskIndex] = {}

    def create(
        self, name: str, backend: str = "memory", tokenizer_config: Mapping[str, Any] | None = None
    ) -> IndexInfo:
        """Create an index; its name must be new."""
        if not _NAME.fullmatch(name):
            raise IndexNameError(name)
        if backend not in BACKENDS:
            raise UnknownBackendError(backend)
        tokenizer = Tokenizer.from_config(tokenizer_config)
        with self._guard:
            if name in self._memory or self._on_disk(name):
                raise IndexExistsError(name)
            if backend == "disk":
                make_private_dir(self._folder)
                self._disk[name] = DiskIndex.create(name, self._file(name), tokenizer)
                return self._disk[name].info()
            if len(self._memory) >= MAX_MEMORY_INDEXES:
                raise LimitReachedError(f"There are {MAX_MEMORY_INDEXES:,} indexes in memory already")
            self._memory[name] = self._in_memory(name, tokenizer)
            return self._memory[name].info()

    def add(self, documents: Iterable[Document], index_name: str = DEFAULT_INDEX) -> list[AddedDocument]:
        """Add or replace documents."""
        return self._find(index_name).add(documents)

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
            if isinstance(index, DiskIndex):
                self._disk.pop(name, None)
                index.drop()
            elif name == DEFAULT_INDEX:
                self._memory[name] = self._in_memory(name, Tokenizer())
            else:
                del self._memory[name]

    def info(self, name: str) -> IndexInfo:
        """Return the figures of one index."""
        return self._find(name).info()

    def listing(self) -> list[IndexInfo]:
        """Return all indexes, by name."""
        with self._guard:
            names = [name for path in self._folder.glob(_FILES) if (name := name_in(path)) is not None]
            on_disk = [index for name in names if (index := self._on_disk(name)) is not None]
            indexes: list[Index] = [*self._memory.values(), *on_disk]
        return sorted((index.info() for index in indexes), key=lambda info: info.name)

    def close(self) -> None:
        """Close every index that is open."""
        with self._guard:
            for index in self._disk.values():
                index.close()
            self._disk.clear()

    def _find(self, name: str) -> Index:
        with self._guard:
            index = self._memory.get(name) or (self._on_disk(name) if _NAME.fullmatch(name) else None)
        if index is None:
            raise UnknownIndexError(name, [info.name for info in self.listing()])
        return index

    def _on_disk(self, name: str) -> DiskIndex | None:
        """Return the index of that name on disk, whichever process created it."""
        if not self._file(name).is_file():
            self._disk.pop(name, None)
            return None
        if name not in self._disk:
            try:
                self._disk[name] = DiskIndex(name, self._file(name))
            except UnknownIndexError:  # only begun
                return None
        return self._disk[name]

    def _file(self, name: str) -> Path:
        """Return a file name with a hash: some file systems do not tell `Docs` from `docs`."""
        mark = "" if name == name.lower() else "." + hashlib.sha256(name.encode()).hexdigest()[:8]
        return self._folder / f"docs-{name.lower()}{mark}.sqlite"

    def _in_memory(self, name: str, tokenizer: Tokenizer) -> MemoryIndex:
        return MemoryIndex(name, tokenizer, self._reserve)

    def _reserve(self, more_bytes: int) -> None:
        held = sum(index.memory_bytes for index in list(self._memory.values()))
        if held + more_bytes > self._max_memory_bytes:
            raise LimitReachedError(
                f"Memory limit reached: the indexes in memory hold {held >> 20} of at most "
                f"{self._max_memory_bytes >> 20} MB. Use the backend 'disk', or set documents.maxMemory."
            )
