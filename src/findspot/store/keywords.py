"""The keyword index: BM25 over pre-split tokens, kept by tantivy, derived from SQLite.

The only module that knows tantivy. Additions are committed before SQLite's transaction and
deletions after it, and readers keep only chunks of live file revisions: so whatever snapshot
of SQLite a reader has, every chunk of it can be found here.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.errors import IndexCorruptError
from findspot.core.files import disk_full

if TYPE_CHECKING:
    import tantivy

_HEAP_BYTES = 48_000_000
_TEXT = "text"
_CHUNK = "chunk"
_FILE = "file"


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_TEXT, stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field(_CHUNK, stored=False, indexed=False, fast=True)
    builder.add_unsigned_field(_FILE, stored=False, indexed=True, fast=True)
    return builder.build()


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        if "No space left" in str(error) or "os error 28" in str(error):
            raise disk_full(folder) from error
        raise IndexCorruptError(f"keyword index: {error}") from error


class KeywordReader:
    """Searches the keyword index as it was when opened or last reloaded."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        with _translated(folder):
            self._index = tantivy.Index.open(str(folder))
            self._schema = self._index.schema
            self._searcher = self._index.searcher()

    @property
    def size(self) -> int:
        return int(self._searcher.num_docs)

    def reloaded(self) -> KeywordReader:
        """A reader of the newest commit; this one keeps seeing its own."""
        fresh = object.__new__(KeywordReader)
        with _translated(Path()):
            self._index.reload()
            fresh._index, fresh._schema = self._index, self._schema
            fresh._searcher = self._index.searcher()
        return fresh

    def document_frequency(self, term: str) -> int:
        return int(self._searcher.doc_freq(_TEXT, term))

    def search(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best `top` chunks for weighted terms, among `only_files` when given."""
        import tantivy

        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, self._term(term, weight)) for term, weight in terms.items()]
        )
        if only_files is not None:
            allowed = tantivy.Query.term_set_query(self._schema, _FILE, list(only_files))
            query = tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Must, query),
                    (tantivy.Occur.Must, tantivy.Query.boost_query(allowed, 0.0)),
                ]
            )
        with _translated(Path()):
            hits = self._searcher.search(query, limit=max(1, top)).hits
            numbers = self._searcher.fast_field_values(_CHUNK, [address for _, address in hits])
        found = [(int(n or 0), float(score)) for n, (score, _) in zip(numbers, hits, strict=True)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _term(self, term: str, weight: float) -> tantivy.Query:
        import tantivy

        query = tantivy.Query.term_query(self._schema, _TEXT, term, "freq")
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)


class KeywordWriter:
    """Adds and deletes chunks; the caller holds the index's writer lock."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._folder = folder
        with _translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._index = tantivy.Index(_schema(), str(folder))
            self._writer: Any = self._index.writer(_HEAP_BYTES, 1)
        self._dirty = False

    def add(self, number: int, file_id: int, tokens: str) -> None:
        import tantivy

        document = tantivy.Document()
        document.add_unsigned(_CHUNK, number)
        document.add_unsigned(_FILE, file_id)
        document.add_text(_TEXT, tokens)
        with _translated(self._folder):
            self._writer.add_document(document)
        self._dirty = True

    def delete_files(self, file_ids: Iterable[int]) -> None:
        with _translated(self._folder):
            for file_id in file_ids:
                self._writer.delete_documents_by_term(_FILE, file_id)
                self._dirty = True

    def delete_files_above(self, last_id: int) -> None:
        """Drop what a crashed writer added for file numbers that were never committed."""
        import tantivy

        orphans = tantivy.Query.range_query(
            self._index.schema, _FILE, tantivy.FieldType.Unsigned, last_id + 1, 2**62
        )
        with _translated(self._folder):
            self._index.reload()
            if self._index.searcher().search(orphans, limit=1).hits:
                self._writer.delete_documents_by_query(orphans)
                self._dirty = True

    def commit(self) -> None:
        if self._dirty:
            with _translated(self._folder):
                self._writer.commit()
            self._dirty = False

    def rollback(self) -> None:
        with _translated(self._folder):
            self._writer.rollback()
        self._dirty = False

    def close(self) -> None:
        """Let merges finish, so that nothing works on after the lock is released."""
        with contextlib.suppress(ValueError, OSError):
            self._writer.wait_merging_threads()


def exists(folder: Path) -> bool:
    return (folder / "meta.json").is_file()


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
