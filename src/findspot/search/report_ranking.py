"""Ranks the answer to a report: files by all that speaks for them, then the passages inside them.

The model is linear: `report_weights.json` has one number per signal. It was fitted on commits of many
projects (`training/rank_reports.py`), and on no evaluation set.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.git import History
from findspot.core.model import GroupBy, IncludeTests
from findspot.embed.embedder import Embedder
from findspot.history.commit_store import CommitStore
from findspot.rank.candidate_pool import Pool, spread_files
from findspot.search.query_filters import is_filtered
from findspot.search.questions import MAX_TERMS, Question
from findspot.search.report_evidence import Evidence, Signals, gather, passage_signals
from findspot.store.derived import Selection
from findspot.store.records import ORDINAL_BITS
from findspot.store.snapshot import Snapshot

_LEAST = 0.005
"""Contributions below this are not worth a line of an explanation."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """One weight per signal; signals without a weight count nothing."""

    weights: dict[str, float]

    def scores(self, signals: Signals) -> NDArray[np.float64]:
        """Return the score of each row; differences between rows count, not the value."""
        scores: NDArray[np.float64] = signals.rows @ self._vector(signals)
        return scores

    def contributions(self, signals: Signals, row: int, prefix: str, share: float = 1.0) -> dict[str, float]:
        """Return what each signal added to the score of a row."""
        values = signals.rows[row] * self._vector(signals) * share
        pairs = zip(signals.columns, values.tolist(), strict=True)
        return {f"{prefix}{name}": round(value, 3) for name, value in pairs if abs(value) >= _LEAST}

    def _vector(self, signals: Signals) -> NDArray[np.float64]:
        return np.array([self.weights.get(name, 0.0) for name in signals.columns])


@dataclass(frozen=True, slots=True)
class ReportModel:
    files: LinearModel
    chunks: LinearModel
    sharpness: float
    """How much a chunk loses by being worse than the best of its file, against being in a worse file."""


def read_weights(name: str) -> dict[str, Any]:
    """Read a file of weights that comes with the package."""
    weights: dict[str, Any] = json.loads(files("findspot.search").joinpath(name).read_text("utf-8"))
    return weights


@lru_cache(maxsize=1)
def load_model() -> ReportModel:
    """Read the weights that come with the package."""
    data = read_weights("report_weights.json")
    return ReportModel(LinearModel(data["files"]), LinearModel(data["chunks"]), float(data["sharpness"]))


BELONGS = {"cosine_title": 3.84, "cosine_prose": 4.96, "words": 1.65}
BELONGS_BIAS = 9.38
LEAST_NEAR = 0.02
"""Fitted on 345 messages of commits, asked of their own project, and on 265 of other projects. Below 0.1
(`FITS_FROM`), the answer says that nothing fits: 1 % of the first kind, 49 % of the second."""

EVENNESS = 0.15
"""Chances fall steeply. Raised to this power, a four-hundredth of the best one's is still 0.4 of its value in
the ranking: an answer to a report shows several files."""

MAX_FILES = 20
"""Of the files behind these, no passage is looked at."""

SAME_FILE_DECAY = 0.93
"""Values are close together: a second passage of a file must be 1.6 times as likely as the file it precedes.
With 0.8, all changed lines are in an answer of 4,000 tokens for 0.33 of the Python issues that change
one file, without any decay for 0.42, but then ten results may be one file."""

MAX_PER_FILE = 40
"""Passages of one file: a file of thousands must not push out the others."""


def rank_report(
    snapshot: Snapshot,
    embedder: Embedder | None,
    question: Question,
    allowed: Selection,
    *,
    history: History,
    commits: CommitStore | None,
) -> tuple[Pool, float]:
    """Return the chunks of the likeliest files, each with its chance, and how likely the report is about the
    project at all.
    """
    filtered = is_filtered(question.query)
    evidence = gather(
        snapshot,
        embedder,
        question.text,
        allowed,
        filtered=filtered,
        wants_tests=question.query.include_tests is IncludeTests.YES,
        history=history,
        commits=commits,
    )
    model = load_model()
    files = _file_chances(model, evidence)
    best = np.argsort(-files, kind="stable")[:MAX_FILES].tolist()
    numbers, signals = passage_signals(snapshot, evidence, [evidence.files[at] for at in best])
    place = {evidence.files[at].id: at for at in best}
    homes = [place[number >> ORDINAL_BITS] for number in numbers]
    chances = _passage_chances(model, files, homes, signals)
    words, meaning = evidence.found.words["all"], evidence.likeness.get("prose", {})
    taken: Counter[int] = Counter()
    kept: list[int] = []
    for row in np.argsort(-chances, kind="stable").tolist():
        taken[homes[row]] += 1
        if taken[homes[row]] <= MAX_PER_FILE:
            kept.append(row)
    kept.sort(key=lambda row: numbers[row])
    chosen = np.array([numbers[row] for row in kept], np.int64)
    found = np.array([[each.get(n, math.nan) for n in chosen.tolist()] for each in (words, meaning)])
    pool = Pool(chosen, chosen >> ORDINAL_BITS, snapshot.files.path_of, (found[0], found[1]))
    pool.fused[:] = chances[kept] ** EVENNESS
    pool.chances = chances[kept].tolist()
    if question.query.explain:
        pool.learned = {
            numbers[row]: {"file": round(files[homes[row]].item(), 4), "chance": round(chance, 4)}
            | model.files.contributions(evidence.signals, homes[row], "file.")
            | model.chunks.contributions(signals, row, "passage.", model.sharpness)
            for row, chance in zip(kept, pool.chances, strict=True)
        }
    if question.query.group_by is not GroupBy.SYMBOL:
        spread_files(pool, SAME_FILE_DECAY)
    return pool, _belongs(evidence, question)


def belonging(evidence: Evidence, question: Question) -> dict[str, float]:
    """Return how near the project comes to a report: by meaning, and by the words that one passage holds."""
    telling = sum(nlargest(MAX_TERMS, question.term_weights.values())) or 1.0
    near = {
        "cosine_title": evidence.signals.best("cosine_title"),
        "cosine_prose": evidence.signals.best("cosine_prose"),
        "words": max(evidence.found.words["all"].values(), default=0.0) / telling,
    }
    return {name: max(value, LEAST_NEAR) for name, value in near.items()}


def _belongs(evidence: Evidence, question: Question) -> float:
    """Return how likely a report is about the project.

    It is if it names a file of the project, or its trace passes through one.
    """
    if evidence.found.mentioned or evidence.found.traced:
        return 1.0
    near = belonging(evidence, question)
    logit = BELONGS_BIAS + sum(weight * math.log(near[name]) for name, weight in BELONGS.items())
    return 1 / (1 + math.exp(-logit))


def _file_chances(model: ReportModel, evidence: Evidence) -> NDArray[np.float64]:
    """Return how likely each file is the one to change; they sum up to 1."""
    scores = model.files.scores(evidence.signals)
    chances: NDArray[np.float64] = np.exp(scores - scores.max(initial=0.0))
    chances /= chances.sum() or 1.0
    return chances


def _passage_chances(
    model: ReportModel, files: NDArray[np.float64], homes: list[int], signals: Signals
) -> NDArray[np.float64]:
    """Return the chance of each passage: that of its file, less if others of the file fit better.

    So files come in the order of their chances.
    """
    scores = model.chunks.scores(signals)
    home = np.array(homes, np.intp)
    best = np.full(len(files), -np.inf)
    np.maximum.at(best, home, scores)
    chances: NDArray[np.float64] = np.exp(model.sharpness * (scores - best[home]))
    chances *= files[home]
    return chances
