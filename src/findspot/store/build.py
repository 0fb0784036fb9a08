"""How far the building of an index is, as its meta says under `build`."""

from __future__ import annotations

from collections.abc import Mapping

INCOMPLETE = "incomplete"
"""Being built, or interrupted: whoever keeps the index fresh goes on with it."""

STOPPED = "stopped"
"""Stopped on request: it stays as it is until somebody asks for it again."""

COMPLETE = "complete"


def was_stopped(meta: Mapping[str, str]) -> bool:
    """Return whether building the index was stopped on request."""
    return meta.get("build") == STOPPED


def unfinished(meta: Mapping[str, str], *, being_written: bool) -> str | None:
    """Return what answers from an unfinished index have to say; None where it is complete."""
    if meta.get("build") == COMPLETE:
        return None
    done = f"{meta.get('done', 0)} of {meta.get('total', 0)} files"
    if was_stopped(meta):
        return f"Indexing was stopped: only {done} are indexed. Index the project again to go on."
    if being_written:
        return f"The index is still being built: {done}."
    return f"Indexing was interrupted: only {done} are indexed so far. Index the project again to go on."
