"""An index in the memory of this process: gone when it ends."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable

from findspot.documents.highlights import highlights
from findspot.documents.model import Added, Document, Found, IndexInfo, SearchAnswer
from findspot.documents.postings import DOCUMENT_BYTES, SLOT_BYTES, TERM_BYTES, Postings
from findspot.documents.query import parse
from findspot.documents.ranking import rank
from findspot.documents.tokenizer import Tokenizer


class MemoryIndex:
    """Documents, their metadata and their postings, under one lock."""

    backend = "memory"

    def __init__(self, name: str, tokenizer: Tokenizer, reserve: Callable[[int], None]) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._reserve = reserve
        """Raises an error where so many bytes more would be too many."""
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

    def add(self, documents: Iterable[Document]) -> list[Added]:
        """Add documents, or replace those of the same id."""
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
            stored = [self._stored[doc_id] for doc_id, _ in ranked]
        found = tuple(
            Found(doc_id, score, highlights(content, parsed.shown, self.tokenizer), json.loads(metadata))
            for (doc_id, score), (content, metadata) in zip(ranked, stored, strict=True)
        )
        return SearchAnswer(found, total, parsed)

    def close(self) -> None:
        """Nothing to close."""

    def _add(self, document: Document) -> Added:
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
        return Added(document.doc_id, self.tokenizer.count(words), replaced)

    def _forget(self, doc_id: str) -> None:
        if doc_id in self._stored:
            self._stored_bytes -= _size(self._stored.pop(doc_id))


def _size(entry: tuple[str, str]) -> int:
    return sum(map(sys.getsizeof, entry))
