"""Whether the score means what it says: a reliability table, and how off-topic queries fare.

    python -m benchmarks.calibration --sets FOLDER --mirrors FOLDER [--fit] [--mode keyword]

On-topic queries are a repository's own; off-topic ones are the queries of the tool sets, which ask
for flights, recipes and weather and have no answer in any of these repositories. `--fit` fits the
constants of `rank/signals.py` by logistic regression, leaving one repository out at a time for
the figures it prints.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.metrics import Place, covers
from benchmarks.quality import HERE
from benchmarks.sets import by_checkout, load, materialise
from findspot import Engine, Query
from findspot.core.model import Mode
from findspot.project import Project

OFF_TOPIC_A_REPOSITORY = 20
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
LOW = 0.3


class Sample(NamedTuple):
    """The first answer to one query."""

    group: str
    off_topic: bool
    right: bool
    score: float
    features: tuple[float, ...]


def samples(args: argparse.Namespace) -> list[Sample]:
    found = []
    engine = Engine()
    strangers = _off_topic(args.sets)
    for (group, _, root), cases in by_checkout(load(args.sets, "code_semble")).items():
        project = engine.project(materialise(cases[0], args.sets, args.mirrors, args.cache) / root)
        project.update()
        for case in cases:
            query = Query(case.query, limit=1, explain=True, mode=args.mode)
            found.append(_sample(project, group, query, [t.path for t in case.targets], root))
        chosen = random.Random(group).sample(strangers, OFF_TOPIC_A_REPOSITORY)
        strange = (Query(text, limit=1, explain=True, mode=args.mode) for text in chosen)
        found.extend(_sample(project, group, query, [], root) for query in strange)
    engine.close()
    return found


def _off_topic(sets: Path) -> list[str]:
    lines = (sets / "queries" / "tools_metatool.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["query"] for line in lines]


def _sample(project: Project, group: str, query: Query, targets: list[str], root: str) -> Sample:
    hits = project.search(query).hits
    if not hits:
        return Sample(group, not targets, False, 0.0, (0.0, 0.0, 0.0))
    place = Place(f"{root}/{hits[0].path}".lstrip("/"))
    why = hits[0].why or {}
    features = tuple(why.get(name, 0.0) for name in ("coverage", "cosine", "definition"))
    right = any(covers(place, Place(target)) for target in targets)
    return Sample(group, not targets, right, hits[0].score, features)


def fit(rows: list[Sample], rounds: int = 4_000) -> NDArray[np.float64]:
    """Weights of a logistic regression by plain gradient descent; off-topic rows are wrong answers."""
    x = np.array([(1.0, *row.features) for row in rows])
    y = np.array([float(row.right) for row in rows])
    weights = np.zeros(x.shape[1])
    for _ in range(rounds):
        weights -= 0.5 * x.T @ (1 / (1 + np.exp(-x @ weights)) - y) / len(y)
    return weights


def left_out_scores(rows: list[Sample]) -> list[Sample]:
    """Each repository scored with weights fitted on the others."""
    scored = []
    for group in sorted({row.group for row in rows}):
        weights = fit([row for row in rows if row.group != group])
        for row in rows:
            if row.group == group:
                z = float(np.dot(weights, (1.0, *row.features)))
                scored.append(row._replace(score=1 / (1 + np.exp(-z))))
    return scored


def report(rows: list[Sample], title: str) -> None:
    out = sys.stdout.write
    out(f"\n{title}\n  score      queries  right first\n")
    own = [row for row in rows if not row.off_topic]
    for low, high in pairwise(BINS):
        members = [row for row in own if low <= row.score < high]
        if members:
            share = sum(row.right for row in members) / len(members)
            out(f"  {low:.1f}-{min(high, 1.0):.1f} {len(members):10} {share:12.2f}\n")
    strangers = [row for row in rows if row.off_topic]
    below = sum(row.score < LOW for row in strangers) / len(strangers)
    lost = sum(row.score < LOW for row in own if row.right) / sum(row.right for row in own)
    out(f"  off-topic queries whose best score is under {LOW}: {below:.0%}\n")
    out(f"  right first answers under {LOW}: {lost:.0%}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--fit", action="store_true", help="also fit the constants anew")
    parser.add_argument("--mode", type=Mode, choices=(Mode.HYBRID, Mode.KEYWORD), default=Mode.HYBRID)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("FINDSPOT_HOME", home)
        rows = samples(args)
    report(rows, "shipped constants")
    if args.fit:
        report(left_out_scores(rows), "fitted, each repository left out in turn")
        sys.stdout.write(f"\nweights on all (bias, coverage, cosine, definition): {fit(rows).round(3)}\n")


if __name__ == "__main__":
    main()
