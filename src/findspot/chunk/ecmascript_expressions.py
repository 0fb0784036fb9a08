"""JavaScript and TypeScript expressions, read from the syntax tree, in the notation of `core.facts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from findspot.chunk.expressions import declared, loaded_name
from findspot.chunk.symbols import text_of
from findspot.core.facts import GETTER, LITERAL, RETURNED, STATIC, UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

LANGUAGES = frozenset({"javascript", "typescript", "tsx"})

PROPERTIES = {"property": "", "made": RETURNED, "getter": GETTER, "static": STATIC}
"""Captures of properties of objects, and what the names that are bound to them start with."""

MAX_DEPTH = 60
"""Of expressions in expressions; longer chains are left unknown."""
MAX_ALTERNATIVES = 4
MAX_KNOWN_CHARS = 40
"""Of the names of functions that mean something here."""

_NAMES = frozenset(
    {"identifier", "this", "super", "property_identifier", "private_property_identifier"}
    | {"shorthand_property_identifier", "shorthand_property_identifier_pattern", "type_identifier"}
)
_LITERALS = frozenset(
    {"string", "template_string", "number", "regex", "true", "false", "null", "undefined", "array", "object"}
)
_INNER = frozenset({"await_expression", "parenthesized_expression", "non_null_expression"})
_OPERANDS: dict[str, tuple[str, ...]] = {"||": ("left", "right"), "??": ("left", "right"), "&&": ("right",)}
"""Operators whose value is that of an operand."""
_CASTS = frozenset({"as_expression", "satisfies_expression", "type_assertion"})
_DEFINING = frozenset({"class", "function_expression", "arrow_function", "generator_function"})
_COPIES = frozenset({"Object.create", "Object.assign", "Object.freeze", "Object.setPrototypeOf"})
"""Functions that return their first argument, or something with its members."""


def expression(node: Node, source: bytes) -> str:
    """Return an expression as chains of names, calls and elements, with `|` between alternatives."""
    found = dict.fromkeys(each for each in _read(node, source, 0) if each != UNKNOWN)
    known = [each for each in found if each != LITERAL]
    return "|".join(known[:MAX_ALTERNATIVES]) or (LITERAL if found else UNKNOWN)


def _read(node: Node, source: bytes, depth: int) -> Iterator[str]:
    kind = node.type
    if kind in _NAMES:
        name = text_of(node, source)
        yield LITERAL if name == "undefined" else name
    elif kind in _LITERALS:
        yield LITERAL
    elif depth > MAX_DEPTH:
        yield UNKNOWN
    elif kind == "member_expression":
        property_ = node.child_by_field_name("property")
        name = text_of(property_, source) if property_ is not None else ""
        yield from _after(node, "object", f".{name}", source, depth)
    elif kind == "subscript_expression":
        yield from _after(node, "object", _element(node, source), source, depth)
    elif kind == "call_expression":
        yield from _call(node, source, depth)
    elif kind == "new_expression":
        yield from _after(node, "constructor", "()", source, depth)
    elif kind in _CASTS:
        yield from _cast(node, source, depth)
    else:
        for part in _parts(node, kind):
            yield from _read(part, source, depth + 1)


def _after(node: Node, role: str, step: str, source: bytes, depth: int) -> Iterator[str]:
    """Yield what a step leads to, from each of the values before it."""
    before = node.child_by_field_name(role)
    for each in _read(before, source, depth + 1) if before is not None else ():
        yield each if each in (UNKNOWN, LITERAL) else each + step


def _element(node: Node, source: bytes) -> str:
    index = node.child_by_field_name("index")
    name = text_of(index, source)[1:-1] if index is not None and index.type == "string" else ""
    return f".{name}" if name.isidentifier() else "[]"


def _call(node: Node, source: bytes, depth: int) -> Iterator[str]:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    is_short = function is not None and function.end_byte - function.start_byte < MAX_KNOWN_CHARS
    called = text_of(function, source) if function is not None and is_short else ""
    if called in ("require", "import") and given and given[0].type == "string":
        yield loaded_name(text_of(given[0], source)[1:-1])
    elif called in _COPIES and given:
        yield from _read(given[0], source, depth + 1)
    elif called.endswith(".bind") and function is not None:
        bound = function.child_by_field_name("object")
        yield from _read(bound, source, depth + 1) if bound is not None else ()
    else:
        yield from _after(node, "function", "()", source, depth)


def _cast(node: Node, source: bytes, depth: int) -> Iterator[str]:
    """Yield the type of a cast; without a name in it, the value that is cast."""
    children = node.named_children
    is_before = node.type == "type_assertion"
    value, type_ = (children[-1], children[0]) if is_before else (children[0], children[-1])
    text = text_of(type_, source)[1:-1] if is_before else text_of(type_, source)
    name = declared(text) if node.type != "satisfies_expression" and text != "const" else UNKNOWN
    if name == UNKNOWN:
        yield from _read(value, source, depth + 1) if text not in ("any", "unknown") else ()
    elif name.startswith(":"):
        yield from (f"<:{each}>" for each in name[1:].split("|"))
    else:
        yield name


def _parts(node: Node, kind: str) -> list[Node]:
    """Return the parts of an expression that its value may be."""
    if kind in _INNER:
        return node.named_children[:1]
    if kind == "sequence_expression":
        return node.named_children[-1:]
    roles: tuple[str, ...] = ()
    if kind == "ternary_expression":
        roles = ("consequence", "alternative")
    elif kind == "binary_expression":
        operator = node.child_by_field_name("operator")
        roles = _OPERANDS.get(operator.type if operator is not None else "", ())
    elif kind == "assignment_expression":  # what defines something stands for it: `a = b.C = class {…}`
        right = node.child_by_field_name("right")
        roles = ("left",) if right is not None and right.type in _DEFINING else ("right",)
    return [part for role in roles if (part := node.child_by_field_name(role)) is not None]
