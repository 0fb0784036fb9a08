"""Whether a score means what it says: how often hits are right, by their score, on projects left out.

    python -m benchmarks.calibration --sets FOLDER --mirrors FOLDER [--questions FILE] [--fit] …

A question's own project should answer it; the questions of `queries/off_topic_*.txt` and those of a tool
catalogue (flights, recipes, weather) have no answer in any of these projects. `--questions` adds the short
forms of questions about behaviour; a result is right there if its file is. `--answers` keeps what the
searches gave in a file, and reads it if it exists. `--fit` fits the constants of `rank/calibration.py`,
scores each project with those fitted on the others, and prints the ones fitted on all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.behaviour import checkout
from benchmarks.metrics import Place, covers
from benchmarks.sets import HERE, Case, by_checkout, load, materialise
from findspot import Engine, Query
from findspot.core.model import Corpus, Hit, Mode, Span, Strength
from findspot.core.progress import CancelToken, ignore_progress
from findspot.project import Project
from findspot.rank.calibration import RECIPES, Evidence, Recipe, Weights, calibrated, nothing_fits, tail_start

MODES = (Mode.HYBRID, Mode.KEYWORD, Mode.SEMANTIC)
CODE_SETS = ("code_semble", "code_anthropic")
DOCS_SETS = ("docs_anthropic", "docs_sections")
ASIDE = "code_cosqa"
"""Not a project but functions of thousands, without names, each question with one right answer of many."""

OWN_SETS = {"docs_sections"}
"""Sets that are part of this repository."""

TOOL_QUESTIONS = 20
DEPTH = 10
OFF_TOPIC_SHARE = 0.2
"""Of all questions, for the fit: rare enough to keep good hits sure, and still a part of every day."""

RIDGE = 1e-3
BINS = 10
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What one search gave: the evidence of its hits, and which of them are right."""

    set: str
    group: str
    corpus: str
    mode: str
    off_topic: bool
    paths: list[str]
    right: list[bool]
    relative: list[float]
    evidence: list[list[float]]
    scores: list[float]
    nothing_fits: bool


def collect(args: argparse.Namespace) -> Iterator[Answer]:
    """Ask every question of its project, and the off-topic ones of each project once."""
    tools = _lines(args.sets / "queries" / "tools_metatool.jsonl")
    strangers = {corpus: _lines(HERE / "queries" / f"off_topic_{corpus}.txt") for corpus in Corpus}
    engine = Engine()
    for name, view in _views(args.only):
        seen: set[str] = set()
        for (group, _, root), cases in by_checkout(load(_home_of(name, args.sets), name)).items():
            folder = materialise(cases[0], args.sets, args.mirrors, args.cache)
            prefix = root if view == "root" else ""
            project = engine.project(folder / prefix)
            project.update()
            sys.stderr.write(f"{name} {view} {group}: {len(cases)} questions\n")
            yield from _answers(project, cases, prefix)
            if view == "root" and group not in seen:
                seen.add(group)
                corpus = _corpus(name)
                texts = [text for text, not_of in map(_stranger, strangers[corpus]) if group not in not_of]
                chosen = random.Random(group).sample(tools, TOOL_QUESTIONS)
                texts += [json.loads(line)["query"] for line in chosen]
                yield from _answers(project, [replace(cases[0], query=t, targets=()) for t in texts], prefix)
    if args.questions and args.only != "docs":
        yield from _short(engine, args)
    engine.close()


def _short(engine: Engine, args: argparse.Namespace) -> Iterator[Answer]:
    """Ask the short form of questions about behaviour of checkouts with their history."""
    questions = map(json.loads, _lines(args.questions))
    for repo, asked in groupby(sorted(questions, key=itemgetter("repo")), itemgetter("repo")):
        cases = [
            Case("code_short", repo, question["commit"], "", "", "", question["short"], tuple(
                Place(place["path"], None, None) for place in question["gold"] if place["key"]
            ))
            for question in asked
        ]  # fmt: skip
        name = repo.replace("/", "+")
        folder = checkout(args.mirrors / name / "repo", cases[0].commit, args.cache / "behaviour" / name)
        project = engine.project(folder)
        project.update()
        project.history.wait(CancelToken(), ignore_progress)
        sys.stderr.write(f"code_short {repo}: {len(cases)} questions\n")
        yield from _answers(project, cases, "")


def _stranger(line: str) -> tuple[str, list[str]]:
    """Return an off-topic question, and the projects in which it has an answer after all."""
    text, _, projects = line.partition("\t")
    return text, projects.split()


def _views(only: str | None) -> Iterator[tuple[str, str]]:
    for name in (*CODE_SETS, ASIDE, *DOCS_SETS):
        if only in (None, _corpus(name)):
            yield name, "root"
            if name == "code_semble":
                yield name, "whole"


def _home_of(name: str, sets: Path) -> Path:
    return HERE if name in OWN_SETS else sets


def _corpus(name: str) -> Corpus:
    return Corpus.DOCS if name.startswith("docs_") else Corpus.CODE


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _answers(project: Project, cases: Sequence[Case], prefix: str) -> Iterator[Answer]:
    for case in cases:
        for mode in MODES:
            corpus = _corpus(case.set)
            results = project.search(Query(case.query, corpus, DEPTH, mode=mode, explain=True))
            hits = results.hits
            yield Answer(
                case.set,
                case.group,
                corpus,
                mode,
                not case.targets,
                [hit.path for hit in hits],
                [_is_right(hit, case, prefix) for hit in hits],
                [hit.relative for hit in hits],
                [list(_evidence(hit)) for hit in hits],
                [hit.score for hit in hits],
                results.nothing_fits,
            )


def _is_right(hit: Hit, case: Case, prefix: str) -> bool:
    place = Place(f"{prefix}/{hit.path}".lstrip("/"), hit.span.start, hit.span.end)
    return any(covers(place, target) for target in case.targets)


def _evidence(hit: Hit) -> Evidence:
    why = hit.why or {}
    return Evidence(*(why.get(name, 0.0) for name in Evidence._fields))


def fit(answers: Sequence[Answer]) -> Recipe:
    """Fit the three functions; each answer counts once, off-topic ones together as a share of all."""
    corpus, mode = answers[0].corpus, answers[0].mode
    own = [answer for answer in answers if not answer.off_topic]
    strange = [answer for answer in answers if answer.off_topic]
    share = OFF_TOPIC_SHARE / (1 - OFF_TOPIC_SHARE) * len(own) / max(1, len(strange))
    meaning, names = mode != Mode.KEYWORD, corpus == Corpus.CODE
    first = [Evidence(*answer.evidence[0]) for answer in own]
    later = [(Evidence(*e), right) for a in own for e, right in zip(a.evidence[1:], a.right[1:], strict=True)]
    return Recipe(
        belongs=_logistic(
            first + [Evidence(*answer.evidence[0]) for answer in strange],
            [1.0] * len(own) + [0.0] * len(strange),
            [1.0] * len(own) + [share] * len(strange),
            (meaning, True, True, names, mode != Mode.HYBRID, False, False),
        ),
        first=_logistic(
            first,
            [float(answer.right[0]) for answer in own],
            [1.0] * len(own),
            (False, True, True, names, False, True, names and mode == Mode.HYBRID),
        ),
        later=_logistic(
            [evidence for evidence, _ in later],
            [float(right) for _, right in later],
            [1 / DEPTH] * len(later),
            (meaning, mode != Mode.SEMANTIC, True, False, False, True, names and mode == Mode.HYBRID),
        ),
    )


def _logistic(
    rows: Sequence[Evidence], labels: Sequence[float], counts: Sequence[float], features: Sequence[bool]
) -> Weights:
    """Fit a logistic function of some features by Newton's method; the weights of others are zero."""
    used = [True, *features]
    x = np.array([(1.0, *row.features()) for row in rows])[:, used]
    y, w = np.array(labels), np.array(counts)
    ridge = np.eye(x.shape[1]) * RIDGE * w.sum()
    ridge[0, 0] = 0.0
    weights: Vector = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (w * (p - y)) + ridge @ weights
        weights = weights - np.linalg.solve((x * (w * p * (1 - p))[:, None]).T @ x + ridge, gradient)
    found = np.zeros(len(used))
    found[used] = weights
    return Weights(*found.round(2).tolist())


def rescored(answers: Sequence[Answer], recipe: Recipe) -> list[Answer]:
    """Return the answers with the scores that a recipe gives them."""
    found = []
    for answer in answers:
        ranked = [Evidence(*row) for row in answer.evidence]
        scores = list(calibrated(recipe, ranked))
        found.append(replace(answer, scores=scores, nothing_fits=nothing_fits(recipe, ranked)))
    return found


def left_out(answers: Sequence[Answer]) -> list[Answer]:
    """Score each project with what was fitted on the others."""
    found = []
    for group in sorted({answer.group for answer in answers}):
        recipe = fit([answer for answer in answers if answer.group != group])
        found += rescored([answer for answer in answers if answer.group == group], recipe)
    return found


def calibration_error(answers: Sequence[Answer]) -> float:
    """Return how far scores and shares of right first hits are apart on average, over ten bins."""
    scores = np.array([answer.scores[0] for answer in answers])
    right = np.array([float(answer.right[0]) for answer in answers])
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    gaps = [abs(scores[bins == n].sum() - right[bins == n].sum()) for n in range(BINS)]
    return float(sum(gaps) / len(answers))


def report(answers: Sequence[Answer], title: str) -> None:
    """Print the reliability of first hits, what the words are worth, and how off-topic questions fare."""
    out = sys.stdout.write
    own = [answer for answer in answers if not answer.off_topic]
    strange = [answer for answer in answers if answer.off_topic]
    right = [answer for answer in own if answer.right[0]]
    out(f"\n{title}: {len(own)} questions, {len({a.group for a in own})} projects\n")
    out("  score    questions  mean score  right\n")
    for low, high in pairwise(n / BINS for n in range(BINS + 1)):
        members = [a for a in own if low <= a.scores[0] < high or a.scores[0] == high == 1]
        if members:
            mean = sum(a.scores[0] for a in members) / len(members)
            share = sum(a.right[0] for a in members) / len(members)
            out(f"  {low:.1f}-{high:.1f} {len(members):10} {mean:11.2f} {share:6.2f}\n")
    for strength in Strength:
        members = [a for a in own if Strength.of(a.scores[0]) is strength]
        share = sum(a.right[0] for a in members) / max(1, len(members))
        out(f"  {strength}: {len(members)} questions, {share:.2f} right\n")
    out(f"  expected calibration error {calibration_error(own):.3f}\n")
    for label, found in (("off-topic questions", strange), ("right first hits", right)):
        if found:
            weak = sum(Strength.of(a.scores[0]) is Strength.WEAK for a in found) / len(found)
            none = sum(answer.nothing_fits for answer in found) / len(found)
            out(f"  {label}: {weak:.1%} weak, of {none:.1%} the answer says that nothing fits\n")


def report_tail(answers: Sequence[Answer]) -> None:
    """Print how much of an answer is its tail, and how many right files are found only there."""
    hits = gone = files = lost = 0
    for answer in answers:
        scored = zip(answer.paths, answer.scores, answer.relative, strict=True)
        hits_of = [Hit(path, Span(1, 1), "", s, "", "", relative=r) for path, s, r in scored]
        shown = tail_start(hits_of, Mode(answer.mode))
        best: dict[str, int] = {}
        for place, (path, right) in enumerate(zip(answer.paths, answer.right, strict=True)):
            if right:
                best.setdefault(path, place)
        hits, gone = hits + len(answer.scores), gone + len(answer.scores) - shown
        files, lost = files + len(best), lost + sum(place >= shown for place in best.values())
    sys.stdout.write(f"  tail: {gone / hits:.1%} of the hits, with {lost} of {files} right files\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--questions", type=Path, help="training/questions.jsonl")
    parser.add_argument("--answers", type=Path, help="keep the answers in this file, or read them from it")
    parser.add_argument("--only", choices=("code", "docs"))
    parser.add_argument("--fit", action="store_true", help="also fit the constants")
    args = parser.parse_args()
    rows = _read_or_collect(args)
    pooled: dict[Mode, list[Answer]] = {}
    for (corpus, mode), recipe in RECIPES.items():
        chosen = [a for a in rows if (a.corpus, a.mode) == (corpus, mode) and a.evidence]
        if not chosen:
            continue
        projects = [answer for answer in chosen if answer.set != ASIDE]
        report(rescored(projects, recipe), f"{corpus}, {mode}, shipped constants")
        if aside := [a for a in chosen if a.set == ASIDE and not a.off_topic]:
            report(rescored(aside, recipe), f"{corpus}, {mode}, {ASIDE} (not fitted)")
        if args.fit:
            scored = left_out(projects)
            report(scored, f"{corpus}, {mode}, each project left out")
            report_tail([answer for answer in scored if not answer.off_topic])
            pooled.setdefault(mode, []).extend(scored)
            sys.stdout.write(f"  {fit(projects)}\n")
    for mode, scored in pooled.items():
        report(scored, f"code and docs, {mode}, each project left out")


def _read_or_collect(args: argparse.Namespace) -> list[Answer]:
    if args.answers and args.answers.exists():
        return [Answer(**json.loads(line)) for line in _lines(args.answers)]
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("FINDSPOT_HOME", home)
        rows = list(collect(args))
    if args.answers:
        args.answers.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows), "utf-8")
    return rows


if __name__ == "__main__":
    main()
