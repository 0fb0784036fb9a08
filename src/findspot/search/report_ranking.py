"""Ranks the answer to a report: files by all that speaks for them, then the passages inside them.

The model is linear: `report_weights.json` has one number per signal. It was fitted on commits of many
projects (`training/rank_reports.py`), and on no evaluation set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from findspot.core.git import History
from findspot.core.model import Corpus, Mode
from findspot.embed.embedder import Embedder
from findspot.rank.signals import Candidate, Pool
from findspot.search.query_filters import is_filtered
from findspot.search.questions import Question
from findspot.search.report_evidence import Evidence, gather
from findspot.search.retrieve import Candidates
from findspot.store.derived import Selection
from findspot.store.records import ORDINAL_BITS
from findspot.store.snapshot import Snapshot

Rows = NDArray[np.float32]

_FILE = "report_weights.json"
_LEAST = 0.005
"""Contributions below this are not worth a line of an explanation."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """One weight per signal; signals without a weight count nothing."""

    weights: dict[str, float]

    def vector(self, columns: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self.weights.get(name, 0.0) for name in columns])

    def scores(self, columns: Sequence[str], rows: Rows) -> NDArray[np.float64]:
        """Return the score of each row; differences between rows count, not the value."""
        return rows @ self.vector(columns)

    def contributions(self, columns: Sequence[str], row: Rows, prefix: str) -> dict[str, float]:
        """Return what each signal added to the score of a row."""
        values = row * self.vector(columns)
        pairs = zip(columns, values.tolist(), strict=True)
        return {f"{prefix}{name}": round(value, 3) for name, value in pairs if abs(value) >= _LEAST}


@dataclass(frozen=True, slots=True)
class ReportModel:
    files: LinearModel
    chunks: LinearModel
    sharpness: float
    """How much a chunk loses by being worse than the best of its file, against being in a worse file."""


@lru_cache(maxsize=1)
def load_model() -> ReportModel:
    """Read the weights that come with the package."""
    data = json.loads(files("findspot.search").joinpath(_FILE).read_text("utf-8"))
    return ReportModel(LinearModel(data["files"]), LinearModel(data["chunks"]), float(data["sharpness"]))


EVENNESS = 0.3
"""Chances fall steeply. Raised to this power, a twentieth of the best one's is still 0.4 of its value in the
ranking: such a file is worth its lines."""

MAX_CHUNKS = 400
"""So many chunks are ranked; of those behind them nobody asks."""


def ranks_as_report(snapshot: Snapshot, question: Question) -> bool:
    """Return whether the fitted model ranks a query: a long one about code, without special wishes."""
    query = question.query
    return (
        question.reading.is_long
        and query.corpus is Corpus.CODE
        and query.mode is Mode.HYBRID
        and query.semantic_weight is None
        and query.similar_to is None
        and Corpus.CODE in snapshot.keywords
    )


def rank_report(
    snapshot: Snapshot, embedder: Embedder | None, question: Question, allowed: Selection, history: History
) -> tuple[Pool, Candidates]:
    """Return the chunks of the likeliest files, each with its score."""
    filtered = is_filtered(question.query)
    evidence = gather(snapshot, embedder, question.text, allowed, filtered=filtered, history=history)
    model = load_model()
    chances = _chances(model, evidence)
    chosen = np.argsort(-chances, kind="stable")[:MAX_CHUNKS]
    rows = {file.id: at for at, file in enumerate(evidence.files)}
    pool = Pool()
    for at in chosen.tolist():
        number = int(evidence.chunks[at])
        file = evidence.files[rows[number >> ORDINAL_BITS]]
        chance = float(chances[at])
        candidate = Candidate(number, file.id, file.path, fused=chance**EVENNESS, chance=chance)
        if question.query.explain:
            candidate.learned = _contributions(model, evidence, rows[file.id], at)
        pool.by_number[number] = candidate
    traced = frozenset(number for number in pool.by_number if number in evidence.traced)
    words = {n: score for n, score in evidence.words.items() if n in pool.by_number}
    meaning = {n: score for n, score in evidence.meaning.items() if n in pool.by_number}
    return pool, Candidates(words, meaning, {}, False, frozenset(), frozenset(), traced)


def _chances(model: ReportModel, evidence: Evidence) -> NDArray[np.float64]:
    """Return how likely each chunk is where the change belongs: its file's chance, less if others fit better.

    The best chunk of each file has the chance of the file, so files come in the order of their chances.
    """
    if not len(evidence.chunks):
        return np.empty(0)
    files = model.files.scores(evidence.file_columns, evidence.file_rows)
    chances = np.exp(files - files.max())
    chunks = model.chunks.scores(evidence.chunk_columns, evidence.chunk_rows)
    order = {file.id: at for at, file in enumerate(evidence.files)}
    homes = np.array([order[number] for number in (evidence.chunks >> ORDINAL_BITS).tolist()])
    best = np.full(len(files), -np.inf)
    np.maximum.at(best, homes, chunks)
    shares: NDArray[np.float64] = np.exp(model.sharpness * (chunks - best[homes]))
    shares *= chances[homes] / chances.sum()
    return shares


def _contributions(model: ReportModel, evidence: Evidence, file: int, chunk: int) -> Mapping[str, float]:
    return model.files.contributions(evidence.file_columns, evidence.file_rows[file], "file.") | (
        model.chunks.contributions(evidence.chunk_columns, evidence.chunk_rows[chunk], "passage.")
    )
