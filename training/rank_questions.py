"""Fits the model that ranks passages for a question in a whole sentence: `search/question_weights.json`.

python training/rank_questions.py signals QUESTIONS --mirrors MIRRORS --cache FOLDER --out SIGNALS
python training/rank_questions.py fit SIGNALS

`QUESTIONS` are `training/questions.jsonl`: sentences about how a behaviour comes about, with the places that
answer them, in projects outside every evaluation set. Each project is checked out with its history and
indexed once. The signals are those that the package computes when it answers.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.behaviour import checkout, overlaps
from numpy.typing import NDArray

from findspot.core.model import Query
from findspot.embed.provider_registry import open_embedder
from findspot.engine import Engine
from findspot.history.commit_store import CommitStore
from findspot.rank.calibration import FITS_FROM
from findspot.search.query_filters import allowed_files
from findspot.search.question_ranking import BELONGS, nearness, question_signals
from findspot.search.questions import Question, understand
from findspot.search.retrieve import Candidates, find_candidates
from findspot.store.records import ORDINAL_BITS
from findspot.store.snapshot import Snapshot
from rank_reports import Floats, Groups, fit, logistic, named

WEIGHTS = Path(__file__).parent.parent / "src/findspot/search/question_weights.json"
PENALTY = 0.01
FOLDS = 6
FIRST = (1, 3, 5, 10)
FARTHER = 17


@dataclass(frozen=True)
class Example:
    """One question: its candidates, and which of them answer it."""

    repo: str
    columns: tuple[str, ...]
    rows: NDArray[np.float32]
    right: NDArray[np.bool_]
    files: NDArray[np.int64]
    right_files: NDArray[np.bool_]
    near: dict[str, float]
    """How near its project comes to the question at all."""


def make_signals(options: argparse.Namespace) -> None:
    """Write what the package says of each question, and how near a project comes to other questions."""
    os.environ["FINDSPOT_HOME"] = str(options.cache / "home")
    engine = Engine()
    questions = defaultdict(list)
    for line in options.questions.read_text("utf-8").splitlines():
        question = json.loads(line)
        questions[question["repo"]].append(question)
    repos = list(questions)
    examples: list[Example] = []
    strange: list[dict[str, float]] = []
    for at, repo in enumerate(repos):
        name = repo.replace("/", "+")
        commit = questions[repo][0]["commit"]
        project = engine.project(checkout(options.mirrors / name / "repo", commit, options.cache / name))
        project.update()
        commits = CommitStore(project.store.folder)
        with project.store.snapshot() as snapshot:
            for asked in questions[repo]:
                examples.append(example(snapshot, asked, *_candidates(snapshot, asked["query"]), commits))
            for other in questions[repos[(at + FARTHER) % len(repos)]]:
                strange.append(nearness(*_candidates(snapshot, other["query"])))
        sys.stderr.write(f"{repo}\n")
    options.out.write_bytes(pickle.dumps((examples, strange)))


def _candidates(snapshot: Snapshot, text: str) -> tuple[Question, Candidates]:
    query = Query(text)
    question = understand(snapshot, open_embedder("local:static"), query)
    return question, find_candidates(snapshot, question, allowed_files(snapshot, query))


def example(
    snapshot: Snapshot,
    asked: dict[str, Any],
    question: Question,
    candidates: Candidates,
    commits: CommitStore,
) -> Example:
    looked_at = question_signals(snapshot, question, candidates, commits)
    numbers, signals = looked_at.numbers, looked_at.signals
    key = [place for place in asked["gold"] if place["key"]]
    extents = snapshot.chunks.extents(numbers.tolist())
    paths = [snapshot.files.path_of[number >> ORDINAL_BITS] for number in numbers.tolist()]
    spans = [extents[number] for number in numbers.tolist()]
    right = [
        any(overlaps(place, path, span.start_line, span.end_line) for place in key)
        for path, span in zip(paths, spans, strict=True)
    ]
    return Example(
        asked["repo"],
        signals.columns,
        signals.rows,
        np.array(right),
        numbers >> ORDINAL_BITS,
        np.array([any(place["path"] == path for place in key) for path in paths]),
        nearness(question, candidates),
    )


def groups_of(examples: Sequence[Example]) -> Groups:
    return Groups.of((each.rows, each.right) for each in examples)


def figures(examples: Sequence[Example], scores: Sequence[Floats]) -> dict[str, float]:
    """Return how often a right file, and a right place, is among the first."""
    found: dict[str, list[bool]] = defaultdict(list)
    for each, score in zip(examples, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        homes = dict.fromkeys(each.files[order].tolist())
        right = set(each.files[each.right_files].tolist())
        files = [home in right for home in homes]
        for most in FIRST:
            found[f"file@{most}"].append(any(files[:most]))
            found[f"place@{most}"].append(bool(each.right[order[:most]].any()))
    return {name: float(np.mean(values)) for name, values in found.items()}


def left_out_scores(examples: Sequence[Example], penalty: float = PENALTY) -> list[Floats]:
    """Return the scores of each example's candidates, by weights fitted without its project."""
    repos = sorted({each.repo for each in examples})
    scores: list[Floats] = [np.empty(0)] * len(examples)
    for fold in range(FOLDS):
        held = set(repos[fold::FOLDS])
        weights = fit(groups_of([each for each in examples if each.repo not in held]), penalty)
        for at, each in enumerate(examples):
            if each.repo in held:
                scores[at] = each.rows @ weights
    return scores


def calibration(examples: Sequence[Example], scores: Sequence[Floats]) -> tuple[float, float]:
    """Return bias and slope that make a probability of the logarithm of a first result's chance."""
    chances, right = [], []
    for each, score in zip(examples, scores, strict=True):
        best = int(np.argmax(score))
        chances.append([float(-np.log(np.exp(score - score[best]).sum()))])
        right.append(float(each.right[best]))
    bias, slopes = logistic(np.array(chances), np.array(right))
    return bias, float(slopes[0])


def fit_all(options: argparse.Namespace) -> None:
    examples: list[Example]
    examples, strange = pickle.loads(options.signals.read_bytes())
    scores = left_out_scores(examples)
    shown = ", ".join(f"{name} {value:.3f}" for name, value in figures(examples, scores).items())
    bias, slope = calibration(examples, scores)
    repos = {each.repo for each in examples}
    made = f"{len(examples)} questions about {len(repos)} projects; projects left out: {shown}"
    fitted = named(examples[0].columns, fit(groups_of(examples), PENALTY))
    content: dict[str, Any] = {"made": f"training/rank_questions.py, {made}", "weights": fitted}
    WEIGHTS.write_text(json.dumps(content, indent=1) + "\n")
    sys.stdout.write(f"{made}\nCHANCE_BIAS, CHANCE_SLOPE = {bias:.2f}, {slope:.2f}\n")
    own = [each.near for each in examples]
    rows = np.log([[near[name] for name in BELONGS] for near in own + strange])
    bias, slopes = logistic(rows, np.array([1.0] * len(own) + [0.0] * len(strange)))
    chances = 1 / (1 + np.exp(-bias - rows @ slopes))
    refused = [float(np.mean(part < FITS_FROM)) for part in (chances[: len(own)], chances[len(own) :])]
    sys.stdout.write(
        f"BELONGS_BIAS {bias:.2f}, BELONGS {dict(zip(BELONGS, slopes.round(2).tolist(), strict=True))}: "
    )
    sys.stdout.write(f"refused of own {refused[0]:.3f}, of others {refused[1]:.3f}\n")


Step = Callable[[argparse.Namespace], None]


def parsers(about: str | None, make: Step, fit: Step) -> tuple[argparse.ArgumentParser, ...]:
    """Return the parser of a program in two steps, and that of the first, which makes signals."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    steps = parser.add_subparsers(required=True)
    signals = steps.add_parser("signals")
    for name in ("--mirrors", "--cache", "--out"):
        signals.add_argument(name, type=Path, required=True)
    signals.set_defaults(run=make)
    fitting = steps.add_parser("fit")
    fitting.add_argument("signals", type=Path)
    fitting.set_defaults(run=fit)
    return parser, signals


def main() -> None:
    parser, signals = parsers(__doc__, make_signals, fit_all)
    signals.add_argument("questions", type=Path)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
