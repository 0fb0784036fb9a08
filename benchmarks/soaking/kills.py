"""`kill -9` at random instants while a process edits and indexes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.soaking.answers import held, rebuilt
from findspot import Project
from findspot.core.model import IndexState
from findspot.store.store_protocol import Store

FILES = 40
MOST_EDITS = 3
_LONGEST_EDIT_S = 0.7
"""About what one edit takes: the kill falls anywhere into the one after those that were waited for."""

UPDATE = """
from findspot import Project

def store(project, name, mark, turn):
    if turn % 2:
        project.reindex_file(name)
    else:
        project.update()
"""
"""How an edit gets into the index."""

EDITOR = """
import random, sys
from pathlib import Path
root, seed, files = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance, project = random.Random(seed), Project(root)
print("ready", flush=True)
for turn in range(10_000):
    name = f"mod{chance.randrange(files)}.py"
    mark = f"edit_{seed}_{turn}"
    functions = range(chance.randrange(1, 9))
    body = "".join(f"def {mark}_{n}(x):\\n    return x + {n}\\n\\n\\n" for n in functions)
    (root / name).write_text(body)
    store(project, name, mark, turn)
    print(f"{name} {mark}", flush=True)
"""
"""Edits files, and acknowledges each edit once it is stored; comes after a program that has `store`."""


def run(place: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill `count` processes; every reopen is clean and no acknowledged edit is lost."""
    root = make_files(place / "project")
    chance = random.Random(seed)
    project = Project(root)
    acknowledged = unclean = lost = 0
    for turn in range(count):
        edits, then_s = chance.randrange(MOST_EDITS + 1), chance.uniform(0, _LONGEST_EDIT_S)
        said = live_and_die(root, seed * 100_000 + turn, edits, then_s)
        acknowledged += len(said)
        unclean += project.status().state not in (
            IndexState.READY,
            IndexState.INCOMPLETE,
            IndexState.NOT_FOUND,
        )
        lost += lost_of(project.store, said)
    project.update()
    same = held(project) == rebuilt(root)
    project.close()
    return {"kills": count, "acknowledged": acknowledged, "unclean": unclean, "lost": lost, "same": same}


def make_files(root: Path) -> Path:
    """The project that is edited."""
    root.mkdir()
    for number in range(FILES):
        (root / f"mod{number}.py").write_text(f"def first_{number}():\n    return {number}\n")
    return root


def live_and_die(
    root: Path, seed: int, edits: int, then_s: float, *given: str, storing: str = UPDATE
) -> dict[str, str]:
    """The last acknowledged edit of each file that a process made before it was killed.

    However busy the machine is, some edits are waited for; then the process lives a moment longer.
    """
    with subprocess.Popen(
        [sys.executable, "-c", storing + EDITOR, str(root), str(seed), str(FILES), *given],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        lines = [process.stdout.readline() for _ in range(edits)]
        time.sleep(then_s)
        process.kill()
        lines += process.stdout.read().splitlines()
    said = [line.split() for line in lines]
    return {words[0]: words[1] for words in said if len(words) == 2}


def lost_of(store: Store, said: dict[str, str]) -> int:
    """Acknowledged edits that the index does not have; a later one of the file may be there instead."""
    if not said:
        return 0
    lost = 0
    with store.snapshot() as snapshot:
        for name, mark in said.items():
            texts = "\n".join(chunk.text for chunk in snapshot.chunks.of_file(name))
            seed, turn = mark.split("_")[1:]
            found = [word.split("_") for word in texts.split() if word.startswith("edit_")]
            lost += not any(word[1] == seed and int(word[2]) >= int(turn) for word in found)
    return lost
