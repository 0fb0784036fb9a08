"""Graphs of small projects, made without embedding anything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from findspot.chunk.dispatch import chunk_file
from findspot.core.facts import names_of, pack
from findspot.core.languages import language_of
from findspot.core.model import Corpus, SourceFile
from findspot.core.progress import CancelToken
from findspot.graph import Graph, store_edges
from findspot.store.records import ChunkRecord, FileRecord, RecordRows
from findspot.store.sqlite_store import SqliteStore

FIXTURES = Path(__file__).parent / "fixtures" / "graph"
LANGUAGES = sorted(folder.name for folder in FIXTURES.iterdir())
"""Those with a small project whose graph is known."""


def fixture_of(language: str) -> dict[str, str]:
    """The files of the small project in a language."""
    folder = FIXTURES / language
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


def record_of(path: str, text: str) -> FileRecord:
    """A file with its facts; of settings, with their text."""
    file = SourceFile(path, Corpus.CODE, language_of(path), len(text), 0)
    chunked = chunk_file(file, text)
    if chunked.facts is None:
        chunks = [ChunkRecord(chunk, "", b"", 1.0, bytes(64)) for chunk in chunked.chunks]
        return FileRecord(file, "", RecordRows.of(chunks))
    return FileRecord(file, "", RecordRows.of(()), pack(chunked.facts), names_of(chunked.facts))


def stored(files: Mapping[str, str], home: Path, *, resolve: bool = True) -> SqliteStore:
    store = SqliteStore(home, "project")
    with store.writer() as writer:
        for path, text in files.items():
            writer.put(record_of(path, text))
        writer.commit()
        if resolve:
            store_edges(store, writer, CancelToken())
    return store


@contextlib.contextmanager
def graph_of(files: Mapping[str, str], home: Path) -> Iterator[Graph]:
    store = stored(files, home)
    with store.snapshot() as snapshot:
        yield Graph(snapshot)
    store.close()
