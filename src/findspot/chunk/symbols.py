"""Definitions of a file, nested as they are written, read from the captures of a query.

A query file `queries/<language>.scm` speaks this small vocabulary and nothing else:

    @definition.KIND  a whole definition; KIND is shown to users (function, class, enum …)
    @name             its name                         @body  where its signature ends
    @scope            the type it belongs to, where it is written outside of that type
    @wrapper          a node around a definition that is part of it (decorators, `export`)
    @comment          a comment; directly above a definition it is its doc comment
    @attribute        an annotation that stands directly above its definition
    @doc              a doc string inside a definition
    @import           an import statement              @package  the name of the package

Of two patterns that give the same name or the same body, the earlier in the file wins.
`(#set! clauses)` on a pattern makes neighbours of the same name one definition (clauses of a function).
`(#set! named NAME)` names what has no name of its own; its @name is where it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from findspot.chunk.splitting import SourceLines
from findspot.core.model import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    from findspot.chunk.grammars import Grammar, PatternMatch

TYPE_KINDS = frozenset(
    {"class", "struct", "enum", "interface", "trait", "impl", "protocol", "object", "record", "union"}
    | {"extension", "mixin", "type"}
)
"""Kinds whose functions are methods and whose constants are fields."""

CONTAINER_KINDS = TYPE_KINDS | {"module", "function", "method", "test", "macro"}
"""Kinds that are worth a chunk of their own inside a larger definition."""

MAX_NAME_CHARS = 200

MAX_LEVELS = 50
"""Definitions inside of definitions: names that are qualified by all of them would fill the memory."""

_SCOPES = re.compile("function|method|lambda|closure|block|body|object")
"""Types of nodes that separate a definition inside of them from the statement around them."""
_QUOTES = {'"': '"', "'": "'", "`": "`", "(": ")"}
_TYPE_ARGUMENTS = re.compile(r"[<\[].*", re.DOTALL)


@dataclass(slots=True, eq=False)
class Definition:
    """One definition: where it is (0-based rows), what it is called, what encloses it."""

    name: str
    kind: str
    node: Node
    start_byte: int
    end_byte: int
    first: int
    """Its first row, with the comments and annotations above it."""
    last: int
    row: int
    """The row of its name."""
    body_byte: int | None = None
    scope: str | None = None
    doc: Node | None = None
    comment_rows: list[tuple[int, int]] = field(default_factory=list)
    clauses: bool = False
    parent: Definition | None = None
    children: list[Definition] = field(default_factory=list)
    signature: str | None = None
    """Remembered: every piece of a class shows it."""

    @property
    def symbol(self) -> Symbol:
        return Symbol(self.name, self.kind, self.row + 1)

    def enclosing(self) -> Iterator[Definition]:
        """Yield the definitions around this one, nearest first."""
        outer = self.parent
        while outer is not None:
            yield outer
            outer = outer.parent


@dataclass(slots=True)
class FileSymbols:
    """What a query found in one file; `definitions` in text order."""

    definitions: list[Definition]
    imports: list[Node]
    package: str | None

    def release(self) -> None:
        """Undo the nesting: its cycles would keep the syntax tree alive until a collection."""
        for definition in self.definitions:
            definition.parent = None
            definition.children = []


@dataclass(slots=True)
class _Captures:
    definitions: dict[int, tuple[int, Definition]] = field(default_factory=dict)
    wrappers: list[Node] = field(default_factory=list)
    leads: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """Last row of a comment or annotation that starts its line → first row, is a comment."""
    docs: list[Node] = field(default_factory=list)
    imports: list[Node] = field(default_factory=list)
    package: str | None = None


def read_symbols(
    grammar: Grammar, matches: list[PatternMatch], source: bytes, lines: SourceLines
) -> FileSymbols:
    """Return the definitions that a grammar's query found, nested."""
    captures = _collect(grammar, matches, source, lines)
    definitions = _nest(captures)
    _attach_docs(definitions, captures.docs)
    for definition in definitions:
        _take_leads(definition, captures.leads)
        _name_kind(definition)
    return FileSymbols(_merge_clauses(definitions, lines), captures.imports, captures.package)


def insert_definitions(definitions: list[Definition], made: list[Definition]) -> list[Definition]:
    """Return definitions in text order and nested, with those that only the graph knows."""
    if not made:
        return definitions
    listed = sorted([*definitions, *made], key=lambda each: (each.start_byte, -each.end_byte))
    kept: list[Definition] = []
    stack: list[Definition] = []
    for definition in listed:
        while stack and stack[-1].end_byte <= definition.start_byte:
            stack.pop()
        if len(stack) < MAX_LEVELS:
            definition.parent = stack[-1] if stack else None
            stack.append(definition)
            kept.append(definition)
            _name_kind(definition)
    return kept


def text_of(node: Node, source: bytes) -> str:
    """Return the text of a node; its own `text` would ask the parser's reader again."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def end_row(node: Node) -> int:
    """Return the last row a node has characters on; some grammars count the newline as theirs."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _collect(grammar: Grammar, matches: list[PatternMatch], source: bytes, lines: SourceLines) -> _Captures:
    found = _Captures()
    for pattern, match in matches:
        for capture, nodes in match.items():
            if capture in ("name", "body"):
                continue
            if capture.startswith("definition."):
                if "name" in match:
                    made = _definition(capture[11:], nodes[0], match, source)
                    made.clauses = pattern in grammar.clauses
                    made.name = grammar.named.get(pattern, made.name)
                    key = match["name"][0].start_byte
                    known = found.definitions.get(key)
                    if known is None or pattern < known[0]:  # of several matches of one name, the earliest
                        found.definitions[key] = (pattern, made)
            elif capture in ("comment", "attribute"):
                _add_lead(found, nodes[0], capture == "comment", lines)
            elif capture == "wrapper":
                found.wrappers.append(nodes[0])
            elif capture == "doc":
                found.docs.append(nodes[0])
            elif capture == "import":
                found.imports.append(nodes[0])
            elif capture == "package" and found.package is None:
                found.package = text_of(nodes[0], source)
    return found


def _definition(kind: str, node: Node, match: dict[str, list[Node]], source: bytes) -> Definition:
    name = match["name"][0]
    body, scope = match.get("body"), match.get("scope")
    first, (last, end_column) = node.start_point[0], node.end_point
    return Definition(
        _clean_name(source[name.start_byte : name.end_byte].decode("utf-8", "replace")),
        kind,
        node,
        node.start_byte,
        node.end_byte,
        first,
        last - 1 if end_column == 0 and last > first else last,  # as `end_row`
        name.start_point[0],
        body[0].start_byte if body else None,
        _clean_name(_TYPE_ARGUMENTS.sub("", text_of(scope[0], source))) if scope else None,
    )


def _clean_name(name: str) -> str:
    """Return a name on one line, without the marks of names that are strings, symbols or operators."""
    if name.isidentifier():
        return name[:MAX_NAME_CHARS]
    if name[:1] in _QUOTES and name[-1:] == _QUOTES[name[:1]]:
        name = name[1:-1]
    name = name.lstrip(":")
    return " ".join(name.split())[:MAX_NAME_CHARS]


def _add_lead(found: _Captures, node: Node, is_comment: bool, lines: SourceLines) -> None:
    row, column = node.start_point
    last, end_column = node.end_point
    before = lines.lines[row][:column] if row < len(lines) else ""
    if before and not before.isspace():
        return
    line = lines.lines[last] if end_column and last < len(lines) else ""
    ends = len(line) <= end_column and line.isascii()
    if ends or not line.encode("utf-8", "replace")[end_column:].strip():
        found.leads[end_row(node)] = (row, is_comment)


def _one_pattern_each(captures: _Captures) -> Iterator[Definition]:
    """Yield definitions, except those that an earlier pattern captured under another name.

    No two share a node, or the place of a body.
    """
    of_node: dict[int, int] = {}
    of_body: dict[int | None, int] = {}
    for pattern, definition in sorted(captures.definitions.values(), key=itemgetter(0)):
        of_node.setdefault(definition.node.id, pattern)
        of_body.setdefault(definition.body_byte, pattern)
    for pattern, definition in captures.definitions.values():
        body = definition.body_byte
        if of_node[definition.node.id] == pattern and (body is None or of_body[body] == pattern):
            yield definition


def _nest(captures: _Captures) -> list[Definition]:
    """Return definitions in text order, each knowing its parent; wrappers widen the one they hold."""
    order = count()  # which no two share: a sort compares no more than that
    items: list[tuple[int, int, bool, int, Definition | Node]] = [
        (d.start_byte, -d.end_byte, True, next(order), d) for d in _one_pattern_each(captures)
    ]
    items.extend((w.start_byte, -w.end_byte, False, next(order), w) for w in captures.wrappers)
    items.sort()
    nested: list[Definition] = []
    stack: list[Definition] = []
    wrappers: list[Node] = []
    for start, negative_end, _, _, item in items:
        while wrappers and wrappers[-1].end_byte <= start:
            wrappers.pop()
        if not isinstance(item, Definition):
            if stack and stack[-1].start_byte <= start and stack[-1].end_byte == -negative_end:
                continue  # a part of the definition itself: `const` inside of `export const`
            wrappers.append(item)
            continue
        while stack and stack[-1].end_byte <= start:
            stack.pop()
        if len(stack) >= MAX_LEVELS:
            continue
        _widen(item, wrappers)
        wrappers.clear()
        if stack:
            item.parent = stack[-1]
            stack[-1].children.append(item)
        stack.append(item)
        nested.append(item)
    return nested


def _widen(definition: Definition, wrappers: list[Node]) -> None:
    """Widen a definition over the outermost wrapper that it is a part of."""
    if not wrappers:
        return
    around, held = definition.node.parent, {wrapper.id for wrapper in wrappers}
    while around is not None and held:
        if around.id in held:
            definition.first = around.start_point[0]
            definition.last = max(definition.last, end_row(around))
            definition.end_byte = max(definition.end_byte, around.end_byte)
            held.discard(around.id)
        elif _SCOPES.search(around.type):
            return
        around = around.parent


def _attach_docs(definitions: list[Definition], docs: list[Node]) -> None:
    starts = iter(definitions)
    current: Definition | None = None
    upcoming = next(starts, None)
    for doc in sorted(docs, key=lambda node: node.start_byte):
        while upcoming is not None and upcoming.start_byte <= doc.start_byte:
            current, upcoming = upcoming, next(starts, None)
        holder = current
        while holder is not None and holder.end_byte < doc.end_byte:
            holder = holder.parent
        if holder is not None and holder.doc is None:
            holder.doc = doc


def _take_leads(definition: Definition, leads: dict[int, tuple[int, bool]]) -> None:
    first = definition.first
    while (lead := leads.get(first - 1)) is not None:
        if lead[1]:
            definition.comment_rows.insert(0, (lead[0], first - 1))
        first = lead[0]
    if definition.parent is not None:
        first = max(first, definition.parent.first)
    definition.first = first


def _name_kind(definition: Definition) -> None:
    """Functions of types are methods, constants of types are fields."""
    if definition.scope is None and (definition.parent is None or definition.parent.kind not in TYPE_KINDS):
        return
    if definition.kind == "function":
        definition.kind = "method"
    elif definition.kind in ("constant", "variable") and definition.scope is None:
        definition.kind = "field"


def _merge_clauses(definitions: list[Definition], lines: SourceLines) -> list[Definition]:
    if not any(definition.clauses for definition in definitions):
        return definitions
    kept: list[Definition] = []
    latest: dict[Definition | None, Definition] = {}
    joined: set[Definition] = set()
    for definition in definitions:
        parent = definition.parent
        before = latest.get(parent)
        if (
            before is not None
            and before.clauses
            and definition.clauses
            and (before.name, before.kind) == (definition.name, definition.kind)
            and lines.trim(before.last + 1, definition.first - 1) is None
        ):
            before.last = max(before.last, definition.last)
            before.node = max(before.node, definition.node, key=lambda node: node.end_byte - node.start_byte)
            before.end_byte = max(before.end_byte, definition.end_byte)
            before.children.extend(definition.children)
            for child in definition.children:
                child.parent = before
            joined.add(definition)
            continue
        latest[parent] = definition
        kept.append(definition)
    for parent in {definition.parent for definition in joined if definition.parent is not None}:
        parent.children = [child for child in parent.children if child not in joined]
    return kept


MAX_SIGNATURE_CHARS = 300
MAX_DOC_CHARS = 1_000
MAX_DEPTH = 8
"""Enclosing definitions shown; deeper nesting shows its innermost part."""

_OPENING = re.compile(
    r"^\s*(?:/\*[*!]?|\(\*+|\{-\s*\|?|<!--|--\[=*\[|=begin\b|///?!?|##?[!:]?|--+\s?[|^!]?|;+|%+|\*(?!/))\s?"
)
_CLOSING = re.compile(r"(?<!\s)\s*(?:(?<!\*)\*+[/)]|-\}|-->|\]=*\]|=end\b)\s*$")
_DOC_QUOTES = re.compile(r"^\s*[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')\s*$")
_SIDE_NOTE = re.compile(r"(?:\n[ \t]*|[ \t]+)(?:#|//|--)[ \t!][^\n]*")
_XML = re.compile(r"</?(?:summary|remarks|para|returns|value|c|see)\b[^<>]*>")
_ELIXIR_DOC = re.compile(r"^\s*@\w*doc\s+(?:~[sS])?")


def breadcrumb(definition: Definition) -> str:
    """Return the path of names to a definition: `Outer > Inner > name`."""
    names: list[str] = []
    current: Definition | None = definition
    while current is not None and len(names) < MAX_DEPTH:
        names.append(current.name)
        if current.scope:
            names.append(current.scope)
        current = current.parent
    return " > ".join(reversed(names))


def signature(definition: Definition, source: bytes) -> str:
    """Return the text of a definition up to its body, on one line."""
    if definition.signature is not None:
        return definition.signature
    start, most = definition.start_byte, definition.start_byte + 4 * MAX_SIGNATURE_CHARS
    if definition.body_byte is not None and definition.body_byte > start:
        raw = source[start : min(definition.body_byte, most)]
    else:
        raw = source[start : min(definition.end_byte, most)].split(b"\n", 1)[0]
    text = raw.decode("utf-8", "replace")
    if "#" in text or "//" in text or "--" in text:
        text = _SIDE_NOTE.sub("", text)
    line = " ".join(text.split())
    line = line.removesuffix("=>").rstrip("{= ").removesuffix(":")
    definition.signature = line[:MAX_SIGNATURE_CHARS].rstrip()
    return definition.signature


def doc_comment(definition: Definition, source: bytes, lines: SourceLines) -> str | None:
    """Return the doc string or the comment above a definition, without its markers."""
    if definition.doc is not None:
        return _tidy(_DOC_QUOTES.sub("", text_of(definition.doc, source))) or None
    if not definition.comment_rows:
        return None
    first, last = definition.comment_rows[0][0], definition.comment_rows[-1][1]
    return strip_markers(lines.slice(first, last)) or None


def strip_markers(comment: str) -> str:
    """Return the prose of a comment, or of the annotation that serves as one (`@doc "…"`)."""
    if (note := _ELIXIR_DOC.match(comment)) is not None:
        return _tidy(_DOC_QUOTES.sub("", comment[note.end() :]))
    bare = [_CLOSING.sub("", _OPENING.sub("", line, 1)) for line in comment.split("\n")]
    return _tidy(_XML.sub("", "\n".join(bare)))


def _tidy(text: str) -> str:
    rows = [line.strip() for line in text.split("\n")]
    return "\n".join(rows).strip()[:MAX_DOC_CHARS].rstrip()
