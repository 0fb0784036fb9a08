"""The history before a commit: what a project knew when a case was open, and nothing of the fix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from findspot.core.git import run_git
from findspot.embed.provider_registry import open_embedder
from findspot.history.commit_log import MOST_COMMITS, read_commits
from findspot.history.commit_store import CommitStore, Loaded
from findspot.history.commit_worker import BATCH
from findspot.store.vector_segments import Segment


def commits_before(root: Path, commits: Iterable[str]) -> list[str]:
    """Return what is reachable from some commits, the newest first, as far back as the package looks."""
    return (run_git(root, "rev-list", f"--max-count={MOST_COMMITS}", *commits) or "").split()


def store_commits(root: Path, commits: Iterable[str], folder: Path) -> None:
    """Store what is reachable from some commits of a repository, unless that was done."""
    store = CommitStore(folder)
    if store.exists:
        return
    folder.mkdir(parents=True, exist_ok=True)
    embedder = open_embedder("local:static")
    ids = commits_before(root, commits)
    with store.writing() as writer:
        for at in range(0, len(ids), BATCH):
            writer.add(read_commits(root, ids[at : at + BATCH]), embedder)


class Ancestors(CommitStore):
    """Of the commits that are stored, those reachable from one: a clone holds the fix, too.

    With a seed, their messages are shuffled among them: a control that must gain nothing.
    """

    def __init__(self, folder: Path, root: Path, commit: str, seed: int | None = None) -> None:
        super().__init__(folder)
        self._before = set(commits_before(root, [commit]))
        self._seed = seed

    def _loaded(self) -> Loaded:
        return self._reachable

    @cached_property
    def _reachable(self) -> Loaded:
        whole = super()._loaded()
        with self._reading() as db:
            hashes = dict(db.execute("SELECT id, hash FROM commits"))
        numbers = whole.vectors.numbers.tolist()
        kept = np.array([hashes[number] in self._before for number in numbers], np.bool_)
        told = np.flatnonzero(kept)
        if self._seed is not None:
            np.random.default_rng(self._seed).shuffle(told)
        vectors = Segment(whole.vectors.numbers[kept], whole.vectors.scales[told], whole.vectors.rows[told])
        return replace(whole, vectors=vectors)
