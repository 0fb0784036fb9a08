"""Any series of writes, removals, commits, give-ups, reopenings and damage leaves what was committed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from contents import contents, record
from findspot.core.model import Corpus
from findspot.store.sqlite_store import SqliteStore

NAMES = ("a.py", "b.py", "c.md", "d/e.py", "d/f.md")
TEXTS = ("alpha beta", "gamma", "alpha", "delta epsilon zeta", "x")

change = st.one_of(
    st.tuples(
        st.just("put"), st.sampled_from(NAMES), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4)
    ),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
)
session = st.tuples(
    st.lists(st.tuples(st.lists(change, max_size=4), st.booleans()), min_size=1, max_size=3),
    st.sampled_from(["go on", "reopen", "lose vectors"]),
)


Commit = tuple[list[tuple[str, str, list[str]]], bool]


def corpus(name: str) -> Corpus:
    return Corpus.DOCS if name.endswith(".md") else Corpus.CODE


def run(store: SqliteStore, commits: list[Commit]) -> Iterator[dict[str, list[str]]]:
    """Play one writer; yields what each commit changes."""
    with store.writer() as writer:
        pending: dict[str, list[str]] = {}
        for changes, committed in commits:
            for action, name, texts in changes:
                if action == "put":
                    writer.put(record(name, *texts, corpus=corpus(name), outline=len(texts) > 1))
                    pending[name] = texts
                else:
                    writer.remove(name)
                    pending[name] = []
            if committed:
                writer.commit()
                yield pending
                pending = {}


@settings(max_examples=10, derandomize=True, phases=[Phase.generate])
@given(st.lists(session, min_size=1, max_size=5))
def test_the_store_holds_what_was_committed(sessions: list[tuple[list[Commit], str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        store = SqliteStore(Path(place) / "index", "p")
        expected: dict[str, list[str]] = {}
        for commits, then in sessions:
            for changed in run(store, commits):
                expected.update(changed)
                check(store, expected)
            if then == "reopen":
                store.close()
                store = SqliteStore(store.folder, "p")
            elif then.startswith("lose"):
                store.close()
                shutil.rmtree(store.folder / then.split()[1], ignore_errors=True)
            check(store, expected)
        store.close()


def check(store: SqliteStore, expected: dict[str, list[str]]) -> None:
    held = contents(store)
    live = {name: texts for name, texts in expected.items() if texts}
    assert {path: row[4] for path, row in held.files.items()} == {
        name: len(texts) + (len(texts) > 1) for name, texts in live.items()
    }
    texts = sorted(row[6] for row in held.chunks if row[4] != "symbols")
    assert texts == sorted(text for name in live.values() for text in name)
