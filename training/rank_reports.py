"""Fits the model that ranks files and passages for a report: `src/findspot/search/report_weights.json`.

python training/rank_reports.py index   --cases CASES --mirrors MIRRORS --cache FOLDER
python training/rank_reports.py signals --cases CASES --mirrors MIRRORS --cache FOLDER --out FILE [--shuffled]
python training/rank_reports.py fit FILE ... [--added]
python training/rank_reports.py belong  --cases CASES --mirrors MIRRORS --cache FOLDER

`CASES` come from `commits.py`. Each repository is indexed once, at the state before the first of the cases
that are taken from it: up to 22 messages and 8 subjects of 400 days. The signals are those that the package
computes when it answers; a case sees the commits before it, and `--shuffled` gives these the messages of
others. `--added` keeps the weights of the package, and fits those of signals that have none there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import random
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ancestors import Ancestors, store_commits
from benchmarks.behaviour import checkout
from numpy.typing import NDArray

from commits import git
from findspot.core.git import History
from findspot.core.model import Query
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import open_embedder
from findspot.engine import Engine
from findspot.search.query_filters import allowed_files
from findspot.search.questions import understand
from findspot.search.report_evidence import COMMITS, Evidence, gather, passage_signals
from findspot.search.report_ranking import BELONGS, belonging
from findspot.store.records import ORDINAL_BITS, Extent
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore

WEIGHTS = Path(__file__).parent.parent / "src/findspot/search/report_weights.json"
WINDOW_S = 400 * 24 * 3600
MOST_MESSAGES = 22
MOST_SUBJECTS = 8
LEAST_MESSAGES = 4
MOST_FILES = 4_000
BEFORE = "before"
"""The folder of the commits that cases may know."""

SHARPNESS = 0.5
"""Chosen on issues_dev between 0.3 and 1.5: changed lines among the first ten passages."""

PENALTY = 0.002
CHUNK_PENALTY = 0.003
ROUNDS = 300

Case = dict[str, Any]
Floats = NDArray[np.float64]


def read_cases(path: Path) -> dict[str, list[Case]]:
    cases = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        cases[case["repo"]].append(case)
    return dict(sorted(cases.items()))


def window(mirror: Path, cases: Sequence[Case]) -> tuple[str, list[Case]] | None:
    """Return the commit to index, and the cases that follow it: where most messages lie close together."""
    ids = sorted({case["id"] for case in cases})
    shown = git(mirror, "show", "-s", "--format=%H %ct", *ids).decode().split("\n")
    when = {line.split()[0]: int(line.split()[1]) for line in shown if line}
    ordered = sorted((case for case in cases if case["id"] in when), key=lambda case: when[case["id"]])
    messages = [case for case in ordered if case["kind"] == "message"]
    if len(messages) < LEAST_MESSAGES:
        return None

    def follow(first: Case, among: Iterable[Case]) -> list[Case]:
        begin = when[first["id"]]
        return [case for case in among if begin <= when[case["id"]] < begin + WINDOW_S]

    start = max(messages, key=lambda first: min(MOST_MESSAGES, len(follow(first, messages))))
    commit = str(start["commit"])
    tree = set(git(mirror, "ls-tree", "-r", "--name-only", commit).decode().split("\n"))
    if len(tree) > MOST_FILES:
        return None
    kept = [case for case in follow(start, ordered) if all(p["path"] in tree for p in case["relevant"])]
    subjects = [case for case in kept if case["kind"] == "subject"]
    chosen = random.Random(start["repo"]).sample(subjects, min(MOST_SUBJECTS, len(subjects)))
    return commit, [case for case in kept if case["kind"] == "message"][:MOST_MESSAGES] + chosen


def index_all(options: argparse.Namespace) -> None:
    """Index each repository at the commit of its window."""
    with tempfile.TemporaryDirectory(dir=options.cache) as home:
        os.environ["FINDSPOT_HOME"] = home
        for repo, cases in read_cases(options.cases).items():
            mirror = options.mirrors / repo.replace("/", "+") / "repo"
            chosen = window(mirror, cases)
            target = options.cache / repo.replace("/", "+")
            if chosen is None or target.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                engine = Engine()
                project = engine.project(checkout(mirror, chosen[0], Path(folder) / "tree"))
                project.update()
                engine.close()
                shutil.move(project.store.folder, target)
            store_commits(mirror, {case["commit"] for case in chosen[1]}, target / BEFORE)
            sys.stderr.write(f"{repo}\n")


@dataclass(frozen=True)
class Example:
    """One case: its candidates, and which of them the commit changed."""

    repo: str
    file_columns: tuple[str, ...]
    file_rows: NDArray[np.float32]
    changed_files: NDArray[np.bool_]
    chunk_columns: tuple[str, ...]
    chunk_rows: NDArray[np.float32]
    chunk_files: NDArray[np.int64]
    changed_chunks: NDArray[np.bool_] | None
    """None where the file changed between the indexed commit and the case: lines have moved."""


def make_signals(options: argparse.Namespace) -> None:
    embedder = open_embedder("local:static")
    examples = []
    for repo, cases in read_cases(options.cases).items():
        mirror = options.mirrors / repo.replace("/", "+") / "repo"
        folder = options.cache / repo.replace("/", "+")
        chosen = window(mirror, cases) if folder.exists() else None
        if chosen is None:
            continue
        store = SqliteStore(folder, "project")
        for case in chosen[1]:
            history = history_of(mirror, case["commit"])
            with store.snapshot() as snapshot:
                files = allowed_files(snapshot, Query(case["query"]))
                seed = 1 if options.shuffled else None
                commits = Ancestors(folder / BEFORE, mirror, case["commit"], seed)
                evidence = gather(snapshot, embedder, case["query"], files, history=history, commits=commits)
                moved = not unchanged(mirror, chosen[0], case)
                examples.append(example(snapshot, evidence, case, moved=moved))
        store.close()
    options.out.write_bytes(pickle.dumps(examples))


def history_of(mirror: Path, commit: str) -> History:
    """Return what the commits before a case changed, as the package reads it."""
    shape = ("--min-parents=1", "--max-parents=1", "--name-only", "--format=%x00", "--no-renames")
    listed = git(mirror, "log", f"--max-count={COMMITS}", *shape, commit).decode("utf-8", "replace")
    return tuple(tuple(filter(None, each.split("\n"))) for each in listed.split("\0") if each.strip())


def unchanged(mirror: Path, indexed: str, case: Case) -> bool:
    paths = sorted({place["path"] for place in case["relevant"]})
    return not git(mirror, "diff", "--name-only", indexed, case["commit"], "--", *paths).strip()


def example(snapshot: Snapshot, evidence: Evidence, case: Case, *, moved: bool) -> Example:
    wanted = defaultdict(list)
    for place in case["relevant"]:
        wanted[place["path"]].append((place["start_line"], place["end_line"]))
    paths = {file.id: file.path for file in evidence.files}
    order = {file.id: at for at, file in enumerate(evidence.files)}
    numbers, passages = passage_signals(snapshot, evidence, evidence.files)
    changed = None
    if not moved:
        extents = snapshot.chunks.extents(numbers)
        changed = np.array([overlaps(extents.get(n), wanted[paths[n >> ORDINAL_BITS]]) for n in numbers])
    return Example(
        case["repo"],
        evidence.signals.columns,
        evidence.signals.rows,
        np.array([file.path in wanted for file in evidence.files]),
        passages.columns,
        passages.rows,
        np.array([order[n >> ORDINAL_BITS] for n in numbers]),
        changed,
    )


def overlaps(extent: Extent | None, lines: Iterable[tuple[int, int]]) -> bool:
    return extent is not None and any(a <= extent.end_line and extent.start_line <= b for a, b in lines)


@dataclass(frozen=True)
class Groups:
    """Candidates of all cases in one table; the wanted share of each, and where each case begins."""

    rows: Floats
    wanted: Floats
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Iterable[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> Groups:
        kept = [(rows, wanted) for rows, wanted in parts if wanted.any() and not wanted.all()]
        sizes = np.array([len(rows) for rows, _ in kept])
        return cls(
            np.concatenate([rows for rows, _ in kept]).astype(np.float64),
            np.concatenate([wanted / wanted.sum() for _, wanted in kept]),
            np.append(0, np.cumsum(sizes)[:-1]),
            sizes,
        )


def fit(groups: Groups, penalty: float, rounds: int = ROUNDS, rate: float = 0.05) -> Floats:
    """Fit one weight per column, so that what was changed comes first: softmax per case, Adam."""
    spread = groups.rows.std(0) + 1e-6
    rows = (groups.rows - groups.rows.mean(0)) / spread
    weights = np.zeros(rows.shape[1])
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, rounds + 1):
        logits = rows @ weights
        tops = np.maximum.reduceat(logits, groups.starts)
        chances = np.exp(logits - np.repeat(tops, groups.sizes))
        chances /= np.repeat(np.add.reduceat(chances, groups.starts), groups.sizes)
        slope = (chances - groups.wanted) @ rows / len(groups.sizes) + penalty * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope * slope
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    weights /= spread
    return weights


def files_of(examples: Iterable[Example]) -> Groups:
    return Groups.of((each.file_rows, each.changed_files) for each in examples)


def fit_files(examples: Sequence[Example]) -> Floats:
    return fit(files_of(examples), PENALTY)


def fit_added(examples: Sequence[Example], known: Mapping[str, float]) -> Floats:
    """Return the weights that are known, and fitted ones for the other signals of files."""
    columns = examples[0].file_columns
    weights = np.array([known.get(name, 0.0) for name in columns])
    added = [at for at, name in enumerate(columns) if name not in known]
    parts = ((np.c_[each.file_rows @ weights, each.file_rows[:, added]], each) for each in examples)
    fitted = fit(Groups.of((rows, each.changed_files) for rows, each in parts), PENALTY)
    weights[added] = fitted[1:] / fitted[0]
    return weights


def chunks_of(examples: Iterable[Example]) -> Groups:
    """Return the chunks of each changed file as a case of its own."""
    return Groups.of(
        (each.chunk_rows[inside], each.changed_chunks[inside])
        for each in examples
        if each.changed_chunks is not None
        for file in np.flatnonzero(each.changed_files)
        if (inside := each.chunk_files == file).any()
    )


def all_found(examples: Sequence[Example], weights: Floats, most: int) -> float:
    """Return the share of cases whose changed files are all among the first `most`."""
    ranked = [each.changed_files[np.argsort(-(each.file_rows @ weights), kind="stable")] for each in examples]
    return float(np.mean([not row[most:].any() for row in ranked]))


def cross_validate(
    examples: Sequence[Example], fitted: Callable[[Sequence[Example]], Floats], folds: int = 4
) -> str:
    """Return strict accuracy at 1, 3, 5 and 10, each repository scored by weights fitted without it."""
    repos = sorted({each.repo for each in examples})
    found: dict[int, list[float]] = defaultdict(list)
    for fold in range(folds):
        held = set(repos[fold::folds])
        weights = fitted([each for each in examples if each.repo not in held])
        own = [each for each in examples if each.repo in held]
        for most in (1, 3, 5, 10):
            found[most].append(all_found(own, weights, most) * len(own))
    return " ".join(f"{sum(values) / len(examples):.3f}" for values in found.values())


def fit_all(options: argparse.Namespace) -> None:
    examples: list[Example] = [e for path in options.signals for e in pickle.loads(path.read_bytes())]
    model = json.loads(WEIGHTS.read_text("utf-8"))
    fitted: Callable[[Sequence[Example]], Floats] = fit_files
    if options.added:
        fitted = partial(fit_added, known=model["files"])
    model["files"] = named(examples[0].file_columns, fitted(examples))
    if not options.added:
        model["chunks"] = named(examples[0].chunk_columns, fit(chunks_of(examples), CHUNK_PENALTY))
        model["sharpness"] = SHARPNESS
    WEIGHTS.write_text(json.dumps(model, indent=1) + "\n")
    repos = {each.repo for each in examples}
    sys.stdout.write(f"{len(examples)} cases of {len(repos)} repositories; files of left-out repositories")
    sys.stdout.write(f" at 1, 3, 5, 10: {cross_validate(examples, fitted)}\n")


REPOSITORIES = 90
OWN_CASES, OTHER_CASES = 4, 4
FARTHER = 17


def fit_belonging(options: argparse.Namespace) -> None:
    """Print the weights that tell a report about the project from one about another project."""
    embedder = open_embedder("local:static")
    cases = {
        repo: [case for case in each if case["kind"] == "message"]
        for repo, each in read_cases(options.cases).items()
        if (options.cache / repo.replace("/", "+")).exists()
    }
    repos = random.Random(3).sample(sorted(cases), min(REPOSITORIES, len(cases)))
    rows, own = [], []
    for at, repo in enumerate(repos):
        others = cases[repos[(at + FARTHER) % len(repos)]]
        store = SqliteStore(options.cache / repo.replace("/", "+"), "project")
        for case, is_own in [(c, 1.0) for c in cases[repo][:OWN_CASES]] + [
            (c, 0.0) for c in others[:OTHER_CASES]
        ]:
            with store.snapshot() as snapshot:
                rows.append(belonging_signals(snapshot, embedder, case["query"]))
                own.append(is_own)
        store.close()
    bias, weights = logistic(np.array(rows), np.array(own))
    sys.stdout.write(f"{dict(zip(BELONGS, weights.round(2).tolist(), strict=True))}, bias {bias:.2f}\n")


def belonging_signals(snapshot: Snapshot, embedder: Embedder, text: str) -> list[float]:
    query = Query(text)
    evidence = gather(snapshot, embedder, text, allowed_files(snapshot, query))
    likeness = belonging(evidence, understand(snapshot, embedder, query))
    return [math.log(likeness[name]) for name in BELONGS]


def logistic(rows: Floats, wanted: Floats, rounds: int = 3_000) -> tuple[float, Floats]:
    """Return the bias and weights that best tell the rows apart."""
    middle, spread = rows.mean(0), rows.std(0)
    table = np.column_stack([np.ones(len(rows)), (rows - middle) / spread])
    weights = np.zeros(table.shape[1])
    for _ in range(rounds):
        chances = 1 / (1 + np.exp(-table @ weights))
        weights -= 0.5 * (table.T @ (chances - wanted) / len(rows))
    slopes = weights[1:] / spread
    return float(weights[0] - middle @ slopes), slopes


def named(columns: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 3) for name, weight in zip(columns, weights, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("index", index_all), ("signals", make_signals), ("belong", fit_belonging)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--cases", type=Path, required=True)
        command.add_argument("--mirrors", type=Path, required=True)
        command.add_argument("--cache", type=Path, required=True)
        if name == "signals":
            command.add_argument("--out", type=Path, required=True)
            command.add_argument("--shuffled", action="store_true")
    command = commands.add_parser("fit")
    command.set_defaults(run=fit_all)
    command.add_argument("signals", type=Path, nargs="+")
    command.add_argument("--added", action="store_true")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
