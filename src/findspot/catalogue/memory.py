"""What a catalogue was made from, remembered on this machine.

Kept in the home folder and never beside the index: opening somebody's repository must not start
the programs that it names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from findspot.core.files import make_private_dir, write_json


@dataclass(frozen=True, slots=True)
class Remembered:
    """The files that were named, and whether their servers are listened to while serving."""

    sources: tuple[Path, ...] = ()
    exclude: tuple[str, ...] = ()
    follow: bool = False


def recall(home: Path, index: Path) -> Remembered:
    try:
        about = json.loads(_file(home).read_text("utf-8"))[str(index)]
        sources = tuple(Path(path) for path in about["sources"])
        return Remembered(sources, tuple(map(str, about["exclude"])), bool(about["follow"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Remembered()


def remember(home: Path, index: Path, sources: Sequence[Path], exclude: Sequence[str], follow: bool) -> None:
    path = _file(home)
    try:
        known = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    known = known if isinstance(known, dict) else {}
    known[str(index)] = {
        "sources": [str(source) for source in sources],
        "exclude": list(exclude),
        "follow": follow,
    }
    make_private_dir(path.parent)
    write_json(path, known)


def _file(home: Path) -> Path:
    return home / "catalogues" / "sources.json"
