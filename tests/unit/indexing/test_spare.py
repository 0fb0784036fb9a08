"""The worker kept between runs: reused, replaced when it does not fit, and ended."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from findspot.core.model import Corpus, SourceFile
from findspot.core.progress import CancelToken
from findspot.indexing.workers import Indexed, Job, Setup, SparePool, WorkerPool


def setup_for(root: Path, strategy: str = "syntax") -> Setup:
    return Setup(root, "local:static", strategy, 1 << 20)


def index(spare: SparePool, setup: Setup, size: int = 1) -> WorkerPool:
    """One run over a few files; returns the pool that did it."""
    root = setup.root
    names = [f"f{number}.py" for number in range(4)]
    for name in names:
        (root / name).write_text("x = 1\n")
    jobs = [Job(SourceFile(name, Corpus.CODE, "python", 6, 1)) for name in names]
    with spare.lend(setup, size) as pool:
        outcomes = list(pool.run(iter(jobs), CancelToken()))
    assert all(isinstance(outcome, Indexed) for outcome in outcomes)
    return pool


def test_the_next_run_gets_the_same_pool_with_one_worker(tmp_path: Path) -> None:
    spare = SparePool()
    first = index(spare, setup_for(tmp_path), size=2)
    assert len(first.workers) == 1
    kept = first.workers[0]
    second = index(spare, setup_for(tmp_path))
    assert second is first
    assert second.workers == [kept]
    spare.close()
    assert not second.workers


def test_a_failed_run_keeps_nothing(tmp_path: Path) -> None:
    spare = SparePool()
    first = index(spare, setup_for(tmp_path))
    with pytest.raises(KeyboardInterrupt), spare.lend(setup_for(tmp_path), 1):
        raise KeyboardInterrupt
    assert not first.workers
    assert index(spare, setup_for(tmp_path)) is not first
    spare.close()


def test_the_spare_worker_ends_by_itself(tmp_path: Path) -> None:
    spare = SparePool(keep_s=0.0)
    before = set(threading.enumerate())
    pool = index(spare, setup_for(tmp_path))
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=180)
    assert not pool.workers
