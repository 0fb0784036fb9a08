"""The keyword index: BM25 over pre-split tokens, kept by tantivy, derived from SQLite.

The only module that knows tantivy. Additions are committed before SQLite's transaction and
deletions after it, and readers keep only chunks of live file revisions: so whatever snapshot
of SQLite a reader has, every chunk of it can be found here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.core.files import (
    NO_ROOM,
    REFUSALS,
    TOO_MANY_OPEN,
    cannot_write,
    disk_full,
    make_private_dir,
    out_of_resources,
)
from findspot.store.records import ORDINAL_BITS, DerivedDamagedError

if TYPE_CHECKING:
    import tantivy

_HEAP_BYTES = 48_000_000
_MAX_FREQUENCIES = 20_000
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


_MIN_FREE_BYTES = 1 << 20
"""tantivy's threads report a full disk as `an error occurred in a thread`: look at the disk itself."""


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        if number := _system_error(error, TOO_MANY_OPEN):
            raise out_of_resources(folder, number) from error
        if _system_error(error, REFUSALS):
            raise cannot_write(folder) from error
        if _system_error(error, NO_ROOM) or _free_bytes(folder) < _MIN_FREE_BYTES:
            raise disk_full(folder) from error
        raise DerivedDamagedError(f"keyword index: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Rust's panic on data it did not expect
            raise
        raise DerivedDamagedError(f"keyword index: {error}") from error


def _system_error(error: Exception, numbers: Sequence[int]) -> int | None:
    """Return which of these errors of the system tantivy reports in its text."""
    text = str(error)
    return next((n for n in numbers if f"os error {n})" in text or f"Os {{ code: {n}," in text), None)


def _free_bytes(folder: Path) -> int:
    there = next(p for p in (folder, *folder.parents) if p.exists())
    return shutil.disk_usage(there).free


class KeywordReader:
    """Searches the keyword index as it was when opened."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._folder = folder
        self._links = None if os.access(folder, os.W_OK) or not folder.is_dir() else _linked(folder)
        with _translated(folder):
            self._index = tantivy.Index.open(self._links.name if self._links else str(folder))
            # By hand: the default keeps a thread that watches the folder and touches files in it.
            self._index.config_reader(reload_policy="manual")
            self._schema = self._index.schema
            self._searcher = self._index.searcher()
        self._frequencies: dict[str, int] = {}

    @property
    def size(self) -> int:
        return int(self._searcher.num_docs)

    def document_frequency(self, term: str) -> int:
        """Return how many chunks hold a term; looked up once, since one question asks several times."""
        known = self._frequencies.get(term)
        if known is None:
            if len(self._frequencies) >= _MAX_FREQUENCIES:
                self._frequencies.clear()
            with _translated(self._folder):
                known = self._frequencies[term] = int(self._searcher.doc_freq(_TEXT, term))
        return known

    def search(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best `top` chunks for weighted terms, among `only_files` when given."""
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
        with _translated(self._folder):
            hits = self._searcher.search(query, limit=max(1, top)).hits
            numbers = self._searcher.fast_field_values(_CHUNK, [address for _, address in hits])
        found = [(int(n or 0), float(score)) for n, (score, _) in zip(numbers, hits, strict=True)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _term(self, term: str, weight: float) -> tantivy.Query:
        import tantivy

        query = tantivy.Query.term_query(self._schema, _TEXT, term, "freq")
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)


def _linked(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder of links to the files of an index that cannot be written: tantivy makes a lock to open
    one.
    """
    links = tempfile.TemporaryDirectory(prefix="findspot-", ignore_cleanup_errors=True)
    for path in folder.iterdir():
        if path.suffix == ".json":
            shutil.copyfile(path, Path(links.name, path.name))
        elif path.suffix != ".lock":
            Path(links.name, path.name).symlink_to(path.absolute())
    return links


class KeywordWriter:
    """Adds and deletes chunks; the caller holds the index's writer lock."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._folder = folder
        with _translated(folder):
            make_private_dir(folder)
            self._index = tantivy.Index(_schema(), str(folder))
            self._writer: Any = self._index.writer(_HEAP_BYTES, 1)
        self._dirty = False

    def add(self, chunks: Iterable[tuple[int, str]]) -> None:
        """Add chunks, each with its number and its tokens."""
        import tantivy

        with _translated(self._folder):
            for number, tokens in chunks:
                document = tantivy.Document()
                document.add_unsigned(_CHUNK, number)
                document.add_unsigned(_FILE, number >> ORDINAL_BITS)
                document.add_text(_TEXT, tokens)
                self._writer.add_document(document)
                self._dirty = True

    def delete_files(self, file_ids: Sequence[int]) -> None:
        """By a query: deleting by a term takes an int for a signed one, and finds nothing."""
        import tantivy

        with _translated(self._folder):
            self._writer.delete_documents_by_query(
                tantivy.Query.term_set_query(self._index.schema, _FILE, list(file_ids))
            )
        self._dirty = True

    def commit(self) -> None:
        if self._dirty:
            with _translated(self._folder):
                self._writer.commit()
            self._dirty = False

    def rollback(self) -> None:
        if self._dirty:
            with _translated(self._folder):
                self._writer.rollback()
            self._dirty = False

    def close(self) -> None:
        """Let merges finish, so that nothing works on after the lock is released."""
        with contextlib.suppress(ValueError, OSError):
            self._writer.wait_merging_threads()


def drop_files_above(folder: Path, last_id: int) -> None:
    """Drop what a writer that crashed before its commit added: those numbers will be given again."""
    import tantivy

    if not (folder / "meta.json").is_file():
        return
    with _translated(folder):
        index = tantivy.Index.open(str(folder))
        orphans = tantivy.Query.range_query(
            index.schema, _FILE, tantivy.FieldType.Unsigned, last_id + 1, 2**62
        )
        if index.searcher().search(orphans, limit=1).hits:
            writer = index.writer(_HEAP_BYTES, 1)
            writer.delete_documents_by_query(orphans)
            writer.commit()
            writer.wait_merging_threads()
