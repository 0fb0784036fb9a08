"""What is put in comes out: every field of a record, the delta to a commit, and what is written about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from contents import chunks_of, put, record
from findspot.core.facts import Facts, ReferenceFact, Relation, names_of, pack
from findspot.core.model import ChunkType, Corpus, Symbol
from findspot.store.records import ChunkRecord, FileRecord, RecordRows
from findspot.store.store_protocol import Store

OpenAt = Callable[[Path], Store]


PATH = "src/größe.py"
TEXTS = ("first 'quoted' \\ line", "second\tline")


def full_chunks() -> list[ChunkRecord]:
    """One of everything, with what text may hold."""
    first, second, outline = chunks_of(PATH, *TEXTS, outline=True)
    described = replace(
        first.chunk,
        symbols=(Symbol("Größe", "class", 1), Symbol("Größe", "class", 1), Symbol("a::b", "function", 2)),
        signature="def f(x: 'y')",
        breadcrumb="Module > Größe",
        doc_comment="Say \"what\".\nAnd 'why'.",
        tags=("code", "python", "größe"),
        context="import os\nfrom x import y",
    )
    return [replace(first, chunk=described, scale=0.123456789), second, replace(outline, scale=0.0)]


def full_record() -> FileRecord:
    plain = record(PATH, *TEXTS, outline=True)
    facts = Facts("größe", (), (), (), (ReferenceFact(Relation.CALL, "f", "self", 1, -1),))
    rows = RecordRows.of(full_chunks())
    return replace(plain, rows=rows, facts=pack(facts), names=names_of(facts))


def test_every_field_comes_out_as_it_went_in(store: Store, open_at: OpenAt) -> None:
    given = full_record()
    put(store, given)
    with open_at(store.folder).snapshot() as snapshot:
        file = snapshot.files.find("src/größe.py")
        assert file is not None
        assert (file.corpus, file.size, file.mtime_ns, file.sha256) == ("code", 2, 1, given.sha256)
        held = snapshot.chunks.of_file("src/größe.py")
        for chunk, item in zip(held, full_chunks(), strict=True):
            assert chunk.text == item.chunk.text
            assert chunk.chunk_type == item.chunk.chunk_type
            assert chunk.symbols == tuple(symbol.name for symbol in item.chunk.symbols)
            assert (chunk.signature, chunk.breadcrumb, chunk.doc_comment, chunk.tags) == (
                item.chunk.signature,
                item.chunk.breadcrumb,
                item.chunk.doc_comment,
                item.chunk.tags,
            )
            vector, scale = snapshot.chunks.vector(chunk.number)
            assert (vector.tobytes(), scale) == (item.vector, item.scale)
        facts = snapshot.facts.of_file(file.id)
        assert facts is not None
        assert pack(facts) == given.facts
        assert held[-1].chunk_type == ChunkType.SYMBOLS


def test_names_of_a_line_that_differ_by_case_come_out(store: Store) -> None:
    """Found by publishing real repositories: one of the two is stored, and reading the file failed."""
    put(store, record("a.js", "const Item = item", names=("Item", "item")))
    with store.snapshot() as snapshot:
        (file,) = snapshot.files.files
        rows = snapshot.record(file).rows
        assert [name for _, _, name, _, _ in rows.symbols] == ["Item"]
        assert rows.chunks[0][7] == "Item\nitem"


def test_what_is_written_about_an_index_goes_with_its_commits(store: Store, open_at: OpenAt) -> None:
    with store.writer() as writer:
        writer.put(record("a.py", "alpha", "beta"))
        writer.set_meta(model="m 'quoted'", notes="one\ntwo")
        writer.commit()
        writer.set_meta(model="never committed")
    meta, counts = open_at(store.folder).figures()
    assert meta["model"] == "m 'quoted'"
    assert meta["notes"] == "one\ntwo"
    assert counts == {"code": (1, 2)}
    with store.writer() as writer:
        assert writer.meta()["model"] == "m 'quoted'"
        assert writer.files.totals() == (1, 2)
        assert list(writer.known_files().indexed) == ["a.py"]


def test_what_it_takes_on_disk_is_told_by_part(store: Store) -> None:
    """code-review B7: the page knew the file names of one store, and showed nothing for the other."""
    assert store.parts() == {}
    put(store, record("a.py", "alpha"), record("c.md", "prose", corpus=Corpus.DOCS))
    parts = store.parts()
    assert len(parts) == 3
    assert all(size > 0 for size in parts.values())
    assert sum(parts.values()) <= sum(p.stat().st_size for p in store.folder.rglob("*") if p.is_file())
