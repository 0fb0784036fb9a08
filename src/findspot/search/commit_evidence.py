"""The commits whose messages are nearest to a text: what they changed, and what that is worth."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError
from findspot.history.commit_log import Change
from findspot.history.commit_store import CommitStore

COMMITS = 60
"""Commits that lend their worth to what they changed."""


@dataclass(frozen=True, slots=True)
class NearChange:
    """What a commit changed of a file, whose message is near to a text."""

    number: int
    """Of the commit."""
    change: Change
    worth: float
    """One of many changes that a commit made is worth less."""
    age: int
    """How many commits are newer."""


def near_changes(
    commits: CommitStore | None, vector: NDArray[np.int8], scale: float, paths: Collection[str]
) -> list[NearChange]:
    """Return what the commits whose messages are nearest to a vector changed of some files."""
    if commits is None or not vector.any():
        return []
    found = []
    with contextlib.suppress(IndexCorruptError):  # it is read again with the next question about history
        nearest = commits.by_meaning(vector, scale, COMMITS)
        changed = commits.changes([number for number, _, _ in nearest])
        top = max(nearest[0][1], 0.01) if nearest else 1.0
        for rank, (number, cosine, age) in enumerate(nearest):
            changes = changed.get(number, ())
            worth = max(cosine, 0.0) / top / math.sqrt(max(1, len(changes))) / (1 + rank / 10)
            found += [NearChange(number, each, worth, age) for each in changes if each.path in paths]
    return found
