"""The keyword index: BM25 over pre-split tokens, derived from SQLite; tantivy finds the candidates.

The only module that knows tantivy. Additions are committed before SQLite's transaction and
deletions after it, and readers keep only chunks of live file revisions: so whatever snapshot
of SQLite a reader has, every chunk of it can be found here.

tantivy's own scores depend on chunks that were deleted. They say which chunks may be among the best;
the scores that count come from `word_counts`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from findspot.store.vector_segments import Mask, Numbers
from findspot.store.word_counts import Column, Frequencies, LiveWords, distinct
from findspot.text.bm25 import lucene_idf

if TYPE_CHECKING:
    import tantivy

_HEAP_BYTES = 48_000_000
_MAX_FREQUENCIES = 20_000
_MORE = 40
"""Candidates beyond those wanted: near the last place, tantivy's order may differ a little."""
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
    """Searches the keyword index as it was when opened; `words` are those of the snapshot's live chunks."""

    def __init__(self, folder: Path, words: LiveWords) -> None:
        import tantivy

        self._folder = folder
        self._words = words
        self._links = None if os.access(folder, os.W_OK) or not folder.is_dir() else _linked(folder)
        with _translated(folder):
            self._index = tantivy.Index.open(self._links.name if self._links else str(folder))
            # By hand: the default keeps a thread that watches the folder and touches files in it.
            self._index.config_reader(reload_policy="manual")
            self._schema = self._index.schema
            self._searcher = self._index.searcher()
        self._frequencies: dict[str, tuple[int, float]] = {}
        """Term → how many live chunks hold it, and its weight as a multiple of tantivy's."""
        self._statistics: _Statistics | None = None

    @property
    def size(self) -> int:
        """How many live chunks there are."""
        return self._words.size

    @property
    def held(self) -> int:
        """How many chunks the index holds; for a moment, or after a crash, more than there are."""
        return int(self._searcher.num_docs)

    def document_frequency(self, term: str) -> int:
        """Return how many live chunks hold a term; looked up once, since one question asks several times."""
        known = self._frequencies.get(term)
        if known is None:
            if len(self._frequencies) >= _MAX_FREQUENCIES:
                self._frequencies.clear()
            with _translated(self._folder):
                known = self._frequencies[term] = self._count(term)
        return known[0]

    def _count(self, term: str) -> tuple[int, float]:
        """Count the live chunks that hold a term; those that were deleted are part of tantivy's own count."""
        counted = int(self._searcher.doc_freq(_TEXT, term))
        if not counted:
            return 0, 1.0
        query = self._term(term)
        if self._statistics is None:
            hits = self._searcher.search(query, limit=1, count=False).hits
            if not hits:
                return 0, 1.0
            self._statistics = _Statistics.of(query.explain(self._searcher, hits[0][1]).to_json())
        if self._statistics.chunks == self.held == self.size:
            return counted, 1.0
        if self._others is not None:
            query = query.and_must_not_match(self._others)
        found: Any = self._searcher.search(query, limit=1)
        weight = lucene_idf(self.size, found.count) / lucene_idf(self._statistics.chunks, counted)
        return int(found.count), weight

    @cached_property
    def _others(self) -> tantivy.Query | None:
        """What finds the chunks that this snapshot does not have; None where there are no such chunks."""
        import tantivy

        files = self.other_files()
        return tantivy.Query.term_set_query(self._schema, _FILE, files) if files else None

    def other_files(self) -> list[int]:
        """Return the file revisions that the index holds, and this snapshot does not have."""
        import tantivy

        if self.held <= self.size:
            return []
        live = tantivy.Query.term_set_query(self._schema, _FILE, np.flatnonzero(self._words.live).tolist())
        with _translated(self._folder):
            others = tantivy.Query.all_query().and_must_not_match(live)
            hits = self._searcher.search(others, limit=self.held, count=False).hits
            files = self._searcher.fast_field_values(_FILE, [address for _, address in hits])
        return sorted({int(number or 0) for number in files})

    def search(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best `top` chunks for weighted terms, among `only_files` when given."""
        numbers, scores = self.best(terms, top, only_files)
        return list(zip(numbers.tolist(), scores.tolist(), strict=True))

    def best(
        self, terms: Mapping[str, float], top: int, only_files: Sequence[int] | None = None
    ) -> tuple[Numbers, Column]:
        """Return the same as arrays."""
        frequencies = {term: count for term in terms if (count := self.document_frequency(term))}
        if not frequencies or top < 1:
            return np.empty(0, np.int64), np.empty(0)
        weights = {term: terms[term] for term in frequencies}
        query = self._query(weights, only_files)
        limit = top + _MORE
        while True:
            with _translated(self._folder):
                hits = self._searcher.search(query, limit=limit, count=False).hits
                held = self._searcher.fast_field_values(_CHUNK, [address for _, address in hits])
            numbers, scores = self._words.scores(distinct(np.array(held, np.int64)), weights, frequencies)
            if len(hits) < limit or self._are_best(scores, top, hits[-1][0]):
                return self._words.best(numbers, scores, top)
            limit *= 2

    def scores(self, terms: Mapping[str, float], numbers: Iterable[int]) -> list[tuple[int, float]]:
        """Return the scores of those of these chunks that hold a term."""
        frequencies = {term: count for term in terms if (count := self.document_frequency(term))}
        weights = {term: terms[term] for term in frequencies}
        if not frequencies:
            return []
        found, scores = self._words.scores(np.array(sorted(numbers), np.int64), weights, frequencies)
        return list(zip(found.tolist(), scores.tolist(), strict=True))

    def frequencies(self) -> Frequencies:
        """Count the live chunks that hold each word."""
        return self._words.frequencies()

    def held_terms(self, terms: Sequence[str], numbers: Numbers) -> Mask:
        """Return which of these terms each of these sorted chunks holds: a row per chunk."""
        return self._words.held(terms, numbers)

    def _are_best(self, scores: Column, top: int, last: float) -> bool:
        """Return whether no chunk that tantivy scores like the last one, or lower, belongs to the best.

        Apart from the mean length, which the two know differently, the scores are the same.
        """
        statistics = self._statistics
        if scores.size < top or statistics is None:
            return False
        ratio = statistics.mean_length / self._words.mean_length
        highest = last * max(ratio, 1 / ratio) * _ROUNDING
        return bool(np.partition(scores, -top)[-top] > highest)

    def _query(self, weights: Mapping[str, float], only_files: Sequence[int] | None) -> tantivy.Query:
        import tantivy

        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, self._term(term, weight)) for term, weight in weights.items()]
        )
        if only_files is None:
            return query
        allowed = tantivy.Query.term_set_query(self._schema, _FILE, list(only_files))
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.boost_query(allowed, 0.0))]
        )

    def _term(self, term: str, weight: float = 1.0) -> tantivy.Query:
        """Return the query for a term, weighted as if tantivy did not count deleted chunks."""
        import tantivy

        query = tantivy.Query.term_query(self._schema, _TEXT, term, "freq")
        weight *= self._frequencies.get(term, _AS_COUNTED)[1]
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)


_AS_COUNTED = 0, 1.0

_ROUNDING = 1.0001
"""tantivy computes in single precision."""


class _Statistics(NamedTuple):
    """What tantivy believes about its chunks, deleted ones included."""

    chunks: int
    mean_length: float

    @classmethod
    def of(cls, explanation: str) -> _Statistics:
        """Read the explanation of a chunk's score for one term."""
        values: dict[str, float] = {}

        def read(node: dict[str, Any]) -> None:
            values[node["description"].partition(",")[0]] = node["value"]
            for detail in node.get("details", ()):
                read(detail)

        read(json.loads(explanation))
        return cls(round(values["N"]), values["avgdl"])


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


def drop_files(folder: Path, file_ids: Sequence[int]) -> None:
    """Drop what a writer that crashed after its commit did not delete."""
    if file_ids:
        writer = KeywordWriter(folder)
        writer.delete_files(file_ids)
        writer.commit()
        writer.close()
