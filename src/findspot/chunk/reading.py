"""One file while its references are read: its text, its definitions, and the facts gathered so far."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from findspot.chunk import ecmascript_expressions, go_expressions
from findspot.chunk.expressions import COMMON, CONSTANT_NAMES, JAVA, declared, expression
from findspot.chunk.symbols import Definition, Imported, text_of
from findspot.core.facts import LITERAL, UNKNOWN, BindingFact, ImportFact, ReferenceFact

if TYPE_CHECKING:
    from tree_sitter import Node

PASSIVE = frozenset({"constant", "field", "variable"})
"""Kinds that run nothing themselves: what stands in them belongs to what is around them."""

TYPED = frozenset({"java"})
"""Languages in which every declared type is the whole truth."""
_LITERALS = frozenset({"dictionary", "float", "integer", "list", "list_comprehension", "string"})
"""Types of nodes whose text need not be read."""

_EXPRESSIONS: dict[str, Callable[[Node, bytes], str]] = {
    "go": go_expressions.expression,
    **dict.fromkeys(ecmascript_expressions.LANGUAGES, ecmascript_expressions.expression),
}
"""How expressions are read, in languages with a way of their own."""


@dataclass(slots=True)
class Reading:
    """One file being read."""

    source: bytes
    definitions: list[Definition]
    starts: list[int]
    places: dict[Definition, int]
    language: str
    package: str
    imported: dict[int, list[Imported]]
    references: dict[tuple[int, str], ReferenceFact] = field(default_factory=dict)
    bindings: dict[BindingFact, None] = field(default_factory=dict)
    passed: list[Node] = field(default_factory=list)
    imports: list[ImportFact] = field(default_factory=list)
    types_until: int = -1
    ascii: str | None = None
    """The source, where its bytes are its characters."""
    line_ends: list[int] = field(default_factory=list)
    """Where each line but the first starts."""
    read: Callable[[Node, bytes], str] | None = None
    """Reads expressions where those of the language are read from the syntax tree."""

    def __post_init__(self) -> None:
        self.ascii = self.source.decode("ascii") if self.source.isascii() else None
        self.line_ends = list(accumulate(len(line) + 1 for line in self.source.split(b"\n")))
        self.read = _EXPRESSIONS.get(self.language)

    def text(self, node: Node) -> str:
        """Return the text of a node; PHP's mark of variables is no part of their names."""
        if self.ascii is not None and self.language != "php":
            return self.ascii[node.start_byte : node.end_byte]
        text = text_of(node, self.source)
        return text.replace("$", "") if self.language == "php" else text

    def row(self, at: int) -> int:
        """Return the row that a byte is on: that of the node which starts there, without asking the node."""
        return bisect_right(self.line_ends, at)

    def expression(self, node: Node) -> str:
        """Return a value or receiver in the notation of `core.facts`."""
        if self.read is not None:
            return self.read(node, self.source)
        whole = self.ascii
        text = text_of(node, self.source) if whole is None else whole[node.start_byte : node.end_byte]
        if text.isidentifier():
            return LITERAL if text in CONSTANT_NAMES else text
        kind = node.type
        while kind == "assignment" and (right := node.child_by_field_name("right")) is not None:
            node = right  # `a = b = value`
            kind = node.type
        if kind in _LITERALS:
            return LITERAL
        if kind == "call" and self.language == "python" and not text.startswith(("type(", "(")):
            called = node.child_by_field_name("function")  # so that arguments need not be read
            chain = self.expression(called) if called is not None else UNKNOWN
            return chain if chain in (UNKNOWN, LITERAL) or "|" in chain else f"{chain}()"
        return expression(self.text(node))

    def declared(self, node: Node) -> str:
        """Return a type in the notation of `core.facts`."""
        if self.language == "go":
            return go_expressions.declared(node, self.source)
        if self.language in ecmascript_expressions.LANGUAGES:
            return ecmascript_expressions.declared_type(node, self.source)
        if self.language not in TYPED:
            return declared(self.text(node))
        found = declared(self.text(node), words=JAVA if self.language == "java" else COMMON)
        return LITERAL if found == UNKNOWN else found  # of a type that is not of the project

    def around(self, at: int) -> Definition | None:
        """Return the innermost definition that holds a byte."""
        place = bisect_right(self.starts, at) - 1
        found = self.definitions[place] if place >= 0 else None
        while found is not None and found.end_byte <= at:
            found = found.parent
        return found

    def owner(self, at: int) -> int:
        """Return the place of the innermost definition that runs what stands at a byte, or -1."""
        place = bisect_right(self.starts, at) - 1
        found = self.definitions[place] if place >= 0 else None
        while found is not None and (found.end_byte <= at or found.kind in PASSIVE):
            found = found.parent
        return self.places[found] if found is not None else -1

    def owner_of(self, place: int) -> int:
        """Return the place of what encloses a definition, or -1."""
        parent = self.definitions[place].parent
        return self.places[parent] if parent is not None else -1

    def decorated(self, node: Node) -> int:
        """Return the definition that an annotation belongs to: around it, or directly below."""
        at = node.start_byte
        found = self.around(at)
        if found is None or self.row(at) > found.row or found.start_byte == at:
            place = bisect_right(self.starts, at)
            below = self.definitions[place] if place < len(self.definitions) else None
            found = below if below is not None and below.parent is found else found
        return self.places[found] if found is not None else -1
