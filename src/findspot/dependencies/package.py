"""A package that a project depends on, and safe reading of the files that say so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from findspot.core.files import ContentError, parse_json, read_below

MAX_MANIFEST_BYTES = 32_000_000
"""Lists of what a distribution installed reach ten megabytes."""

PYPI, NPM = "pypi", "npm"

NOT_INSTALLED = "not installed"
OUTSIDE = "its folder leads out of the package store"


@dataclass(frozen=True, slots=True)
class Dependency:
    """One package in one version."""

    ecosystem: str
    name: str
    version: str
    """Empty where nothing says which one."""
    direct: bool
    """Whether the project names it itself."""
    folder: Path | None = None
    """Where it lies; a file, where a package is one module."""
    missing: str = ""
    """Why there is no folder."""

    @property
    def label(self) -> str:
        """The name by which it is asked for: `pypi/requests@2.32.3`."""
        name = f"{self.ecosystem}/{self.name}"
        return f"{name}@{self.version}" if self.version else name

    def as_dict(self) -> dict[str, Any]:
        """Return it as `findspot deps --json` prints it."""
        return {
            "ecosystem": self.ecosystem,
            "name": self.name,
            "version": self.version,
            "direct": self.direct,
            "folder": str(self.folder) if self.folder is not None else None,
            "missing": self.missing or None,
        }


_LONGEST_NAME, _LONGEST_VERSION = 214, 128
"""Of npm; a version is usually a few characters, and names a folder."""


def is_sane(name: str, version: str) -> bool:
    """Return whether these can be name and version of a package; they come from files of others."""
    return (
        0 < len(name) <= _LONGEST_NAME
        and len(version) <= _LONGEST_VERSION
        and f"{name}{version}".isprintable()
        and " " not in name
    )


_SEPARATORS = re.compile(r"[-_.]+")


def normalised(name: str) -> str:
    """Return a name as Python's package indexes compare it."""
    return _SEPARATORS.sub("-", name).lower()


class Manifests:
    """The manifests below a folder; what cannot be read counts as not there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.broken: set[str] = set()
        """Those that could not be parsed."""

    def text(self, path: str) -> str:
        """Return the text of a file; nothing where it is missing, too large, or reached by a link."""
        try:
            return read_below(self.root, path, MAX_MANIFEST_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""

    def json(self, path: str) -> dict[str, Any]:
        if not (text := self.text(path)):
            return {}
        try:
            value = parse_json(text.encode())
        except ContentError:
            self.broken.add(path)
            return {}
        return value if isinstance(value, dict) else {}

    def toml(self, path: str) -> dict[str, Any]:
        import tomllib

        try:
            return tomllib.loads(self.text(path))
        except (tomllib.TOMLDecodeError, RecursionError):
            self.broken.add(path)
            return {}


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def stored(folder: Path, stores: Iterable[Path]) -> Path | None:
    """Return the real place of a package; None where it does not lie in one of the package stores.

    Stores are real paths. A repository may contain links, and a link must not lead a reader anywhere else.
    """
    try:
        real = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return real if any(real != store and real.is_relative_to(store) for store in stores) else None


_MOST_FOLDERS, _MOST_PARTS = 2_000, 10
"""Folders that the patterns of a manifest may mean."""


def matching_folders(root: Path, pattern: str) -> list[str]:
    """Return the folders below a root that a pattern of a manifest means, such as `packages/*`.

    No link is followed, and a pattern that leads out of the root means nothing.
    """
    parts = [part for part in pattern.strip().strip("/").split("/") if part not in ("", ".")]
    if not parts or ".." in parts or "**" in parts or len(parts) > _MOST_PARTS or "\0" in pattern:
        return []
    found = [""]
    for part in parts:
        inner: list[str] = []
        for folder in found:
            try:
                with os.scandir(root / folder) as entries:
                    names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            except (OSError, ValueError):
                continue
            inner += [f"{folder}/{name}".lstrip("/") for name in names if fnmatchcase(name, part)]
        found = sorted(inner)[:_MOST_FOLDERS]
    return found


def real_folders(*folders: Path) -> list[Path]:
    """Return those of the folders that exist, links resolved, each once."""
    found: dict[Path, None] = {}
    for folder in folders:
        try:
            real = folder.resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        if real.is_dir():
            found[real] = None
    return list(found)
