"""The owner of tree-sitter: parsers and compiled queries, each loaded on first use."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from findspot.core.languages import row

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

READ_BYTES = 8_192
"""How much source the parser is fed at a time; up to this size it is fed at once."""

NAME_BYTES = 128
"""How much source a condition of a query is given at a time: tree-sitter looks at each byte that it gets."""

PARSE_SECONDS = 0.5
PARSE_SECONDS_PER_MB = 3.0
"""More than ten times what ordinary code takes; error recovery can take a thousand times as much."""

MATCH_LIMIT = 4_096
"""Query states kept in flight; real code stays far below, hostile nesting does not."""

MACRO_DEPTH = 3
"""Macros in the arguments of macros that are read."""

_NEWLINE = ord("\n")
_BLANK = bytes(_NEWLINE if byte == _NEWLINE else ord(" ") for byte in range(256))
"""What each byte becomes in a source of which only the lines are left."""

_INHERITS = "; inherits: "
"""How a query file begins that goes on where others end."""


WIDE_NODES = 300
"""Nodes with no more descendants than this are not looked into: what they can cost is little."""

MAX_QUERY_STEPS = 1_000_000_000
"""Later siblings that a query may look at: two seconds. Ordinary files take a ten-thousandth of that."""

ORDINARY_DEPTH = 200
STEPS_PER_LEVEL = 40
"""Below so many levels, what a query takes for each node grows with the depth by so many such looks."""


Captures = dict[str, list["Node"]]
PatternMatch = tuple[int, Captures]
"""The index of a pattern, and what it captured."""


class ParseTimeoutError(Exception):
    """Parsing, or a query over the tree, takes longer than that of any ordinary file."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser with the query that finds definitions and references; None where there is none."""

    language: str
    parser: Parser
    query: Query | None
    definition_patterns: int
    """How many patterns of the query find definitions; those after them find references."""
    clauses: frozenset[int]
    """Patterns whose neighbours of the same name are one definition (`#set! clauses`)."""
    named: dict[int, str]
    """Patterns of definitions without a name, and the name that they get (`#set! named`)."""
    captures: frozenset[str]
    """What the query captures."""

    def parse(self, source: bytes) -> Tree:
        """Return the tree of a source, or raise an error where reading it would take too long."""
        if len(source) <= READ_BYTES:
            return self.parser.parse(source)
        tree = _parse_in_time(self.parser, source)
        if query_steps(tree.root_node) > MAX_QUERY_STEPS:
            raise ParseTimeoutError
        return tree

    @property
    def finds_references(self) -> bool:
        return self.query is not None and self.query.pattern_count > self.definition_patterns

    def matches(self, node: Node) -> tuple[list[PatternMatch], list[Captures]]:
        """Return the matches of definitions and of references below `node`, found in one walk."""
        definitions: list[PatternMatch] = []
        references: list[Captures] = []
        if self.query is None:
            return definitions, references
        most = self.definition_patterns
        for found in _cursor(self.query).matches(node):
            if found[0] < most:
                definitions.append(found)
            else:
                references.append(found[1])
        return definitions, references

    def argument_matches(self, matches: list[Captures], source: bytes) -> list[Captures]:
        """Return the matches inside of the arguments of macros, which are read as expressions."""
        found: list[Captures] = []
        for _ in range(MACRO_DEPTH):
            trees = [match["arguments"][0] for match in matches if "arguments" in match]
            if not trees:
                break
            _, matches = self.matches(self.parse(_only(trees, source)).root_node)
            found += matches
        return found


def _only(trees: list[Node], source: bytes) -> bytes:
    """Return a source of which only some bracketed parts are left, each as a statement at its place."""
    blank = bytearray(source.translate(_BLANK))
    for tree in trees:
        start, end = tree.start_byte, tree.end_byte
        blank[start:end] = source[start:end]
        while end < len(blank) and blank[end] == _NEWLINE:
            end += 1
        blank[end : end + 1] = b";"
    return bytes(blank)


def _cursor(query: Query) -> QueryCursor:
    from tree_sitter import QueryCursor

    return QueryCursor(query, match_limit=MATCH_LIMIT)


def _parse_in_time(parser: Parser, source: bytes) -> Tree:
    """Parse, feeding the source in pieces, so that a parser that stalls can be starved.

    tree-sitter 0.26 crashes the process when it is given a progress callback, so the
    clock (of this thread's own work, not of a busy machine) is read where it asks for input.
    A tree keeps the reader and asks it for the texts of nodes, until it has them: no clock stops that.

    tree-sitter 0.26 keeps every object that a reader returns to a parser, for good. So this one returns the
    same array each time, and empties it at the end.
    """
    deadline = time.thread_time() + PARSE_SECONDS + PARSE_SECONDS_PER_MB * len(source) / 1e6
    late = parsed = False
    piece = bytearray()

    def read(offset: int, _point: object) -> bytes | bytearray:
        nonlocal late
        if parsed:
            return source[offset : offset + NAME_BYTES]
        late = time.thread_time() > deadline
        piece[:] = b"" if late else source[offset : offset + READ_BYTES]
        return piece

    tree = parser.parse(read)
    parsed = True
    piece.clear()
    if late:
        raise ParseTimeoutError
    return tree


def query_steps(root: Node) -> int:
    """Return about how many siblings a query over a tree looks at.

    At each node, tree-sitter looks for a later sibling that is named. In a run of tokens without any,
    such as thousands of open brackets, it looks at all the rest of the run: quadratic time. So it is in a
    sum of thousands of numbers, each of which is a level deeper.
    """
    steps = 0
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > ORDINARY_DEPTH:
            held = node.child_count if node.descendant_count > WIDE_NODES else node.descendant_count
            steps += STEPS_PER_LEVEL * (depth - ORDINARY_DEPTH) * held
        if node.descendant_count <= WIDE_NODES:
            continue
        run = 0
        for child in node.children:
            run = 0 if child.is_named else run + 1
            steps += run
            if child.child_count:
                pending.append((child, depth + 1))
    return steps


@cache
def grammar_for(language: str) -> Grammar | None:
    """Return the grammar of a language, or None where none is installed."""
    loaded = _wheel(language)
    if loaded is None:
        return None
    from tree_sitter import Parser

    definitions, references = _query_source(language), _query_source(f"references/{language}")
    query = _query(language, loaded, f"{definitions}\n{references}".strip())
    settings = [query.pattern_settings(i) for i in range(query.pattern_count)] if query else []
    starts = [query.start_byte_for_pattern(i) for i in range(len(settings))] if query else []
    patterns = sum(start < len(definitions.encode()) for start in starts)
    clauses = frozenset(i for i, each in enumerate(settings) if "clauses" in each)
    named = {i: str(each["named"]) for i, each in enumerate(settings) if "named" in each}
    captures = frozenset(map(query.capture_name, range(query.capture_count)) if query else ())
    return Grammar(language, Parser(loaded), query, patterns, clauses, named, captures)


def _query(language: str, loaded: Language, source: str) -> Query | None:
    """Return the compiled query of a language; None if it has none, or if another release of an extra
    grammar names its nodes differently.
    """
    from tree_sitter import Query, QueryError

    try:
        return Query(loaded, source) if source else None
    except QueryError:
        if row(language).extra:
            return None
        raise  # our own pinned wheel: a mistake to be seen


def _wheel(language: str) -> Language | None:
    """Return the language of a grammar wheel; None if there is none, or the extra is not installed."""
    entry = row(language)
    if entry.grammar is None:
        return None
    from tree_sitter import Language

    try:
        module = importlib.import_module(entry.grammar)
    except ImportError:
        if entry.extra:
            return None
        raise
    load: Callable[[], Any] = getattr(module, entry.entry)
    return Language(load())


def _query_source(place: str) -> str:
    """Return the text of `queries/<place>.scm`, after that of the places that its first line inherits."""
    file = resources.files("findspot.chunk") / "queries" / f"{place}.scm"
    own = file.read_text("utf-8") if file.is_file() else ""
    first = own.partition("\n")[0]
    parents = first.removeprefix(_INHERITS).split() if first.startswith(_INHERITS) else ()
    return "\n".join([*map(_query_source, parents), own]).strip()
