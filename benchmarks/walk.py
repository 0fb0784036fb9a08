"""How long it takes to walk 50,000 files with nested ignore files."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from findspot.core.config import load_settings
from findspot.discover.walk import walk

PACKAGES = 100
FOLDERS = 10
FILES = 50
ROUNDS = 5
NAMES = ("module_{}.py", "view_{}.ts", "part_{}.go", "page_{}.md", "table_{}.json")


def make_tree(root: Path) -> int:
    """A tree like a large monorepo: an ignore file at the top, one a package, some a folder."""
    (root / ".gitignore").write_text("*.pyc\n*.tmp\n/cache/\nlocal_*\n!local_keep.py\n**/generated/*.ts\n")
    (root / ".findspotignore").write_text("fixtures/\n*.snap\n")
    made = 0
    for package in range(PACKAGES):
        base = root / f"package_{package:03}"
        for number in range(FOLDERS):
            folder = base / "src" / f"part_{number}"
            folder.mkdir(parents=True)
            for file in range(FILES):
                (folder / NAMES[file % len(NAMES)].format(file)).write_bytes(b"x\n")
                made += 1
            if number % 5 == 0:
                (folder / ".gitignore").write_text("view_?.ts\n!view_1.ts\n")
        (base / ".gitignore").write_text("*.tmp\nlogs/\n/src/part_9/page_*.md\n")
    return made


def measure() -> dict[str, float]:
    """The best of several walks, in seconds, and what was found."""
    with tempfile.TemporaryDirectory(prefix="findspot-walk-") as folder:
        root = Path(folder)
        made = make_tree(root)
        settings = load_settings().discover
        times: list[float] = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            found = walk(root, settings)
            times.append(time.perf_counter() - start)
    return {
        "walk_files": made,
        "walk_admitted": len(found.files),
        "walk_skipped": len(found.skips),
        "walk_seconds": min(times),
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for key, value in measure().items():
        sys.stdout.write(f"{key} {value:g}\n")
