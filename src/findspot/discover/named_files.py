"""The files at places that somebody names, found even where a walk would leave them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from findspot.core.languages import language_of
from findspot.core.model import Corpus, SkipReason, SourceFile, Stamp
from findspot.core.paths import is_secret_path
from findspot.core.settings import DiscoverSettings
from findspot.discover.checkouts import GIT
from findspot.discover.walk import Discovery, look, walk

MOST_BYTES = 1 << 30


def unrestricted(settings: DiscoverSettings) -> DiscoverSettings:
    """Return settings that leave out nothing but what must not be shown."""
    return replace(
        settings, include=("**/*",), exclude=(), respect_gitignore=False, build_folders=True,
        max_file_bytes=MOST_BYTES,
    )  # fmt: skip


def is_below(path: str, place: str) -> bool:
    return not place or f"{path}/".startswith(f"{place}/")


def files_at(root: Path, places: Sequence[str], settings: DiscoverSettings) -> Discovery:
    """Return the files at or below some places, and why what is named or should be there is not found."""
    walked, found = walk(root, settings), Discovery()
    for place in places:
        files = [file for file in walked.files if is_below(file.path, place)]
        skips = [s for s in walked.skips if s.reason is SkipReason.UNREADABLE and is_below(s.path, place)]
        if place and not files:  # what is named is searched, as by ripgrep, unless it must not be
            named = _named(root, place, unrestricted(settings))
            files = named.files
            skips = [] if files else [replace(skip, path=place) for skip in named.skips[:1]]
        found.files += files
        found.skips += skips
    return found


def _named(root: Path, place: str, settings: DiscoverSettings) -> Discovery:
    """Return what is at a path, also where its name alone would leave it out, as `app.log`."""
    found = look(root, place, settings)
    path = root / place
    denied = found.skips[:1] if found.skips and found.skips[0].reason is SkipReason.DENIED else []
    private = is_secret_path(place) or GIT in place.split("/") or any(skip.detail for skip in denied)
    if denied and not private and path.is_file():
        found.files.append(SourceFile(place, Corpus.CODE, language_of(place), *Stamp.of(path.lstat())))
    return found
