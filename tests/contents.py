"""What an index holds, in a form that two indexes can be compared in; and records to fill one with."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from findspot import Project
from findspot.core.facts import Facts, names_of
from findspot.core.files import content_hash
from findspot.core.model import Chunk, ChunkType, Corpus, SourceFile, Span, Symbol
from findspot.core.settings import KEYS, DiscoverSettings
from findspot.store.records import OUTLINE_ORDINAL, ChunkRecord, FileRecord, RecordRows, StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store
from findspot.text.tokens import keyword_text, tokens

MakeProject = Callable[..., Project]
"""Files, by path → a project that holds them."""

DEFAULT_FILES = DiscoverSettings(
    **{key.attribute: key.parse(key.default) for key in KEYS if key.section == "discover"}
)

DIMENSIONS = 64
MAX_TERMS = 60


def files_wanted(**changes: Any) -> DiscoverSettings:
    """The settings of discovery, the defaults with these changes."""
    return replace(DEFAULT_FILES, **changes)


@contextlib.contextmanager
def edited_database(folder: Path) -> Iterator[sqlite3.Connection]:
    """Change the database of an index by hand."""
    with contextlib.closing(sqlite3.connect(folder / "index.sqlite", isolation_level=None)) as db:
        yield db


def written_by_newer_version(folder: Path, version: int = 99) -> None:
    """Give an index a format that this version does not know."""
    with edited_database(folder) as db:
        db.execute(f"PRAGMA user_version = {version}")


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


@dataclass
class Contents:
    """Everything that does not depend on the order of indexing."""

    files: dict[str, tuple[Any, ...]]
    chunks: list[tuple[Any, ...]]
    definitions: list[tuple[str, str, int, str]]
    skips: list[tuple[str, str, str]]
    keywords: dict[str, list[tuple[str, int, int]]]
    facts: dict[str, Facts | None]


def contents(store: Store) -> Contents:
    """What one snapshot holds, after checking that its derived parts tell the same as its rows."""
    with store.snapshot() as snapshot:
        files = {f.path: (f.corpus, f.language, f.size, f.sha256, f.chunks) for f in snapshot.files.files}
        chunks = [(path, chunk) for path in files for chunk in snapshot.chunks.of_file(path)]
        assert [len(snapshot.chunks.of_file(path)) for path in files] == [row[4] for row in files.values()]
        check_vectors(snapshot, [chunk for _, chunk in chunks])
        return Contents(
            files=files,
            chunks=sorted((_plain(snapshot, chunk) for _, chunk in chunks), key=repr),
            definitions=_definitions(snapshot, [chunk for _, chunk in chunks]),
            skips=[(skip.path, skip.reason, skip.detail) for skip in snapshot.skips.all()],
            keywords=_keyword_answers(snapshot, [chunk for _, chunk in chunks]),
            facts=_facts(snapshot),
        )


def _plain(snapshot: Snapshot, chunk: StoredChunk) -> tuple[Any, ...]:
    vector, scale = snapshot.chunks.vector(chunk.number)
    fields = {name: getattr(chunk, name) for name in chunk.__slots__ if name != "number"}
    return (*fields.values(), vector.tobytes(), scale)


def check_vectors(snapshot: Snapshot, chunks: list[StoredChunk]) -> None:
    """The segments answer with every live chunk of lines, and with no other."""
    lines = {c.number: c for c in chunks if c.number & OUTLINE_ORDINAL != OUTLINE_ORDINAL}
    if not lines:
        return
    query = snapshot.chunks.vector(next(iter(lines)))[0]
    everything = snapshot.files.mask(snapshot.files.files)
    numbers, scores = snapshot.vectors.nearest(query, everything, len(lines) + 1_000)
    assert sorted(numbers.tolist()) == sorted(lines)
    assert list(scores) == sorted(scores, reverse=True)
    for number, score in zip(numbers.tolist()[:50], scores.tolist()[:50], strict=True):
        vector, scale = snapshot.chunks.vector(number)
        assert (
            abs(float(vector.astype(np.int64) @ query.astype(np.int64)) * scale - score)
            <= 1e-3 * abs(score) + 1e-3
        )


def _definitions(snapshot: Snapshot, chunks: list[StoredChunk]) -> list[tuple[str, str, int, str]]:
    names = sorted({name.lower() for chunk in chunks for name in chunk.symbols})
    at = {chunk.number: (chunk.path, chunk.start_line) for chunk in chunks}
    found = [
        (name, *at[number], kind) for name, number, kind, _ in snapshot.symbols.definitions(names, 100_000)
    ]
    return sorted(found)


def _facts(snapshot: Snapshot) -> dict[str, Facts | None]:
    """What each file says about names, after checking that each name leads to the files that say it."""
    facts = {file.path: snapshot.facts.of_file(file.id) for file in snapshot.files.files}
    named: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for file in snapshot.files.files:
        for name, defined, used in names_of(found) if (found := facts[file.path]) else ():
            if defined or used:
                named[name].append((file.id, defined, used))
    for name, rows in named.items():
        assert snapshot.facts.files_naming(name) == sorted(rows), name
    return facts


def _keyword_answers(snapshot: Snapshot, chunks: list[StoredChunk]) -> dict[str, list[tuple[str, int, int]]]:
    """For a sample of words, the chunks that keyword search finds: those, and all those, that hold it."""
    by_number = {chunk.number: chunk for chunk in chunks}
    corpus_of = {file.path: file.corpus for file in snapshot.files.files}
    answers = {}
    for corpus in Corpus:
        reader = snapshot.keywords.get(corpus)
        lines = [c for c in chunks if corpus_of[c.path] == corpus and c.chunk_type != ChunkType.SYMBOLS]
        if not lines:
            continue
        assert reader is not None
        held = {c.number: set(tokens(c.text)) for c in lines}
        for term in sorted(set().union(*held.values()))[:MAX_TERMS]:
            found = reader.search({term: 1.0}, reader.size + 1)
            live = [by_number[number] for number, _ in found if number in by_number]
            assert {n for n, words in held.items() if term in words} <= {c.number for c in live}, term
            answers[f"{corpus}:{term}"] = sorted((c.path, c.start_line, c.end_line) for c in live)
    return answers


def fresh_contents(project: Project, home: Path, **flags: object) -> Contents:
    """What a build of the same files from nothing holds."""
    shutil.rmtree(home, ignore_errors=True)
    before = os.environ["FINDSPOT_HOME"]
    os.environ["FINDSPOT_HOME"] = str(home)
    try:
        other = Project(project.root, flags)
        other.update()
        try:
            return contents(other.store)
        finally:
            other.close()
    finally:
        os.environ["FINDSPOT_HOME"] = before


def record(
    path: str,
    *texts: str,
    corpus: Corpus = Corpus.CODE,
    names: tuple[str, ...] = (),
    outline: bool = False,
    dimensions: int = DIMENSIONS,
) -> FileRecord:
    """A file of one-line chunks; the vector of a chunk follows from its text."""
    file = SourceFile(path, corpus, "python" if corpus is Corpus.CODE else "markdown", len(texts), 1)
    chunks = chunks_of(path, *texts, names=names, outline=outline, dimensions=dimensions)
    return FileRecord(file, content_hash("\n".join(texts).encode()), RecordRows.of(chunks))


def chunks_of(
    path: str,
    *texts: str,
    names: tuple[str, ...] = (),
    outline: bool = False,
    dimensions: int = DIMENSIONS,
) -> list[ChunkRecord]:
    """The chunks of such a file."""
    chunks = [
        _chunk(
            path,
            number,
            text,
            ChunkType.DEFINITIONS,
            names=names if number == 1 else (),
            dimensions=dimensions,
        )
        for number, text in enumerate(texts, 1)
    ]
    if outline:
        chunks.append(_chunk(path, 1, "outline of " + path, ChunkType.SYMBOLS, dimensions=dimensions))
    return chunks


def _chunk(
    path: str, line: int, text: str, kind: ChunkType, names: tuple[str, ...] = (), *, dimensions: int
) -> ChunkRecord:
    chunk = Chunk(
        path,
        Span(line, line),
        text,
        kind,
        "function",
        "python",
        tuple(Symbol(n, "function", line) for n in names),
    )
    keywords = "" if kind is ChunkType.SYMBOLS else keyword_text(path, None, "", text)
    return ChunkRecord(chunk, keywords, text.encode(), 1 / 127, vector_of(text, dimensions).tobytes())


def put(store: Store, *records: FileRecord) -> None:
    """One commit of these files."""
    with store.writer() as writer:
        for item in records:
            writer.put(item)
        writer.commit()


def vector_of(text: str, dimensions: int = DIMENSIONS) -> np.ndarray[Any, np.dtype[np.int8]]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).integers(-127, 128, dimensions).astype(np.int8)


def words_found(snapshot: Snapshot, word: str, corpus: Corpus = Corpus.CODE) -> set[str]:
    """The texts of the live chunks that keyword search finds."""
    reader = snapshot.keywords.get(corpus)
    if reader is None:
        return set()
    found = snapshot.chunks.by_number([number for number, _ in reader.search({word: 1.0}, reader.size + 1)])
    return {chunk.text for chunk in found.values()}


@contextlib.contextmanager
def indexed_project(folder: Path, files: Mapping[str, str | bytes], **flags: object) -> Iterator[Project]:
    """Index files in a home of their own, for tests of a module that only read."""
    write_files(folder / "project", files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(folder / "home"))
        with contextlib.closing(Project(folder / "project", flags)) as project:
            project.update()
            yield project
