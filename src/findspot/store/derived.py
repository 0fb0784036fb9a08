"""What is derived from the database: its live files, keyword readers and vector segments.

All of it belongs to one generation, can be loaded for that generation, and can be made anew.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from findspot.core.errors import IndexCorruptError
from findspot.core.model import Corpus
from findspot.store import database as rows
from findspot.store import keywords, vectors
from findspot.store.records import StoredFile
from findspot.store.schema import ORDINAL_BITS


class FileTable:
    """The live files of one generation, by number, path and corpus."""

    def __init__(self, files: list[StoredFile]) -> None:
        self.files = files
        self.by_id = {file.id: file for file in files}
        self._size = max(self.by_id, default=0) + 1

    def mask(self, files: Iterable[StoredFile]) -> vectors.Mask:
        """A mask over file numbers that is true for these files."""
        allowed = np.zeros(self._size, np.bool_)
        allowed[[file.id for file in files]] = True
        return allowed


@dataclass(frozen=True, slots=True)
class Derived:
    """What goes with one generation of the database."""

    generation: int
    files: FileTable
    keywords: dict[str, keywords.KeywordReader]
    segments: tuple[vectors.Segment, ...]


def load_derived(folder: Path, db: sqlite3.Connection, generation: int) -> Derived:
    files = FileTable(rows.all_files(db))
    names = json.loads(rows.read_meta(db).get("segments", "[]"))
    segments = tuple(vectors.open_segment(folder / "vectors" / name) for name in names)
    readers = {}
    for corpus in {file.corpus for file in files.files if file.chunks}:
        readers[corpus] = keywords.KeywordReader(folder / "keywords" / corpus)
    return Derived(generation, files, readers, segments)


def rebuild_missing(folder: Path, db: sqlite3.Connection) -> None:
    """At the writer's start: check cheaply that the derived parts are there and whole."""
    try:
        derived = load_derived(folder, db, 0)
        stored = rows.keyword_counts(db)
        behind = any(derived.keywords[corpus].size < count for corpus, count in stored.items())
        held = sum(segment.numbers.size for segment in derived.segments)
        behind = behind or held < sum(file.chunks for file in derived.files.files)
    except (IndexCorruptError, KeyError):
        behind = True
    if behind:
        rebuild(folder, db)


def rebuild(folder: Path, db: sqlite3.Connection) -> None:
    shutil.rmtree(folder / "keywords", ignore_errors=True)
    for corpus in Corpus:
        writer: keywords.KeywordWriter | None = None
        for number, tokens in rows.all_keywords(db, corpus):
            writer = writer or keywords.KeywordWriter(folder / "keywords" / corpus)
            writer.add(number, number >> ORDINAL_BITS, tokens)
        if writer:
            writer.commit()
            writer.close()
    stored = list(rows.all_vectors(db))
    names = [vectors.write_segment(folder / "vectors", segment_of(stored))] if stored else []
    generation = int(rows.read_meta(db).get("generation", "0")) + 1
    db.execute("BEGIN IMMEDIATE")
    rows.write_meta(db, {"segments": json.dumps(names), "generation": str(generation)})
    db.execute("COMMIT")
    vectors.remove_unlisted(folder / "vectors", set(names))


def segment_of(items: Sequence[tuple[int, float, bytes]]) -> vectors.Segment:
    return vectors.Segment(
        numbers=np.array([number for number, _, _ in items], np.int64),
        scales=np.array([scale for _, scale, _ in items], np.float32),
        rows=np.frombuffer(b"".join(vector for _, _, vector in items), np.int8).reshape(len(items), -1),
    )
