"""From ranking numbers to one score between 0 and 1 that means the same for every query."""

from __future__ import annotations

from collections.abc import Collection, Mapping

COVERAGE_SHARE = 0.55
"""How much of the query's weight stands in the text; the rest of the evidence is likeness."""

DEFINITION_EVIDENCE = 0.95
"""The definition of the very name asked for is an answer, whatever else it holds."""

LIKENESS_FLOOR = 0.15
LIKENESS_CEILING = 0.75
"""Cosines of the static model: unrelated texts stay below the one, close ones reach the other."""


def coverage(weights: Mapping[str, float], held: Collection[str]) -> float:
    """The share of a query's terms, by weight, that a text holds."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def evidence(covered: float, cosine: float, *, defines: bool) -> float:
    """How sure one can be, from the text itself, that a chunk answers the query."""
    likeness = min(1.0, max(0.0, (cosine - LIKENESS_FLOOR) / (LIKENESS_CEILING - LIKENESS_FLOOR)))
    mixed = COVERAGE_SHARE * covered + (1 - COVERAGE_SHARE) * likeness
    return max(mixed, DEFINITION_EVIDENCE) if defines else mixed


def calibrated(sure: float, relative: float) -> float:
    """The score of a hit: the evidence for the best of them, falling with the ranking number."""
    return round(max(0.0, min(1.0, sure * relative)), 4)
