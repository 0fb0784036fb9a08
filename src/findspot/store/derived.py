"""What is derived from the database: its live files, keyword readers and vector segments.

All of it belongs to one generation, can be loaded for that generation, and can be rebuilt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from findspot.core.files import remove_entry
from findspot.core.log import get_logger
from findspot.core.model import Corpus
from findspot.core.sqlite import Connection, transaction
from findspot.store.database import generation_of, read_meta, write_meta
from findspot.store.index_rows import ChunkRows, FileRows
from findspot.store.keywords import KeywordReader
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL, DerivedDamagedError, StoredFile
from findspot.store.vector_segments import (
    Mask,
    Numbers,
    Segment,
    VectorReader,
    is_allowed,
    mask_of,
    open_segment,
    remove_unlisted,
    write_segment,
)
from findspot.store.word_counts import ENDING, Postings, open_postings, write_postings

_log = get_logger("store")

VECTORS = "vectors"

_PART_ROWS = 20_000
"""Rows read at a time when all are: Python's own objects take several times their room."""


class FileTable:
    """The live files of one generation, by number, path and corpus."""

    def __init__(self, files: list[StoredFile], shape: str = "") -> None:
        """Take files in the order of their paths."""
        self.files = files
        self.shape = shape
        """The same in every generation until a path is added or removed, or a skip changes."""
        self.by_id = {file.id: file for file in files}
        self.by_path = {file.path: file.id for file in files}
        self._size = max(self.by_id, default=0) + 1
        self._whole: dict[str, Selection] = {}

    @cached_property
    def path_of(self) -> dict[int, str]:
        return {file.id: file.path for file in self.files}

    @cached_property
    def copies(self) -> dict[int, str]:
        """The hashes of files whose content several files have, by number."""
        counts = Counter(file.sha256 for file in self.files)
        return {file.id: file.sha256 for file in self.files if counts[file.sha256] > 1}

    def sorted_by_path(self, numbers: Iterable[int]) -> list[int]:
        """Return those of these files that are live, by path: a number only says which was indexed first."""
        live = [number for number in numbers if number in self.by_id]
        return sorted(live, key=lambda number: self.by_id[number].path)

    def in_order(self, numbers: Numbers) -> Numbers:
        """Return numbers that order chunks by the paths of their files and their places in them."""
        ids, homes = np.unique(numbers >> ORDINAL_BITS, return_inverse=True)
        paths = [self.by_id[number].path if number in self.by_id else "" for number in ids.tolist()]
        ranks = np.empty(ids.size, np.int64)
        ranks[sorted(range(ids.size), key=paths.__getitem__)] = np.arange(ids.size)
        keys: Numbers = (ranks[homes] << ORDINAL_BITS) | (numbers & OUTLINE_ORDINAL)
        return keys

    def mask(self, files: Iterable[StoredFile]) -> Mask:
        return mask_of([file.id for file in files], self._size)

    def find(self, path: str) -> StoredFile | None:
        number = self.by_path.get(path)
        return None if number is None else self.by_id[number]

    def counts(self) -> dict[str, tuple[int, int]]:
        corpora = sorted({file.corpus for file in self.files})
        chosen = {corpus: self.whole(corpus).files for corpus in corpora}
        return {corpus: (len(files), sum(file.chunks for file in files)) for corpus, files in chosen.items()}

    def languages(self) -> dict[str, int]:
        found = Counter(file.language for file in self.files)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def select(self, files: list[StoredFile]) -> Selection:
        return Selection(files, self.mask(files))

    def whole(self, corpus: str) -> Selection:
        """Return all files of a corpus; computed once per generation."""
        if corpus not in self._whole:
            self._whole[corpus] = self.select([file for file in self.files if file.corpus == corpus])
        return self._whole[corpus]


@dataclass(frozen=True, slots=True)
class Selection:
    """Some files of one generation, as a list and as a mask over file numbers."""

    files: list[StoredFile]
    mask: Mask

    def __contains__(self, file_id: int) -> bool:
        return bool(file_id < self.mask.size and self.mask[file_id])

    def of_chunks(self, numbers: Numbers) -> Mask:
        return is_allowed(numbers, self.mask)


@dataclass(frozen=True, slots=True)
class Derived:
    generation: int
    files: FileTable
    keywords: dict[str, KeywordReader]
    vectors: VectorReader
    memos: dict[object, object] = field(default_factory=dict)
    """What readers worked out from this generation and keep for the next reader."""
    lasting: dict[object, object] = field(default_factory=dict)
    """What they keep for later generations too: what is true of a file revision."""


def load_derived(folder: Path, db: Connection, generation: int, older: Derived | None = None) -> Derived:
    """Open the derived parts as the database lists them."""
    meta = read_meta(db)
    files = FileTable(FileRows(db).all(), meta.get("paths_since", ""))
    names = json.loads(meta.get("segments", "[]"))
    parts = [open_part(folder / VECTORS, name) for name in names]
    vectors = VectorReader([part.vectors for part in parts], files.in_order)
    words = [part.words for part in parts]
    readers: dict[str, KeywordReader] = {
        corpus: KeywordReader(words, files.whole(corpus).mask, files.in_order) for corpus in Corpus
    }
    return Derived(generation, files, readers, vectors, lasting=older.lasting if older else {})


def ensure_derived(folder: Path, db: Connection) -> None:
    """Rebuild what is missing or damaged."""
    try:
        for name in json.loads(read_meta(db).get("segments", "[]")):
            open_part(folder / VECTORS, name)
    except DerivedDamagedError:
        rebuild(folder, db)


def rebuild(folder: Path, db: Connection) -> None:
    """Make the derived parts from the database; readers see the old ones or the new."""
    _log.info("rebuilding the keyword index and vectors in %s", folder)
    if (folder / VECTORS).is_symlink() or not (folder / VECTORS).is_dir():
        remove_entry(folder / VECTORS)
    stored = ChunkRows(db).vectors()
    parts = [Part.of(rows) for rows in iter(lambda: list(islice(stored, _PART_ROWS)), [])]
    name = write_part(folder / VECTORS, parts, mask_of(FileRows(db).numbers()))
    names = [name] if name else []
    with transaction(db):
        write_meta(db, {"segments": json.dumps(names), "generation": str(generation_of(db) + 1)})
    remove_unlisted(folder / VECTORS, set(names))


class Part(NamedTuple):
    """Some chunks: their vectors, and how often they hold which words."""

    vectors: Segment
    words: Postings

    @classmethod
    def of(cls, chunks: Sequence[tuple[int, float, bytes, str]]) -> Part:
        """Make a part of number, scale, vector and tokens of chunks."""
        vectors = Segment(
            numbers=np.array([number for number, _, _, _ in chunks], np.int64),
            scales=np.array([scale for _, scale, _, _ in chunks], np.float32),
            rows=np.frombuffer(b"".join(vector for _, _, vector, _ in chunks), np.int8).reshape(
                len(chunks), -1
            ),
        )
        return cls(vectors, Postings.of((number, tokens) for number, _, _, tokens in chunks))


def open_part(folder: Path, name: str) -> Part:
    vectors = open_segment(folder / name)
    return Part(vectors, open_postings(folder / f"{name}{ENDING}", vectors.numbers))


def write_part(folder: Path, parts: Sequence[Part], live: Mask) -> str | None:
    """Write the chunks of parts whose file revision is live as one, under a name never used before."""
    name = write_segment(folder, [part.vectors for part in parts], live)
    if name is not None:
        write_postings(folder / f"{name}{ENDING}", [part.words for part in parts], live)
    return name
