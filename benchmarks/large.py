"""A very large project: a tree of real repositories, indexed, asked and edited as `benchmarks.peers` does.

    python -m benchmarks.large MIRRORS WORK [--files 100000] [--small-files] [--json FILE]

`MIRRORS` is a folder of git repositories, bare or not, one or two folders deep. The last commits of some are
unpacked side by side below `WORK/tree` until there are enough files. Which ones depends on their names alone:
a smaller tree is the beginning of a larger one. With `--small-files`, they are those whose files are smallest
on average, which gives many files in little time. A second run uses the tree that is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path

from benchmarks.memory import machine
from benchmarks.peers import edited_file, findspot, measure, table

LEAST_FILES = 1_500
"""Of a repository that is chosen by the size of its files."""


def compose(mirrors: Path, tree: Path, wanted: int, *, small_files: bool = False) -> int:
    """Unpack repositories into a folder each until there are so many files; return how many there are."""
    tree.mkdir(parents=True, exist_ok=True)
    files = 0
    repositories = repositories_in(mirrors)
    if small_files:
        repositories = sorted(filter(_mean_size, repositories), key=_mean_size)
    for repository in repositories:
        name = "-".join(part for part in repository.relative_to(mirrors).parts if part != "repo")
        folder = tree / name.removesuffix(".git")
        if folder.exists() or unpack(repository, folder):
            files += _count(folder)
        if files >= wanted:
            break
    return files


def repositories_in(mirrors: Path) -> list[Path]:
    found = {head.parent for pattern in ("*/HEAD", "*/*/HEAD") for head in mirrors.glob(pattern)}
    return sorted(found, key=lambda path: hashlib.sha256(str(path.relative_to(mirrors)).encode()).digest())


@cache
def _mean_size(repository: Path) -> float:
    """Return the mean size of the files of a repository; 0 for a small repository or an incomplete one."""
    git = ["git", "--git-dir", str(repository), "ls-tree", "-r", "--format=%(objectsize)", "HEAD"]
    listed = subprocess.run(git, capture_output=True, text=True, check=False).stdout.split()
    sizes = [int(size) for size in listed if size.isdecimal()]
    return statistics.fmean(sizes) if len(sizes) >= LEAST_FILES and "BAD" not in listed else 0.0


def unpack(repository: Path, folder: Path) -> bool:
    """Unpack the last commit of a repository; return False where objects of it are missing."""
    folder.mkdir()
    git = ["git", "--git-dir", str(repository), "archive", "HEAD"]
    tar = ["tar", "-x", "-C", str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(git, stdout=subprocess.PIPE, stderr=quiet) as archive:
        subprocess.run(tar, stdin=archive.stdout, stderr=quiet, check=False)
    if archive.returncode:
        shutil.rmtree(folder)
    return not archive.returncode


def _count(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--small-files", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    tree, home = args.work.resolve() / "tree", args.work.resolve() / "home"
    files = compose(args.mirrors.resolve(), tree, args.files, small_files=args.small_files)
    with edited_file(tree) as edited:
        figures = measure([findspot(tree)], tree, home, edited)
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    figures["findspot"] |= {"files": files, "disk, MB": size / 1e6}
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in machine().items()))
    sys.stdout.write(f"\n\n{table(figures)}\n")
    if args.json:
        args.json.write_text(json.dumps(machine() | figures["findspot"], indent=1), "utf-8")


if __name__ == "__main__":
    main()
