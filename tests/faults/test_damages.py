"""A seeded sample of what `python -m benchmarks.damage` tries at length."""

from __future__ import annotations

from pathlib import Path

from benchmarks.damage import Bench


def test_random_damages(home: Path, tmp_path: Path) -> None:
    """security 4: of 205 damages 4 were answered wrongly, 5 raised raw errors, 12 were not healed."""
    bench = Bench(tmp_path, modules=8)
    counts = bench.run(40, seed=7)
    bench.close()
    assert counts.good, counts
    assert counts.noticed
    assert counts.harmless
