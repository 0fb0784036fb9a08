"""The worker kept between runs: reused, replaced when it does not fit, and ended."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
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


def test_another_setup_is_taken_up_by_the_same_worker(tmp_path: Path) -> None:
    spare = SparePool()
    first = index(spare, setup_for(tmp_path))
    kept = first.workers[0]
    other = tmp_path / "other"
    other.mkdir()
    assert index(spare, setup_for(other, "character")).workers == [kept]
    spare.close()


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="this system has no priorities of processes")
def test_workers_give_way_only_while_nobody_waits_for_them(tmp_path: Path) -> None:
    """Speed and scale: on a busy machine, workers of low priority starved while somebody waited."""

    def priority(pool: WorkerPool) -> int:
        return os.getpriority(os.PRIO_PROCESS, pool.workers[0].pid) - own

    own = os.getpriority(os.PRIO_PROCESS, 0)
    background, waited_for = setup_for(tmp_path), replace(setup_for(tmp_path), gives_way=False)
    spare = SparePool()
    pool = index(spare, waited_for)
    kept = pool.workers[0]
    assert priority(pool) == 0
    assert priority(index(spare, background)) > 0
    assert priority(index(spare, background)) == priority(pool)
    assert index(spare, waited_for).workers == [kept]
    assert priority(index(spare, waited_for, size=2)) == 0
    spare.close()


def test_a_worker_that_was_started_ahead_serves_the_next_run(tmp_path: Path) -> None:
    spare = SparePool()
    spare.expect(setup_for(tmp_path))
    spare.expect(setup_for(tmp_path))
    with spare.lend(setup_for(tmp_path, "character"), 2) as pool:
        (ahead,) = pool.workers
        (tmp_path / "f.py").write_text("x = 1\n")
        jobs = [Job(SourceFile("f.py", Corpus.CODE, "python", 6, 1))]
        assert len(list(pool.run(jobs, CancelToken()))) == 1
        assert pool.workers == [ahead]
    spare.close()
    assert not pool.workers


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
