"""What an indexing run writes to the log: counts, and the paths of links and secrets that were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from findspot.core.log import get_logger
from findspot.core.model import Skip, SkipReason

_log = get_logger("indexing")

_NAMED = (SkipReason.SYMLINK, SkipReason.SECRET)
"""Reasons whose files are named: somebody may wonder why these are missing."""

_MOST_PATHS = 20


def log_run(project: Path, indexed: int, unchanged: int, removed: int, skips: Sequence[Skip]) -> None:
    """Log what a run did, and what it left out."""
    _log.info("%s: %d files indexed, %d unchanged, %d removed", project, indexed, unchanged, removed)
    if not skips:
        return
    counts = Counter(skip.reason for skip in skips)
    _log.info("%s: left out: %s", project, ", ".join(f"{n} {reason}" for reason, n in counts.most_common()))
    for reason in _NAMED:
        paths = [skip.path for skip in skips if skip.reason is reason]
        if paths:
            more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
            _log.info("%s: %s: %s%s", project, reason, ", ".join(paths[:_MOST_PATHS]), more)
