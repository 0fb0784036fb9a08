"""What a reader of an index should know about the folders that it leaves out as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from findspot.core.model import Skip, SkipReason

NOTED = (SkipReason.REPOSITORY, SkipReason.IGNORE_FILE)
"""Reasons that a note is about."""

_NAMED = 5


def left_out_notes(skips: Iterable[Skip]) -> list[str]:
    """Return one note on the projects inside this one, and one per ignore file that cannot be used."""
    projects: list[str] = []
    notes: list[str] = []
    for skip in skips:
        if skip.reason is SkipReason.REPOSITORY:
            projects.append(skip.path)
        elif skip.reason is SkipReason.IGNORE_FILE:
            what = "Everything" if skip.path == "./" else skip.path
            notes.append(
                f"{what} is left out because of an ignore file. {skip.detail}. Fix or remove that file."
            )
    if projects:
        more = f" and {len(projects) - _NAMED} more" if len(projects) > _NAMED else ""
        notes.insert(
            0,
            "Folders with their own .git are projects of their own and not part of this index: "
            f"{', '.join(projects[:_NAMED])}{more}. Index them by themselves.",
        )
    return notes
