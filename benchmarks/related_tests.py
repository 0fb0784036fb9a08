"""Which tests a patch changes, against the tests that `findspot tests` ranks first.

python -m benchmarks.related_tests --signals FILE [--sets FOLDER --mirrors FOLDER --cache FOLDER]

Each issue of `issues_dev` has a patch and the test files that were changed with it. The question is
asked at the commit before the patch, about the definitions that its hunks touch, with the history that
is reachable from that commit. Nothing is embedded. Facts are cached by git blob.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.chunk.dispatch import chunk_file
from findspot.core.facts import names_of, pack
from findspot.core.git import MOST_COMMITS
from findspot.core.languages import language_of
from findspot.core.languages import row as language_row
from findspot.core.model import ChunkType, Corpus, SourceFile
from findspot.discover.file_content import readable_text
from findspot.graph import Graph, Node
from findspot.rank.roles import Role, role_of
from findspot.research.changes import Change, parse_diff, touched
from findspot.research.related_tests import WEIGHTS, rank_tests
from findspot.research.research_view import flat
from findspot.store.records import ChunkRecord, FileRecord
from findspot.store.sqlite_store import SqliteStore
from findspot.text.tokens import keyword_text

MOST_BYTES = 400_000


@dataclass(frozen=True)
class Issue:
    """A patch with the test files that changed with it."""

    id: str
    repo: str
    commit: str
    patch: str
    tests: tuple[str, ...]


def read_issues(sets: Path) -> list[Issue]:
    lines = (sets / "queries" / "issues_dev.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Issue(r["id"], r["repo"], r["commit"], r["patch"], tuple(r["tests"])) for r in rows if r["tests"]]


class Mirror:
    """A bare clone, read through git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str, data: bytes | None = None) -> bytes:
        command = ["git", "--git-dir", str(self.folder), *arguments]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    def files(self, commit: str) -> dict[str, tuple[str, int]]:
        """Blob and size of each file of a commit."""
        listed = self.run("ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "surrogateescape")
        found = {}
        for entry in filter(None, listed.split("\0")):
            facts, _, path = entry.partition("\t")
            _, kind, blob, size = facts.split()
            if kind == "blob" and size.isdigit():
                found[path] = (blob, int(size))
        return found

    def blobs(self, ids: list[str]) -> Iterator[tuple[str, bytes]]:
        for first in range(0, len(ids), 500):
            part = ids[first : first + 500]
            out = self.run("cat-file", "--batch", data="\n".join(part).encode())
            at = 0
            for _ in part:
                end = out.index(b"\n", at)
                head = out[at:end].split()
                if head[-1] == b"missing":
                    at = end + 1
                    continue
                size = int(head[2])
                yield head[0].decode(), out[end + 1 : end + 1 + size]
                at = end + 2 + size

    def committed(self, commits: Iterable[str]) -> dict[str, int]:
        return {c: int(self.run("show", "-s", "--format=%ct", c)) for c in commits}


class Cache:
    """What was extracted from blobs, as records that a store takes."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, record BLOB)")

    def missing(self, keys: Iterable[str]) -> set[str]:
        return {k for k in keys if not self.db.execute("SELECT 1 FROM blobs WHERE key=?", (k,)).fetchone()}

    def put(self, key: str, record: FileRecord | None) -> None:
        data = zlib.compress(pickle.dumps(record), 1)
        self.db.execute("INSERT OR REPLACE INTO blobs VALUES (?,?)", (key, data))

    def get(self, key: str, path: str) -> FileRecord | None:
        data = self.db.execute("SELECT record FROM blobs WHERE key=?", (key,)).fetchone()
        record = pickle.loads(zlib.decompress(data[0])) if data else None
        return replace(record, file=replace(record.file, path=path)) if record else None


def key_of(blob: str, path: str) -> str:
    return f"{blob} {language_of(path)}"


def relevant(path: str, size: int) -> bool:
    """Whether a file counts: code, and whatever lies among tests."""
    is_code = bool(language_row(language_of(path)).grammar)
    return 0 < size <= MOST_BYTES and (is_code or role_of(path) is Role.TEST)


def extract(path: str, data: bytes) -> FileRecord | None:
    """Return a file with its facts and the words for keyword search."""
    text = readable_text(path, data, "off")
    if not isinstance(text, str):
        return None
    file = SourceFile(path, Corpus.CODE, language_of(path), len(data), 0)
    chunked = chunk_file(file, text)
    records = []
    for chunk in chunked.chunks:
        if chunk.chunk_type is not ChunkType.SYMBOLS:
            words = keyword_text(path, chunk.breadcrumb, chunk.context, chunk.text)
            records.append(ChunkRecord(chunk, words, b"", 1.0, bytes(8)))
    if chunked.facts is None:
        return FileRecord(file, "", tuple(records))
    return FileRecord(file, "", tuple(records), pack(chunked.facts), names_of(chunked.facts))


def fill(cache: Cache, mirror: Mirror, files: dict[str, tuple[str, int]]) -> int:
    """Extract what the cache does not have of a commit."""
    wanted = {
        key_of(blob, path): (blob, path) for path, (blob, size) in files.items() if relevant(path, size)
    }
    missing = sorted(cache.missing(wanted))
    by_blob: dict[str, list[str]] = {}
    for key in missing:
        by_blob.setdefault(wanted[key][0], []).append(key)
    for blob, data in mirror.blobs(sorted(by_blob)):
        for key in by_blob[blob]:
            cache.put(key, extract(wanted[key][1], data))
    cache.db.commit()
    return len(missing)


def find_mirror(mirrors: Path, repo: str) -> Mirror | None:
    named = {folder.name.lower(): folder for folder in mirrors.iterdir()}
    folder = named.get(repo.replace("/", "+").lower())
    return Mirror(folder / "repo") if folder else None


class Checkout:
    """A store that is moved from commit to commit: only files that differ are written."""

    def __init__(self, store: SqliteStore, cache: Cache, mirror: Mirror) -> None:
        self.store, self.cache, self.mirror = store, cache, mirror
        self.blobs: dict[str, str] = {}

    def move_to(self, commit: str) -> dict[str, tuple[str, int]]:
        files = self.mirror.files(commit)
        fill(self.cache, self.mirror, files)
        wanted = {path: blob for path, (blob, size) in files.items() if relevant(path, size)}
        with self.store.writer() as writer:
            for path in self.blobs.keys() - wanted.keys():
                writer.remove(path)
            for path, blob in wanted.items():
                if self.blobs.get(path) != blob:
                    record = self.cache.get(key_of(blob, path), path)
                    if record is not None:
                        writer.put(record)
            writer.commit()
        self.blobs = wanted
        return files


def change_of(graph: Graph, patch: str) -> Change:
    """Return what a patch touches in the version before it."""
    files = tuple(file for file in parse_diff(patch) if role_of(file.path) is not Role.TEST)
    nodes: dict[str, Node] = {}
    for file in files:
        current = [node for outline in graph.outline(file.path) for node in flat(outline)]
        lines = [(first, last) if last >= first else (last, last) for first, last in file.old]
        found = touched(current, lines, graph.node(file.path))
        nodes |= {node.id: node for node in found}
    return Change(files, tuple(nodes.values()))


def mentions(mirror: Mirror, issue: Issue, change: Change) -> Counter[str]:
    """Return how often each test file mentions a changed name."""
    names = {node.name for node in change.nodes if node.kind != "file"}
    names = names or {Path(path).stem for path in change.paths}
    arguments = [word for name in sorted(names) for word in ("-e", name)]
    command = ["git", "--git-dir", str(mirror.folder), "grep", "-o", "-w", "-F", "-I", "--full-name", "-z"]
    done = subprocess.run([*command, *arguments, issue.commit], capture_output=True, check=False)
    found: Counter[str] = Counter()
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        path = line.partition("\0")[0].removeprefix(f"{issue.commit}:")
        if role_of(path) is Role.TEST:
            found[path] += 1
    return found


def ask(checkout: Checkout, issue: Issue) -> dict[str, Any] | None:
    """Return the signals of every candidate for one patch; None where a changed test is new."""
    files = checkout.move_to(issue.commit)
    if not all(path in files for path in issue.tests):
        return None
    history = log(checkout.mirror, issue.commit)
    started = time.process_time()
    with checkout.store.snapshot() as snapshot:
        graph = Graph(snapshot)
        change = change_of(graph, issue.patch)
        ranked = rank_tests(snapshot, graph, change, history)
    spent = time.process_time() - started
    return {
        "id": issue.id,
        "repo": issue.repo,
        "tests": issue.tests,
        "names": sorted(node.qualified for node in change.nodes),
        "candidates": {each.path: each.signals for each in ranked},
        "mentions": mentions(checkout.mirror, issue, change).most_common(30),
        "seconds": spent,
    }


def log(mirror: Mirror, commit: str) -> list[list[str]]:
    """Return the files that the last commits before one changed, as `findspot tests` reads them."""
    shape = ("--min-parents=1", "--max-parents=1", "--name-only", "--format=%x00", "--no-renames")
    listed = mirror.run("log", f"--max-count={MOST_COMMITS}", *shape, commit)
    commits = listed.decode("utf-8", "surrogateescape").split("\0")
    return [[path for path in each.split("\n") if path] for each in commits if each.strip()]


def collect(options: argparse.Namespace) -> None:
    issues = read_issues(options.sets)
    sizes = Counter(issue.repo for issue in issues)
    for repo in sorted(sizes, key=lambda r: (r == "babel/babel", sizes[r])):
        mirror = find_mirror(options.mirrors, repo)
        if mirror is None or (options.repo and repo not in options.repo):
            continue
        cache = Cache(options.cache / f"{repo.replace('/', '+')}.sqlite")
        chosen = [issue for issue in issues if issue.repo == repo]
        if options.per_repo:
            chosen = chosen[:: -(-len(chosen) // options.per_repo)]
        when = mirror.committed({issue.commit for issue in chosen})
        with tempfile.TemporaryDirectory() as folder, options.signals.open("a") as out:
            checkout = Checkout(SqliteStore(Path(folder), "project"), cache, mirror)
            for issue in sorted(chosen, key=lambda i: when[i.commit]):
                row = ask(checkout, issue)
                if row is not None:
                    out.write(json.dumps(row) + "\n")
                    out.flush()
            checkout.store.close()
        sys.stderr.write(f"{repo}: {len(chosen)}\n")


Row = dict[str, Any]


def matrix(row: Row) -> tuple[list[str], NDArray[np.float64]]:
    paths = list(row["candidates"])
    values = [[row["candidates"][path].get(signal, 0.0) for signal in WEIGHTS] for path in paths]
    return paths, np.array(values, np.float64).reshape(len(paths), len(WEIGHTS))


def fit(rows: list[Row], rounds: int = 300, penalty: float = 0.02) -> NDArray[np.float64]:
    """Fit weights so that each changed test comes before all others: softmax, no weight below 0."""
    problems = []
    for row in rows:
        paths, values = matrix(row)
        wanted = np.array([path in row["tests"] for path in paths])
        if wanted.any() and not wanted.all():
            problems.append((values, wanted / wanted.sum()))
    weights = np.ones(len(WEIGHTS))
    for step in range(rounds):
        slope = penalty * weights
        for values, wanted in problems:
            logits = values @ weights
            chances = np.exp(logits - logits.max())
            slope += (chances / chances.sum() - wanted) @ values / len(problems)
        weights = np.maximum(0.0, weights - 8.0 / (1 + step / 50) * slope)
    return weights


def first_ten(row: Row, weights: NDArray[np.float64]) -> list[str]:
    paths, values = matrix(row)
    scores = values @ weights
    return [paths[at] for at in np.lexsort((np.arange(len(paths)), -scores))[:10]]


def report(rows: list[Row]) -> None:
    """Print, per repository, the share of patches whose changed tests are all among the first ten."""
    repos = sorted({row["repo"] for row in rows})
    shipped = np.array(list(WEIGHTS.values()))
    table: dict[str, list[tuple[bool, bool, bool, bool]]] = {}
    for repo in repos:
        weights = fit([row for row in rows if row["repo"] != repo])
        for row in (row for row in rows if row["repo"] == repo):
            wanted = set(row["tests"])
            baseline = {path for path, _ in row["mentions"][:10]}
            ranked = first_ten(row, weights)
            found = wanted <= baseline, wanted <= set(ranked), bool(wanted & set(ranked[:1]))
            table.setdefault(repo, []).append((*found, wanted <= set(first_ten(row, shipped))))
    lines = ["repository | patches | mentions | left out | first is right | shipped weights"]
    for repo in [*repos, "all"]:
        own = [row for each in (repos if repo == "all" else [repo]) for row in table[each]]
        shares = " | ".join(f"{sum(column) / len(own):.3f}" for column in zip(*own, strict=True))
        lines.append(f"{repo} | {len(own)} | {shares}")
    fitted = dict(zip(WEIGHTS, fit(rows).round(2).tolist(), strict=True))
    sys.stdout.write("\n".join([*lines, f"fitted on all: {fitted}"]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--cache", type=Path, help="what was extracted, one file per repository")
    parser.add_argument("--signals", type=Path, required=True, help="the signals of each patch")
    parser.add_argument("--per-repo", type=int, default=0, help="about so many patches per repository")
    parser.add_argument("--repo", action="append")
    options = parser.parse_args()
    if options.sets:
        collect(options)
    report([json.loads(line) for line in options.signals.read_text("utf-8").splitlines()])


if __name__ == "__main__":
    main()
