"""Turn ranking numbers into a score between 0 and 1, fitted on the first answers of a public benchmark."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

BIAS = -5.5
COVERAGE = 0.85
COSINE = 10.6
DEFINITION = 2.0
"""A logistic fit of "the first answer is right" on a public benchmark, queries without any answer
among them; `docs/ranking.md` has the reliability table, `benchmarks/calibration.py` makes it."""

WORDS_BIAS = -2.6
WORDS_COVERAGE = 4.6
WORDS_DEFINITION = 4.2
"""The same for a keyword search, which asks no model: `benchmarks/calibration.py --mode keyword`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the text of a chunk itself says about whether it answers the query."""

    coverage: float
    """The share of the query's terms, by weight, that stand in the text."""
    cosine: float | None
    """None where no model was asked."""
    definition: float

    @property
    def sure(self) -> float:
        """The probability that the chunk is a right answer."""
        if self.cosine is None:
            z = WORDS_BIAS + WORDS_COVERAGE * self.coverage + WORDS_DEFINITION * self.definition
        else:
            z = BIAS + COVERAGE * self.coverage + COSINE * self.cosine + DEFINITION * self.definition
        return 1 / (1 + math.exp(-z))

    def why(self) -> dict[str, float]:
        asked = {} if self.cosine is None else {"cosine": round(self.cosine, 4)}
        return {"coverage": round(self.coverage, 4), **asked}


def coverage(weights: Mapping[str, float], held: Collection[str]) -> float:
    """Return the share of a query's terms, by weight, that a text holds."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def calibrated(sure: float, relative: float) -> float:
    """Return the score of a hit: how sure one can be of the best of them, falling with the ranking number."""
    return round(max(0.0, min(1.0, sure * relative)), 4)
