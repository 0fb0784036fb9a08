"""A seeded sample of what `make soak` measures at length."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.soaking import fuzz, kills

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def test_processes_that_are_killed(home: Path, tmp_path: Path) -> None:
    found = kills.run(tmp_path, 3, seed=11)
    assert (found["unclean"], found["lost"], found["same"]) == (0, 0, True)


@pytest.mark.parametrize("seed", [3])
def test_random_input(home: Path, tmp_path: Path, seed: int) -> None:
    found = fuzz.run(tmp_path, 1_500, seed)
    assert (found["crashes"], found["hangs"], found["opened_outside"]) == (0, 0, 0), found["first"]
