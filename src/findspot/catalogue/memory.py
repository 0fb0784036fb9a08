"""What a catalogue was made from, remembered on this machine.

Kept in the home folder and never beside the index: opening somebody's repository must not start
the programs that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.core.files import make_private_dir, read_json, write_json


@dataclass(frozen=True, slots=True)
class Remembered:
    """How an index was last made."""

    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """Each file that was named, with the servers that it named."""
    exclude: tuple[str, ...] = ()
    follow: bool = False
    """Whether the servers are listened to while serving."""
    provider: str | None = None
    """The embedding provider that the user chose for it."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """For each server a hash of what it was given when it was last asked."""


def memory_file(home: Path) -> Path:
    return home / "catalogues" / "sources.json"


def recall(home: Path, index: Path) -> Remembered:
    try:
        about = _stored(home)[str(index)]
        if "sources" in about:  # of version 0.1.0, which followed servers without being asked to
            return Remembered({Path(path): () for path in about["sources"]}, tuple(about["exclude"]))
        return Remembered(
            files={Path(path): tuple(map(str, names)) for path, names in about["files"].items()},
            exclude=tuple(map(str, about["exclude"])),
            follow=about["following"] is True,
            provider=about["provider"],
            digests=dict(about["digests"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return Remembered()


def remember(home: Path, index: Path, remembered: Remembered) -> None:
    path = memory_file(home)
    about = {
        "files": {str(source): list(names) for source, names in remembered.files.items()},
        "exclude": list(remembered.exclude),
        "following": remembered.follow,
        "provider": remembered.provider,
        "digests": dict(remembered.digests),
    }
    make_private_dir(path.parent)
    write_json(path, _stored(home) | {str(index): about})


def _stored(home: Path) -> dict[str, Any]:
    try:
        stored = read_json(memory_file(home))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
