"""From evidence to probability: the score of a hit, and where the tail of an answer begins."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def calibrated(sure: float, relative: float) -> float:
    """Return the score of a hit: how sure one can be of the best of them, falling with the ranking number."""
    return round(max(0.0, min(1.0, sure * relative)), 4)


TAIL_SHARE = 0.1
TAIL_BELOW = 0.1
"""A hit belongs to the tail when it is probably wrong, and far less probable than the best one."""


def tail_start(scores: Sequence[float]) -> int:
    """Return how many of an answer's falling scores to show before the tail that fits far worse."""
    if not scores:
        return 0
    floor = min(TAIL_BELOW, TAIL_SHARE * scores[0])
    return next((place for place, score in enumerate(scores) if place and score < floor), len(scores))
