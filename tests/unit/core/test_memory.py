"""Memory that goes back to the system once it is not needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
from pathlib import Path
from findspot.core.platforms import memory_given_back

def anonymous_mb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024

before = anonymous_mb()
with memory_given_back():
    small = [bytes(2_000) for _ in range(50_000)]
    held = small[::500]
    during = anonymous_mb()
    del small
print(before, during, anonymous_mb())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_small_pieces_go_back_though_some_are_kept() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    before, during, after = map(float, told.split())
    assert during - before > 80
    assert after - before < 30
