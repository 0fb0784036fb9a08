"""From evidence to probability: the score of a hit, and where the tail of an answer begins.

A score is the probability that a hit is right: that the question belongs to the project, times that such
a hit is right where it does. `python -m benchmarks.calibration --fit` fits the table below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from findspot.core.model import LIKELY_FROM, Corpus, Hit, Mode, Strength

FITTED_MODEL = "local:static"
"""The model whose cosines the recipes know. Those of another mean something else: its answers are scored
by their words, unless meaning is all that was searched."""

BELONGS_FROM = 0.7
"""Below this probability that the project answers the question, nothing fits."""

DEFINED_FROM = 0.6
"""A question that is a name, of something that the first hit defines, belongs to the project for certain."""

_LEAST_COSINE = 0.05
"""Cosines count by their logarithm: 0.1 and 0.2 are further apart than 0.6 and 0.7."""


class Evidence(NamedTuple):
    """What speaks for a hit."""

    cosine: float
    """The likeness of its meaning to the question's."""
    words: float
    """Its BM25 score per weight of the question's words: about 1 if it has each of them once."""
    definition: float
    """Whether it defines what the question names; of documentation, how well its headings fit."""
    path: float
    """How well its path fits."""
    terms: float
    """How many different words the question has."""
    lead: float
    """How far it ranks ahead of the next hit; below zero, how far behind the first. A share of the best."""
    file_chance: float = 0.0
    """The logarithm of what a fitted model gives its file beside others; 0 where none says so."""
    wording: float = 0.0
    """The share of the question's words that it holds in their order, where that is a pasted message."""

    def why(self) -> dict[str, float]:
        """Return what the ranking's own signals do not show, rounded for people."""
        shown = {name: getattr(self, name) for name in ("cosine", "words", "terms", "lead", "file_chance")}
        return {name: round(value, 4) for name, value in shown.items()}

    @property
    def nearness(self) -> float:
        """How near the hit is to the question, by meaning and words: the same measure in every project.

        What it counts for among several projects is chosen in `search/merging.py`.
        """
        return 4 * math.log(max(self.cosine, _LEAST_COSINE)) + 3 * self.words

    def features(self) -> tuple[float, ...]:
        """Return the values that are weighed."""
        likeness, length = math.log(max(self.cosine, _LEAST_COSINE)), math.log(1 + self.terms)
        return likeness, self.words, self.definition, self.path, length, self.lead, self.file_chance


class Weights(NamedTuple):
    """The weights of a logistic function of the evidence."""

    bias: float
    cosine: float
    words: float
    definition: float
    path: float
    terms: float
    lead: float
    file_chance: float = 0.0

    def probability(self, evidence: Evidence) -> float:
        """Return the value of the function, from 0 to 1."""
        bias, *weights = self
        z = bias + sum(weight * value for weight, value in zip(weights, evidence.features(), strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the evidence of one kind of search becomes a score."""

    belongs: Weights
    """Whether the project answers the question at all, from the first hit."""
    first: Weights
    """Whether the first hit is right if it does."""
    later: Weights
    """Whether another hit is."""

    def belonging(self, first: Evidence) -> float:
        """Return the probability that the project answers the question."""
        return 1.0 if first.definition >= DEFINED_FROM or first.wording else self.belongs.probability(first)


RECIPES = {
    (Corpus.CODE, Mode.HYBRID): Recipe(
        belongs=Weights(4.21, 3.64, 5.07, 0.52, 1.63, 0.0, 0.0),
        first=Weights(0.28, 0.0, 0.44, 0.17, 2.07, 0.0, 2.09, file_chance=1.09),
        later=Weights(0.61, 1.13, -0.17, 0.0, 0.0, 0.0, 1.19, file_chance=0.52),
    ),
    (Corpus.CODE, Mode.KEYWORD): Recipe(
        belongs=Weights(-5.45, 0.0, 7.86, 1.91, 5.06, 1.1, 0.0),
        first=Weights(-1.3, 0.0, 0.17, 1.22, 4.19, 0.0, 4.7),
        later=Weights(-1.46, 0.0, 0.5, 0.78, 0.0, 0.0, 1.25),
    ),
    (Corpus.CODE, Mode.SEMANTIC): Recipe(
        belongs=Weights(7.6, 5.6, 2.92, 0.0, 2.56, -0.75, 0.0),
        first=Weights(-1.04, 0.0, 2.03, 0.0, 1.29, 0.0, 5.11),
        later=Weights(1.05, 3.65, 0.0, 0.0, 0.0, 0.0, -0.35),
    ),
    (Corpus.DOCS, Mode.HYBRID): Recipe(
        belongs=Weights(2.43, 3.1, 5.25, 1.3, 0.0, 0.0, 0.0),
        first=Weights(-1.4, 0.0, 1.2, 2.05, 0.0, 0.0, 4.46),
        later=Weights(-1.21, 1.19, 0.98, 0.51, 0.0, 0.0, 2.05),
    ),
    (Corpus.DOCS, Mode.KEYWORD): Recipe(
        belongs=Weights(-5.76, 0.0, 6.95, 2.56, 0.0, 1.36, 0.0),
        first=Weights(-1.67, 0.0, 1.08, 2.25, 0.0, 0.0, 3.9),
        later=Weights(-2.22, 0.0, 0.85, 1.32, 0.0, 0.0, 2.45),
    ),
    (Corpus.DOCS, Mode.SEMANTIC): Recipe(
        belongs=Weights(5.7, 4.45, 4.87, 1.74, 0.0, -0.34, 0.0),
        first=Weights(-2.08, 0.0, 2.62, 1.68, 0.0, 0.0, 3.87),
        later=Weights(-0.11, 1.63, 0.0, 1.23, 0.0, 0.0, 2.19),
    ),
}
"""By what is searched and how; fitted by `python -m benchmarks.calibration --fit`. How well they do on
projects that they were not fitted on is in `benchmarks/README.md`."""


FITS_FROM = 0.1
"""A report is about the project from this probability on."""


def recipe_for(corpus: Corpus, *, words: bool, meaning: bool) -> Recipe:
    """Return how to score a search that compares words, meaning or both."""
    mode = Mode.HYBRID if words and meaning else Mode.KEYWORD if words else Mode.SEMANTIC
    return RECIPES[corpus, mode]


def calibrated(recipe: Recipe, ranked: Sequence[Evidence], *, most: float = 1.0) -> Iterator[float]:
    """Yield the scores of an answer's hits, best first: they fall as the ranking does, from `most` on.

    Where nothing fits, all are weak.
    """
    score = LIKELY_FROM - 0.01 if nothing_fits(recipe, ranked) else most
    belongs = 1.0
    for place, evidence in enumerate(ranked):
        if not place:
            belongs = recipe.belonging(evidence)
        right = (recipe.later if place else recipe.first).probability(evidence)
        right = max(right, evidence.wording)
        score = min(score, belongs * right)
        yield round(score, 4)


def nothing_fits(recipe: Recipe, ranked: Sequence[Evidence]) -> bool:
    """Return whether a project probably does not answer the question at all."""
    return bool(ranked) and recipe.belonging(ranked[0]) < BELONGS_FROM


TAIL_SHARE = {Mode.HYBRID: 0.4, Mode.KEYWORD: 0.25, Mode.SEMANTIC: 0.25, Mode.REGEX: 0.0}
"""A weak hit whose value in the ranking is a smaller share of the best one's fits far worse than that. One
right file in 300 is found only among such hits, by words; by words and meaning, one in 500."""


def tail_start(hits: Sequence[Hit], mode: Mode = Mode.HYBRID) -> int:
    """Return how many hits of an answer come before the tail that fits far worse than the best hit.

    On a later page, nothing belongs to the tail: who asks for one wants it all.
    """
    if not hits or hits[0].relative < 1:
        return len(hits)
    is_tail = (hit.strength is Strength.WEAK and hit.relative < TAIL_SHARE[mode] for hit in hits[1:])
    return next((place for place, cut in enumerate(is_tail, 1) if cut), len(hits))
