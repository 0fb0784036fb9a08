"""A very large project: a tree of real repositories, indexed, asked, edited and opened again.

    python -m benchmarks.large MIRRORS WORK [--files 100000] [--small-files] [--json FILE]

`MIRRORS` is a folder of git repositories, bare or not, one or two folders deep. The last commits of some are
unpacked side by side below `WORK/tree` until there are enough files. Which ones depends on their names alone:
a smaller tree is the beginning of a larger one. With `--small-files`, they are those whose files are smallest
on average, which gives many files in little time. A second run uses the tree and the index that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.memory import PeakMemory
from benchmarks.peers import QUESTIONS
from benchmarks.speed import machine
from benchmarks.start import OURS, Server

WARM_UP = 20
ROUNDS = 10
EDITS = 5
STARTS = 3
LEAST_FILES = 1_500
"""Of a repository that is chosen by the size of its files."""
SETTLE_S = 60.0
"""How long a server may take until it watches the tree and has compared it with the index."""
PATIENCE_S = 120.0


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


def index(tree: Path, home: Path) -> dict[str, float]:
    """Index the tree as the command does; return its time, its peak memory and its processor time."""
    command = [sys.executable, "-P", "-m", "findspot", "index", str(tree), "--yes", "--json"]
    env = {**os.environ, "FINDSPOT_HOME": str(home)}
    before, started = os.times(), time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    with PeakMemory(process.pid, every_s=0.5) as peak:
        printed = process.communicate()[0]
    after = os.times()
    if process.returncode:
        raise RuntimeError(f"indexing failed: {printed}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    report = json.loads(printed)
    return {
        "index, s": time.perf_counter() - started,
        "index, processor s": used,
        "index, MB": peak.mb,
        "files in the index": report["totalFiles"],
        "chunks": report["totalChunks"],
        "disk, MB": sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e6,
    }


def serve(tree: Path, home: Path) -> dict[str, float]:
    """Ask a server that has just started, then a warm one, then for what was just saved."""
    figures = _starts(tree, home)
    server = Server(OURS, home, cwd=tree, quiet=True)
    try:
        _wait_until_watched(server, tree)
        asked = list(_questions())
        for question in asked[:WARM_UP]:
            _search(server, tree, question)
        times = [1000 * _search(server, tree, question)[1] for question in asked]
        figures |= {
            "warm p50, ms": statistics.median(times),
            "warm p95, ms": statistics.quantiles(times, n=20)[-1],
            "edit to answer, s": _edits(server, tree),
            "serving, MB": server.pss_mb(),
        }
    finally:
        server.close()
    return figures


def _starts(tree: Path, home: Path) -> dict[str, float]:
    answered = []
    for _ in range(STARTS):
        started = time.perf_counter()
        server = Server(OURS, home, cwd=tree, quiet=True)
        _search(server, tree, QUESTIONS[0])
        answered.append(time.perf_counter() - started)
        server.close()
    return {"first answer, s": statistics.median(answered)}


def _questions() -> Iterator[str]:
    """Yield questions of which no two are the same, so that no answer is remembered."""
    words = sorted({word for question in QUESTIONS for word in question.split() if len(word) > 3})
    chosen = random.Random(21)
    for number in range(ROUNDS):
        for question in QUESTIONS:
            yield f"{question} {chosen.choice(words)}" if number else question


def _wait_until_watched(server: Server, tree: Path) -> None:
    until = time.perf_counter() + SETTLE_S
    while time.perf_counter() < until:
        result, _ = server.timed("search_code", {"query": QUESTIONS[0], "path": str(tree)})
        if result.get("isError"):
            raise RuntimeError(str(result)[:500])
        time.sleep(0.5)


def _search(server: Server, tree: Path, question: str) -> tuple[str, float]:
    result, seconds = server.timed("search_code", {"query": question, "path": str(tree)})
    if result.get("isError"):
        raise RuntimeError(str(result)[:500])
    return json.dumps(result["structuredContent"]["results"]), seconds


def _edits(server: Server, tree: Path) -> float:
    """Return how long after a save of an existing file its new function is in an answer."""
    edited = next(path for path in sorted(tree.rglob("*.py")) if 5_000 < path.stat().st_size < 20_000)
    before = edited.read_bytes()
    seconds = []
    try:
        for _ in range(EDITS):
            name = f"large{uuid.uuid4().hex[:12]}"
            edited.write_bytes(before + f"\n\ndef {name}():\n    return 1\n".encode())
            started = time.perf_counter()
            while name not in _search(server, tree, name)[0]:
                if time.perf_counter() - started > PATIENCE_S:
                    return float("inf")
            seconds.append(time.perf_counter() - started)
            time.sleep(2.5)  # longer than what the watcher takes for a burst
    finally:
        edited.write_bytes(before)
    return statistics.median(seconds)


def about(files: int) -> dict[str, Any]:
    return machine() | {"files": files, "load": " ".join(f"{load:.1f}" for load in os.getloadavg())}


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
    figures: dict[str, Any] = about(files)
    _print(figures)
    for part in (index, serve):
        measured = part(tree, home) | {"load after": f"{os.getloadavg()[0]:.1f}"}
        _print(measured)
        figures |= measured
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1), "utf-8")


def _print(figures: dict[str, Any]) -> None:
    for name, value in figures.items():
        shown = f"{value:,.4g}" if isinstance(value, float) else value
        sys.stdout.write(f"{name}: {shown}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
