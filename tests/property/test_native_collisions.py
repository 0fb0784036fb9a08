"""No file can be made whose names are slow to look up: the hash of a name is known to one process only."""

from __future__ import annotations

import string
import subprocess
import sys
from random import Random

import pytest

from compiled import compiled_part

compiled_part()

PROCESSOR_S = 5
CHILD = f"""
import resource, sys
from findspot import _native
resource.setrlimit(resource.RLIMIT_CPU, ({PROCESSOR_S}, {PROCESSOR_S}))
text = sys.stdin.read()
names = [(name, None) for name in text.split()]
print(len(_native.used_names(text, [0], [len(text)], names)[0]))
"""


def test_names_that_collide_in_a_known_hash_are_found_soon() -> None:
    """2**15 names of one FNV-1a hash: compared with each other, they took ten seconds."""
    pytest.importorskip("resource", reason="no limits on this system")
    names = _colliding(15)
    assert {_fnv(name) for name in names[:100]} == {_fnv(names[-1])}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input="\n".join(names),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout.strip() == str(len(names)), done.stderr


def _colliding(pairs: int) -> list[str]:
    """Names of one hash: each of so many places has either of two parts that lead to the same state."""
    names, state, chance = [""], _fnv(""), Random(1)
    for _ in range(pairs):
        seen: dict[int, str] = {}
        while True:
            part = "".join(chance.choices(string.ascii_letters, k=5))
            after = _fnv(part, state)
            if seen.setdefault(after, part) != part:
                names = [name + end for name in names for end in (seen[after], part)]
                state = after
                break
    return names


def _fnv(text: str, state: int = 2166136261) -> int:
    for byte in text.encode():
        state = (state ^ byte) * 16777619 & 0xFFFFFFFF
    return state
