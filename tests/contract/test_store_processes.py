"""Two processes on one index, and writers that are killed at any instant."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, put, record
from findspot.core.errors import IndexBusyError
from findspot.store.store_protocol import Store

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

HOLD = """
import sys
from pathlib import Path
from findspot.store.sqlite_store import SqliteStore
with SqliteStore(Path(sys.argv[1]), "p").writer():
    print("held", flush=True)
    sys.stdin.readline()
"""

REPLACE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from contents import record
from findspot.store.sqlite_store import SqliteStore
with SqliteStore(Path(sys.argv[1]), "p").writer() as writer:
    print("ready", flush=True)
    for turn in range(int(sys.argv[3]), 1_000_000):
        for name in "abc":
            writer.put(record(f"{name}.py", f"turn{turn} {name}", "the same in all"))
        writer.set_meta(turn=str(turn))
        writer.commit()
        print(turn, flush=True)
"""
"""Commits without end; a turn is told once its commit is made."""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_one_writer_at_a_time_and_readers_meanwhile(store: Store, open_at: Callable[[Path], Store]) -> None:
    put(store, record("a.py", "alpha"))
    held = contents(store)
    other = start(HOLD, str(store.folder))
    assert said(other) == "held"
    with pytest.raises(IndexBusyError) as refused, store.writer():
        pass
    assert f"process {other.pid}" in refused.value.developer_message
    assert store.being_written
    assert contents(open_at(store.folder)) == held
    other.kill()
    other.communicate()
    assert not store.being_written
    put(store, record("b.py", "beta"))
    assert len(contents(store).files) == 2


def test_killed_at_any_instant_a_writer_leaves_its_last_commit(
    store: Store, open_at: Callable[[Path], Store]
) -> None:
    """What it has told of is there, whole; what it was doing is there whole or not at all."""
    chance = random.Random(20_261)
    acknowledged = 0
    for _ in range(3):
        tests = str(Path(__file__).parents[1])
        other = start(REPLACE, str(store.folder), tests, str(acknowledged + 1))
        assert said(other) == "ready"
        for _ in range(chance.randrange(1, 5)):
            acknowledged = int(said(other))
        try:
            other.wait(chance.uniform(0, 0.15))
        except subprocess.TimeoutExpired:
            other.kill()
        rest = other.communicate()[0].split()
        acknowledged = int(rest[-1]) if rest else acknowledged
        reader = open_at(store.folder)
        with reader.snapshot() as snapshot:
            turn = int(snapshot.meta()["turn"])
        assert turn in (acknowledged, acknowledged + 1)
        assert {row[6] for row in contents(reader).chunks} == {
            "the same in all",
            *(f"turn{turn} {name}" for name in "abc"),
        }
        acknowledged = turn
    put(store, record("a.py", "after all"))
    assert len(contents(store).files) == 3
