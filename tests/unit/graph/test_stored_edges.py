"""Edges that the index stores: the same as those resolved anew, before and after any edits."""

from __future__ import annotations

import contextlib
import gc
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.graph.measure import every_node

from findspot.core.facts import Relation
from findspot.core.model import Progress
from findspot.core.progress import CancelToken, ignore_progress
from findspot.graph import Edge, Graph, pending_note, resolve_waiting, sources, stored_edges
from findspot.graph.edges import FAR
from findspot.graph.stored_edges import resolve_pending
from findspot.store import edge_rows
from findspot.store.database import connect_reader
from findspot.store.edge_rows import EdgeRows
from findspot.store.sqlite_store import SqliteStore
from graphs import LANGUAGES, fixture_of, record_of, stored


def _edges(store: SqliteStore) -> set[tuple[str, Edge]]:
    """All edges, as they are found from their targets."""
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        nodes = every_node(graph)
        to = {("to", edge) for node in nodes for edge in graph.references_to(node, floor=0.0)}
        to |= {("importers", edge) for node in nodes for edge in graph.importers(node.path)}
        return to | {("overrides", edge) for node in nodes for edge in graph.overrides(node)}


def _resolve(store: SqliteStore) -> int:
    with store.writer() as writer, store.snapshot() as snapshot, writer.storing_edges() as edges:
        return resolve_pending(snapshot, edges, CancelToken())


def _put(store: SqliteStore, files: Mapping[str, str | None]) -> None:
    with store.writer() as writer:
        for path, text in files.items():
            if text is None:
                writer.remove(path)
            else:
                writer.put(record_of(path, text))
        writer.commit()


def _anew(files: Mapping[str, str], home: Path) -> set[tuple[str, Edge]]:
    store = stored(files, home)
    edges = _edges(store)
    store.close()
    return edges


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Let collections look only at what a test makes: with full tables, one follows every reference."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("language", LANGUAGES)
def test_edges_are_the_same_from_both_ends_and_with_full_tables(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a definition refers to is resolved when somebody asks, and what refers to it is stored.

    speed 7: memory is bounded inside of a file, too.
    """
    store = stored(fixture_of(language), tmp_path, resolve=False)
    assert _resolve(store) > 0
    assert _resolve(store) == 0
    resolved = _edges(store)
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        started = {edge for node in every_node(graph) for edge in graph.edges_of(node)}
    assert started == {edge for _, edge in resolved if edge.mark != FAR}
    monkeypatch.setattr(sources, "MOST_FILES", 1)
    monkeypatch.setattr(stored_edges, "_LOOK", 1)
    with store.writer() as writer, writer.storing_edges() as edges:
        edges.clear()
    _resolve(store)
    store.close()
    assert _edges(store) == resolved
    store.close()


def test_answers_say_how_many_files_are_pending(tmp_path: Path) -> None:
    files = {"a.py": "def helper(): ...\n", "b.py": "from a import helper\n\nhelper()\n"}
    store = stored(files, tmp_path, resolve=False)
    with store.snapshot() as snapshot:
        note = pending_note(snapshot)
    assert note == "2 files pending: what they refer to may be missing or out of date."
    _resolve(store)
    with store.snapshot() as snapshot:
        assert pending_note(snapshot) is None
    store.close()


def test_what_was_written_last_is_resolved_first(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"def f{number}(): ...\n\n\nf{number}()\n" for number in range(3)}
    store = stored(files, tmp_path, resolve=False)
    edited = record_of("m1.py", files["m1.py"] + "f1()\n")
    with store.writer() as writer:
        writer.put(edited)
        writer.touch(replace(edited.file, mtime_ns=1))
        writer.commit()
        with store.snapshot() as snapshot, writer.storing_edges() as edges:
            assert resolve_pending(snapshot, edges, CancelToken(), 1) == 1
    with store.snapshot() as snapshot:
        pending = {snapshot.files.by_id[number].path for number in snapshot.edges.pending()}
    assert pending == {"m0.py", "m2.py"}
    store.close()


def test_what_is_pending_is_resolved_before_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few files at a time; not while somebody else writes."""
    monkeypatch.setattr(stored_edges, "FEW", 2)
    files = {f"m{number}.py": f"def f{number}(): ...\n\n\nf{number}()\n" for number in range(5)}
    store = stored(files, tmp_path, resolve=False)
    with store.writer():
        assert not resolve_waiting(store, ignore_progress, CancelToken())
    more = [resolve_waiting(store, ignore_progress, CancelToken()) for _ in range(4)]
    assert more == [True, True, False, False]
    with store.snapshot() as snapshot:
        assert not snapshot.edges.pending()
    store.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_edges_after_edits_are_those_of_a_new_index(language: str, tmp_path: Path) -> None:
    """Whatever is renamed, cut or removed: what depends on it is resolved again."""
    chance = random.Random(language)
    files = fixture_of(language)
    store = stored(files, tmp_path / "edited")
    _resolve(store)
    for number in range(6):
        changed = _edited(files, chance)
        _put(store, changed)
        _resolve(store)
        files = {path: text for path, text in {**files, **changed}.items() if text is not None}
        assert _edges(store) == _anew(files, tmp_path / str(number)), changed.keys()
    store.close()


def _edited(files: Mapping[str, str], chance: random.Random) -> dict[str, str | None]:
    """Cut a line out of a file, rename a word of it, remove it, or exchange two files."""
    path, other = chance.choice(list(files)), chance.choice(list(files))
    lines = files[path].split("\n")
    kind = chance.choice(("cut", "rename", "remove", "exchange"))
    if kind == "cut":
        first = chance.randrange(len(lines))
        del lines[first : first + chance.randint(1, 3)]
        return {path: "\n".join(lines)}
    if kind == "rename":
        words = [word for word in files[path].replace("(", " ").split() if word.isidentifier()]
        word = chance.choice(words) if words else "x"
        return {path: files[path].replace(word, f"{word}2")}
    if kind == "remove" and len(files) > 2:
        return {path: None}
    return {path: files[other], other: files[path]}


def test_a_change_inside_a_function_makes_no_other_file_pending(tmp_path: Path) -> None:
    files = {"a.py": "def helper():\n    return 1\n", "b.py": "from a import helper\n\nhelper()\n"}
    store = stored(files, tmp_path)
    _resolve(store)
    _put(store, {"a.py": "def helper():\n    print('more')\n    return 1\n"})
    with store.snapshot() as snapshot:
        pending = {snapshot.files.by_id[number].path for number in snapshot.edges.pending()}
    assert pending == {"a.py"}
    store.close()


def test_what_follows_from_a_changed_name_is_resolved_again(tmp_path: Path) -> None:
    """The caller names neither what changed nor its file."""
    files = {
        "kinds.py": "class One:\n    def go(self): ...\n\nclass Two:\n    def go(self): ...\n",
        "make.py": "from kinds import One, Two\n\ndef make():\n    return One()\n",
        "hand.py": "from make import make\n\ndef hand():\n    return make()\n",
        "use.py": "from hand import hand\n\nhand().go()\n",
    }
    store = stored(files, tmp_path)
    _resolve(store)
    _put(store, {"make.py": files["make.py"].replace("return One()", "return Two()")})
    _resolve(store)
    store.close()
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        (two,) = graph.find("Two.go")
        assert [edge.path for edge in graph.references_to(two, (Relation.CALL,))] == ["use.py"]
    store.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_edges_do_not_depend_on_the_order_of_indexing(language: str, tmp_path: Path) -> None:
    """Workers hand in files as they finish, and an edited file is the newest: its number says nothing.

    Each file has a copy beside it, so that every name is defined twice in its folder.
    """
    files = fixture_of(language)
    for path, text in fixture_of(language).items():
        stem, dot, ending = path.rpartition(".")
        files[f"{stem}_copy{dot}{ending}" if dot else f"{path}_copy"] = text
    orders = [
        sorted(files),
        sorted(files, reverse=True),
        random.Random(language).sample(sorted(files), len(files)),
    ]
    found = [
        _anew({path: files[path] for path in order}, tmp_path / str(n)) for n, order in enumerate(orders)
    ]
    assert found[0] == found[1] == found[2]


def test_a_killed_run_has_the_edges_of_most_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """speed 7: many edges are committed in parts, which other processes see."""
    monkeypatch.setattr(edge_rows, "_MANY_ROWS", 0)
    files = {f"m{number}.py": f"def f{number}():\n    pass\n\n\nf{number}()\n" for number in range(4)}
    store = stored(files, tmp_path, resolve=False)
    reported: list[int] = []

    def progress(now: Progress) -> None:
        with contextlib.closing(connect_reader(store.database)) as other:
            reported.append(len(EdgeRows(other).pending()))

    monkeypatch.setattr(stored_edges, "FEW", 1)
    with store.writer() as writer, store.snapshot() as snapshot, writer.storing_edges() as edges:
        resolve_pending(snapshot, edges, CancelToken(), progress=progress)
    assert reported == [4, 3, 2, 1]
    store.close()


def test_the_edges_that_were_put_last_are_stored(tmp_path: Path) -> None:
    store = stored({"m.py": "x = 1\n"}, tmp_path)
    with store.writer() as writer:
        with writer.storing_edges() as edges:
            edges.put(7, b"old", {3: b"a", 1: b"b"})
            edges.put(8, b"other", {1: b"c"})
            edges.put(7, b"new", {1: b"d", 2: b"e"})
            edges.put(9, b"gone", {2: b"f"})
            edges.drop(9)
        with writer.storing_edges() as edges:
            found = [edges.to(target) for target in (1, 2, 3)]
            assert edges.sources(7) == b"new"
    assert found == [[(7, b"d"), (8, b"c")], [(7, b"e")], []]
    store.close()


def test_files_whose_edges_could_not_be_stored_are_resolved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C, or no memory, while many are stored at once."""
    monkeypatch.setattr(edge_rows, "_MANY_ROWS", 0)
    store = stored({"m.py": "def f():\n    pass\n\n\nf()\n"}, tmp_path, resolve=False)
    with store.snapshot() as snapshot:
        (pending,) = snapshot.edges.pending()

    class Stopped(dict[int, bytes]):
        def items(self) -> Any:
            raise KeyboardInterrupt

    with store.writer() as writer:
        with contextlib.suppress(KeyboardInterrupt), writer.storing_edges() as edges:
            edges.put(pending, b"", Stopped({1: b"a"}))
            edges.save_many()
        writer.commit()
    with store.snapshot() as snapshot:
        assert snapshot.edges.pending() == {pending}
    store.close()
