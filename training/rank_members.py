"""Fits the weights that merge the answers of a workspace's members: those in `search/merging.py`.

python training/rank_members.py signals --mirrors MIRRORS --cache FOLDER --out SIGNALS [--most N]
python training/rank_members.py fit SIGNALS

The projects of `search_questions.jsonl` and `questions.jsonl` are one workspace; each short question is asked
of all of them. A linear model is fitted by a softmax over all hits of a question, of which those in a right
file of the right project are wanted. A fifth of the projects is left out in turn.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.behaviour import checkout
from numpy.typing import NDArray

from findspot import Query
from findspot.engine import Engine
from findspot.search.merging import Fit, at_home
from rank_questions import parsers
from rank_reports import Groups, fit

HERE = Path(__file__).parent
COLUMNS = ("at_home", "near", "defines", "large", "nearest", "score", "behind")
LEAST_NEAR, LEAST = 0.05, 1e-4
PENALTY, FOLDS, FIRST = 0.003, 5, 10


@dataclass
class Asked:
    """One question: the hits of all members, with what speaks for each."""

    kind: str
    repo: str
    wanted: set[str]
    rows: NDArray[np.float32]
    places: list[tuple[str, str]]

    @property
    def right(self) -> NDArray[np.bool_]:
        """The first hit of each right file."""
        found = [repo == self.repo and path in self.wanted for repo, path in self.places]
        firsts = [self.places.index(place) == at for at, place in enumerate(self.places)]
        return np.array(found) & firsts

    def gain(self, scores: NDArray[np.float64]) -> float:
        """Return the NDCG@10 of the right files."""
        ordered = dict.fromkeys(self.places[at] for at in np.argsort(-scores, kind="stable"))
        found = (
            place for place, (repo, path) in enumerate(ordered) if repo == self.repo and path in self.wanted
        )
        ideal = sum(1 / math.log2(2 + place) for place in range(min(FIRST, len(self.wanted))))
        return sum(1 / math.log2(2 + place) for place in found if place < FIRST) / ideal


def make_signals(options: argparse.Namespace) -> None:
    os.environ["FINDSPOT_HOME"] = str(options.cache / "home")
    named = [json.loads(line) for line in (HERE / "search_questions.jsonl").read_text("utf-8").splitlines()]
    behaviour = [json.loads(line) for line in (HERE / "questions.jsonl").read_text("utf-8").splitlines()]
    repos = list(dict.fromkeys(each["repo"] for each in named))[: options.most]
    commits = {each["repo"]: each["commit"] for each in named}
    asked = [("names a topic", each["query"], each) for each in named]
    asked += [("avoids names", each["short"], each) for each in behaviour]
    asked = [each for each in asked if each[2]["repo"] in repos]
    engine = Engine()
    found: list[dict[str, tuple[Fit, Any]]] = [{} for _ in asked]
    for repo in repos:
        name = repo.replace("/", "+")
        tree = checkout(options.mirrors / name / "repo", commits[repo], options.cache / name)
        project = engine.project(tree)
        project.update()
        for place, (_, text, _) in enumerate(asked):
            query = Query(text, limit=FIRST)
            with project.reader() as reader:
                found[place][repo] = reader.fit(query), project.search(query)
        sys.stderr.write(f"{repo}\n")
    rows = [_asked(*question, answers) for question, answers in zip(asked, found, strict=True)]
    options.out.write_bytes(pickle.dumps(rows))


def _asked(kind: str, _: str, question: dict[str, Any], answers: dict[str, tuple[Fit, Any]]) -> Asked:
    homes = at_home([look.word_shares for look, _ in answers.values()])
    rows, places = [], []
    for (repo, (look, results)), home in zip(answers.items(), homes, strict=True):
        member = home, math.log(max(look.cosine, LEAST_NEAR)), look.defines, math.log(max(look.chunks, 1))
        for hit in results.hits:
            behind = math.log(max(hit.relative, LEAST))
            rows.append((*member, results.nearness, hit.score, behind))
            places.append((repo, hit.path))
    wanted = {place["path"] for place in question["gold"] if place["key"]}
    return Asked(kind, question["repo"], wanted, np.array(rows, np.float32), places)


def fit_all(options: argparse.Namespace) -> None:
    asked: list[Asked] = pickle.loads(options.signals.read_bytes())

    def fitted(examples: list[Asked]) -> NDArray[np.float64]:
        return fit(Groups.of((each.rows, each.right) for each in examples), PENALTY)

    repos, gains = sorted({each.repo for each in asked}), defaultdict[str, list[float]](list)
    for fold in range(FOLDS):
        held = set(repos[fold::FOLDS])
        weights = fitted([each for each in asked if each.repo not in held])
        for each in asked:
            if each.repo in held:
                gains[each.kind].append(each.gain(each.rows @ weights))
    shown = ", ".join(f"{kind} {np.mean(values):.3f}" for kind, values in gains.items())
    final = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(COLUMNS, fitted(asked), strict=True))
    sys.stdout.write(
        f"{len(asked)} questions to {len(repos)} projects; left out, NDCG@10: {shown}\n{final}\n"
    )


def main() -> None:
    parser, signals = parsers(__doc__, make_signals, fit_all)
    signals.add_argument("--most", type=int, help="projects: all without it")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
