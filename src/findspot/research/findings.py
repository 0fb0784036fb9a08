"""What research is asked, and what it gives back: plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import FROM_INDEX, IncludeTests, Span, include_tests, one_of, storable
from findspot.graph import Edge, Node
from findspot.text.snippet import CUT_MARK, cut

MIN_DEPTH, DEFAULT_DEPTH, MAX_DEPTH = 1, 2, 5

_LINE_CHARS = 200

_NEXT_LINE = 0.9
"""What is left of a line's worth for the line above or below it."""

_MARK_CHARS = 8
"""For the mark of a gap, with a line number."""


class Focus(StrEnum):
    """What an answer is to bring out; each is a walk of its own."""

    ARCHITECTURE = "architecture"
    DEPENDENCIES = "dependencies"
    PATTERNS = "patterns"
    FLOW = "flow"


class Aim(StrEnum):
    """What a question asks about a symbol."""

    CALLERS = "callers"
    CALLEES = "callees"
    IMPLEMENTATIONS = "implementations"
    IMPORTERS = "importers"
    USES = "uses"
    OVERRIDES = "overrides"
    PATH = "path"
    IMPACT = "impact"
    TESTS = "tests"
    SUPERTYPES = "supertypes"
    IMPORTS = "imports"


RELATIONS = tuple(map(str, Aim))
"""What can be asked about a symbol without a sentence."""

FORWARD = (Aim.CALLEES, Aim.SUPERTYPES, Aim.IMPORTS, Aim.PATH)
"""Relations that are followed from what refers to what is referred to; the others, the other way round."""


OF_A_CHANGE = (Aim.IMPACT, Aim.TESTS)
"""Relations that can be asked about a diff, too."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question: a sentence, or a relation and a symbol."""

    question: str = ""
    depth: int = DEFAULT_DEPTH
    focus: Focus | None = None
    under: str | None = None
    """The folder whose definitions may be meant."""
    relation: Aim | None = None
    symbol: str = ""
    """A name, a qualified name, or `path:line`; of importers a file, folder or module."""
    to: str = ""
    """Where a path ends."""
    include_tests: bool = True
    """Given as a word, as in a search: `no` leaves tests out and counts them."""
    min_confidence: float | None = None
    """Of edges; by default 0.5, and less where there is no better edge."""
    since: str | None = None
    """The revision that the working tree is compared with, for `impact` and `tests` of a diff."""

    def __post_init__(self) -> None:
        """Read what may be spelled in several ways, so that it means the same from every caller."""
        values = {
            "focus": one_of(Focus, "focus", self.focus) if self.focus else None,
            "relation": one_of(Aim, "relation", self.relation) if self.relation else None,
            "question": storable(self.question or ""),
            "symbol": storable(self.symbol or ""),
            "to": storable(self.to or ""),
            "include_tests": include_tests(self.include_tests) is not IncludeTests.NO,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if (mistake := self._mistake()) is not None:
            raise InvalidArgumentError(mistake)

    def _mistake(self) -> str | None:
        """Return what is wrong with the question; None where nothing is."""
        needs_symbol = self.relation not in (None, *OF_A_CHANGE)
        mistakes = {
            "Query cannot be empty": not self.question.strip() and self.relation is None,
            "'since' is for the relations 'impact' and 'tests'.": (
                self.since is not None and self.relation not in OF_A_CHANGE
            ),
            f"The relation '{self.relation}' needs a symbol.": needs_symbol and not self.symbol.strip(),
            "The relation 'path' needs 'to', the symbol where it ends.": (
                self.relation is Aim.PATH and not self.to.strip()
            ),
            "min_confidence must be a number from 0 to 1.": not 0 <= (self.min_confidence or 0) <= 1,
            f"depth must be a whole number from {MIN_DEPTH} to {MAX_DEPTH}.": (
                not MIN_DEPTH <= self.depth <= MAX_DEPTH
            ),
        }
        return next((text for text, is_made in mistakes.items() if is_made), None)

    @property
    def text(self) -> str:
        """The question as a sentence."""
        if self.question.strip() or self.relation is None:
            return self.question
        if not self.symbol or self.since:
            return f"{self.relation} of what changed since {self.since or 'HEAD'}"
        return f"{self.relation} of {self.symbol}" + (f" to {self.to}" if self.to else "")


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
    why: str = ""
    """What makes it part of the answer, where no edge says so."""

    @classmethod
    def of(cls, node: Node, hop: int, why: str = "") -> FoundNode:
        """Return a node of the graph as one of an answer."""
        return cls(node.id, node.name, node.kind, node.path, node.start_line, node.end_line, hop, why)


@dataclass(frozen=True, slots=True)
class FoundEdge:
    """A reference that the walk followed, with its line."""

    source: str
    target: str
    relation: str
    path: str
    line: int
    confidence: float
    text: str = ""
    """The line; empty for those that no answer shows."""

    @classmethod
    def of(cls, edge: Edge) -> FoundEdge:
        """Return an edge of the graph as one of an answer."""
        confidence = round(edge.confidence, 2)
        return cls(edge.source.id, edge.target.id, edge.relation, edge.path, edge.line, confidence)


@dataclass(frozen=True, slots=True)
class Citation:
    """A line that shows what is said, apart from those of references."""

    path: str
    line: int
    text: str


class Reason(StrEnum):
    """Why a region belongs to an answer."""

    CHANGE = "change here"
    TOO = "must change too"
    RELIED = "is relied on by"
    RELIES = "relies on"
    TEST = "test"
    LAST = "last changed"


@dataclass(frozen=True, slots=True)
class Region:
    """A definition, or the lines that decide: what somebody has to look at, and the one reason for it."""

    id: str
    path: str
    span: Span
    symbol: str
    kind: str
    reason: Reason
    why: str = ""
    """What makes the reason true: a reference with its line, a commit."""
    text: str = ""
    worth: tuple[float, ...] = ()
    """How much each line says about the signal."""

    def cut(self, max_chars: int) -> Region:
        """Return the first line and the lines that say most, with those around them.

        "…" and a line number mark a gap; "…" marks a cut end. The span covers the lines that are shown.
        """
        if len(self.text) <= max_chars:
            return self
        lines = [cut(line, _LINE_CHARS) for line in self.text.split("\n")]
        near = _spread((*self.worth, *(0.0,) * (len(lines) - len(self.worth))))
        shown, size = {0}, len(lines[0]) + 1
        for number in sorted(range(1, len(lines)), key=lambda number: (-near[number], number)):
            size += len(lines[number]) + 1 + (not {number - 1, number + 1} & shown) * _MARK_CHARS
            if size > max_chars:
                break
            shown.add(number)
        text, last = [lines[0]], 0
        for number in sorted(shown - {0}):
            if number > last + 1:
                text.append(f"{CUT_MARK} {self.span.start + number}")
            text.append(lines[number])
            last = number
        text += [CUT_MARK] * (last < len(lines) - 1)
        span = Span(self.span.start, self.span.start + last)
        return replace(self, text="\n".join(text), span=span, worth=())


def _spread(worth: Sequence[float]) -> list[float]:
    """Return the worth of each line, or what is left of that of a line above or below it."""
    near = list(worth)
    for numbers in (range(1, len(near)), range(len(near) - 2, -1, -1)):
        for number in numbers:
            near[number] = max(near[number], near[number - numbers.step] * _NEXT_LINE)
    return near


NOTHING_FITS = "Nothing in this project fits."
NOTHING_CHANGED = "Nothing changed."


@dataclass(frozen=True, slots=True)
class Context:
    """What is needed next for a signal: regions, the best first, or none because nothing fits."""

    signal: str
    """What the signal was read as: text, diff, place or trace."""
    subject: str = ""
    """What it is about, where that is known for certain: the changed definitions, the place."""
    regions: tuple[Region, ...] = ()
    edges: tuple[FoundEdge, ...] = ()
    """The references that make regions rely on each other."""
    left_out: int = 0
    """Regions that were found and are less likely."""
    warning: str | None = None

    @property
    def summary(self) -> str:
        """The answer in a sentence."""
        if not self.regions and self.subject not in ("", NOTHING_CHANGED):
            return f"{self.subject} Nothing that depends on it was found."
        if not self.regions:
            return self.subject or NOTHING_FITS
        first = [region for region in self.regions if region.reason is Reason.CHANGE][:3]
        named = ", ".join(f"{region.symbol} ({region.path}:{region.span.start})" for region in first)
        return self.subject or (
            f"Begin at {named}." if named else "Nothing to change; see what belongs to it."
        )


@dataclass(frozen=True, slots=True)
class PossiblePlace:
    """A place that may mean the symbol, with the reason for the doubt."""

    path: str
    line: int
    source: str
    """The definition that holds it."""
    reason: str
    confidence: float
    text: str


@dataclass(frozen=True, slots=True)
class Findings:
    """All that research found; nodes in the order in which they matter."""

    query: str = ""
    depth: int = DEFAULT_DEPTH
    focus: Focus | None = None
    summary: str = ""
    nodes: tuple[FoundNode, ...] = ()
    edges: tuple[FoundEdge, ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()
    """Node ids in the order in which control or dependence passes."""
    relation: Aim | None = None
    """What was asked about a symbol, if that was the question."""
    possible: tuple[PossiblePlace, ...] = ()
    """Places that may mean the symbol, apart from what is certain."""
    unknown: bool = False
    """Whether the index has no definition of the symbol."""
    context: Context | None = None
    """What answers a question that is about no relation."""
    citations: tuple[Citation, ...] = ()
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

    def steps(self) -> Iterator[tuple[FoundNode, FoundNode, FoundEdge]]:
        """Yield the edges that lead from a node to one of the next hop, and those between starts.

        Each cycle has an edge that leads back; that one is no answer to the question.
        """
        nodes = {node.id: node for node in self.nodes}
        for edge in self.edges:
            near, far = nodes[edge.source], nodes[edge.target]
            if self.relation not in FORWARD:
                near, far = far, near
            if far.hop == near.hop + 1 or near.hop == far.hop == 0:
                yield near, far, edge


LINE = "line"
"""The kind of a region that is a line."""

FOLDER = "folder"
"""The kind of a node that stands for several files."""
