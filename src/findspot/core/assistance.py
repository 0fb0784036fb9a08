"""What is made of a search's results, and who made it."""

from __future__ import annotations

from dataclasses import dataclass

FROM_INDEX = "index"
"""Made without a language model, from what the index itself holds."""


@dataclass(frozen=True, slots=True)
class Assistance:
    """What a search wants beside its results."""

    expand: bool = False
    synthesize: bool = False

    def __bool__(self) -> bool:
        return self.expand or self.synthesize


NO_ASSISTANCE = Assistance()


@dataclass(frozen=True, slots=True)
class Expansion:
    """Words that were searched for beside those of the query."""

    terms: tuple[str, ...]
    made_by: str = FROM_INDEX


@dataclass(frozen=True, slots=True)
class CodeReference:
    """A line that a statement stands on."""

    path: str
    line: int
    text: str
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The results in a few sentences; every statement can be looked up at its references."""

    summary: str
    key_insights: tuple[str, ...]
    code_references: tuple[CodeReference, ...]
    confidence: float
    follow_ups: tuple[str, ...]
    made_by: str = FROM_INDEX
