"""What research is asked, and what it gives back: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import FROM_INDEX

MIN_DEPTH, DEFAULT_DEPTH, MAX_DEPTH = 1, 2, 5


class Focus(StrEnum):
    """What an answer is to bring out; each is a walk of its own."""

    ARCHITECTURE = "architecture"
    DEPENDENCIES = "dependencies"
    PATTERNS = "patterns"
    FLOW = "flow"


class Aim(StrEnum):
    """What a question asks about a name."""

    CALLERS = "callers"
    CALLEES = "callees"
    IMPLEMENTERS = "implementers"
    SUPERTYPES = "supertypes"
    IMPORTERS = "importers"
    IMPORTS = "imports"
    USES = "uses"
    FLOW = "flow"
    OPEN = "open"
    """Nothing that a relation answers: search, and walk outward from what it finds."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question, and how far to go for its answer."""

    question: str
    depth: int = DEFAULT_DEPTH
    focus: Focus | None = None
    under: str | None = None
    """The folder that may answer."""
    aim: Aim | None = None
    """What is asked about `question`, which then is a name and no sentence."""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise InvalidArgumentError("Query cannot be empty")
        if not MIN_DEPTH <= self.depth <= MAX_DEPTH:
            raise InvalidArgumentError(f"depth must be a whole number from {MIN_DEPTH} to {MAX_DEPTH}.")


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A definition that the walk reached, and after how many steps."""

    id: str
    name: str
    kind: str
    path: str
    start_line: int
    end_line: int
    hop: int


@dataclass(frozen=True, slots=True)
class FoundEdge:
    """A reference that the walk followed, with its line."""

    source: str
    target: str
    relation: str
    path: str
    line: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Citation:
    """A line that shows what is said."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Findings:
    """All that research found; nodes in the order in which they matter."""

    query: str
    depth: int
    focus: Focus | None
    summary: str
    nodes: tuple[FoundNode, ...] = ()
    edges: tuple[FoundEdge, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    """Node ids in the order in which control or dependence passes."""
    citations: tuple[Citation, ...] = ()
    related_topics: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    made_by: str = FROM_INDEX
    """Who wrote the summary."""
    warning: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    """How to call each node in a sentence, by its id."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the nodes, in their order."""
        return tuple(dict.fromkeys(node.path for node in self.nodes if node.kind != FOLDER))


FOLDER = "folder"
"""The kind of a node that stands for several files."""
