"""Where the indexes of packages lie, which files they hold, and when they are deleted."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from findspot.core.files import folder_bytes, read_below, remove_folder
from findspot.dependencies.npm_packages import built_files
from findspot.dependencies.package import NPM, PYPI, Dependency
from findspot.dependencies.python_packages import top_names

MAX_PACKAGE_FILES = 20_000
MAX_PACKAGES = 300
MAX_BYTES = 4_000_000_000
UNUSED_DAYS = 60

_LEFT_OUT = (
    "**/tests/**", "**/test/**", "**/__tests__/**", "**/testing/fixtures/**", "**/*.test.*", "**/*.spec.*",
    "**/_vendor/**", "**/vendor/**", "**/vendored/**", "**/third_party/**", "**/node_modules/**",
    "**/*.map", "**/benchmarks/**",
)  # fmt: skip
"""Tests, copies of other packages, and what builds write."""

_USED = "used"
"""A file whose time says when an index was last asked."""

_HASHED_BYTES = 2_000_000


def index_of(home: Path, package: Dependency, content: str) -> Path:
    """Return where the index of a package lies: by ecosystem, name, version and content."""
    key = hashlib.sha256(f"{package.label}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return home / "dependencies" / package.ecosystem / f"{versioned_name(package)}-{key}"


def versioned_name(package: Dependency) -> str:
    return f"{spelled(package.name)}@{spelled(package.version)}"


def spelled(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "+" for c in name)[:80]


def content_of(package: Path) -> str:
    """Return a hash of the files of a package, large ones and those that Python compiled left out."""
    found = hashlib.sha256()
    for path in sorted(_files_of(package)) if package.is_dir() else [package]:
        with contextlib.suppress(OSError):
            data = read_below(path.parent, path.name, _HASHED_BYTES)
            found.update(f"{os.path.relpath(path, package)}\0".encode("utf-8", "surrogatepass"))
            found.update(hashlib.sha256(data).digest())
    return found.hexdigest()


def _files_of(package: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name not in ("__pycache__", "node_modules")]
        yield from (Path(folder) / name for name in names)


def remove_unused(home: Path, keep: Path | None = None) -> list[Path]:
    """Delete the indexes of packages that were not asked for long, then the oldest beyond the limits."""
    folders = [f for f in (home / "dependencies").glob("*/*") if f.is_dir() and f != keep]
    by_use = sorted(folders, key=_last_use, reverse=True)
    oldest = time.time() - UNUSED_DAYS * 86_400
    kept_bytes = folder_bytes(keep) if keep is not None and keep.is_dir() else 0
    removed = []
    for number, folder in enumerate(by_use, 2):
        size = folder_bytes(folder)
        if _last_use(folder) < oldest or number > MAX_PACKAGES or kept_bytes + size > MAX_BYTES:
            remove_folder(folder)
            removed.append(folder)
        else:
            kept_bytes += size
    return removed


def package_root(package: Dependency) -> tuple[Path, dict[str, object]]:
    """Return the folder that holds the files of a package, and the settings that choose them."""
    assert package.folder is not None
    options: dict[str, object] = {
        "exclude": list(_LEFT_OUT),
        "respectGitignore": False,
        "maxFiles": MAX_PACKAGE_FILES,
        "store": "default",
    }
    if package.ecosystem == NPM:
        options["exclude"] = [*_LEFT_OUT, *built_files(package.folder)]
    if package.ecosystem != PYPI:
        return package.folder, options
    site = package.folder.parent
    if package.folder.is_file():
        options |= {"include": [package.folder.name], "exclude": ["*/**", *_LEFT_OUT]}
    else:
        options["roots"] = top_names(package.name, package.folder)
    return site, options


def note_use(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / _USED).touch()


def _last_use(folder: Path) -> float:
    try:
        return (folder / _USED).stat().st_mtime
    except OSError:
        return folder.stat().st_mtime
