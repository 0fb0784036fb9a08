"""JavaScript and TypeScript expressions, read from the syntax tree, in the notation of `core.facts`."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from findspot.chunk.expressions import declared, loaded_name
from findspot.chunk.symbols import text_of
from findspot.core.facts import (
    FUNCTION,
    GETTER,
    LITERAL,
    RETURNED,
    STATIC,
    UNKNOWN,
    split_outside,
)

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
    elif kind == "assignment_expression":  # the value is what is assigned: `a = b.C = class {…}`
        right = node.child_by_field_name("right")
        roles = ("left",) if right is not None and right.type in _DEFINING else ("right",)
    return [part for role in roles if (part := node.child_by_field_name(role)) is not None]


_PARAMETERS = frozenset({"required_parameter", "optional_parameter"})
_PRIMITIVES = frozenset(
    {":string", ":number", ":boolean", ":bigint", ":symbol", ":RegExp", ":Date", ":Error"}
)
_TRANSPARENT = frozenset({"parenthesized_expression", "ternary_expression", "binary_expression"})
_BOUND_METHODS = frozenset({"map", "forEach", "filter", "find", "some", "every", "flatMap", "then"})
"""Methods whose callback gets elements or a result, which the query says."""
MAX_PLACES = 12
"""From a function up to what says its type."""


def declared_type(node: Node, source: bytes) -> str:
    """Return a declared type; that of a function as `:{=…}`, with its parameters."""
    if "=>" not in text_of(node, source):
        return declared(text_of(node, source))
    if node.type in ("type_annotation", "parenthesized_type"):
        return declared_type(node.named_children[0], source)
    if node.type == "function_type":
        listed, result = node.child_by_field_name("parameters"), node.child_by_field_name("return_type")
        types = parameter_types(listed, source) if listed is not None else ""
        returned = declared_type(result, source) if result is not None else UNKNOWN
        returned = returned if returned.startswith(":") and returned not in _PRIMITIVES else UNKNOWN
        return f":{FUNCTION}{types};{returned}}}" if types or returned != UNKNOWN else UNKNOWN
    if node.type == "union_type":
        parts = [declared_type(child, source) for child in node.named_children]
        names = [part[1:] for part in parts if part.startswith(":")]
        return ":" + "|".join(names) if names else UNKNOWN
    return declared(text_of(node, source))


def parameter_types(listed: Node, source: bytes) -> str:
    """Return the declared types of parameters, as `PARAMETERS` has them; nothing where none is known."""
    types = []
    for each in listed.named_children:
        pattern = each.child_by_field_name("pattern")
        if each.type not in _PARAMETERS or pattern is None or pattern.type == "this":
            continue
        type_ = each.child_by_field_name("type")
        name = declared_type(type_, source) if type_ is not None else UNKNOWN
        name = name if name.startswith(":") and name not in _PRIMITIVES else UNKNOWN
        types.append(f"*{name}" if pattern.type == "rest_pattern" and name != UNKNOWN else name)
    return ",".join(types) if any(name != UNKNOWN for name in types) else ""


def untyped_parameters(function: Node, source: bytes) -> Iterator[tuple[Node, str]]:
    """Yield the names that parameters without a type bind, and what leads to each: `(>0)`, `(>0).name`."""
    single = function.child_by_field_name("parameter")
    listed = function.child_by_field_name("parameters")
    given = [single] if single is not None else listed.named_children if listed is not None else []
    for place, each in enumerate(given):
        pattern = each.child_by_field_name("pattern") if each.type in _PARAMETERS else each
        if pattern is None or each.child_by_field_name("type") is not None:
            continue
        if pattern.type == "identifier":
            yield pattern, f"(>{place})"
        for part in pattern.named_children if pattern.type == "object_pattern" else ():
            if part.type == "shorthand_property_identifier_pattern":
                yield part, f"(>{place}).{text_of(part, source)}"


def expected_types(node: Node, source: bytes, depth: int = 0) -> list[str]:
    """Return the expressions whose type a function or object must have where it stands."""
    around = node.parent
    if around is None or depth > MAX_PLACES:
        return []
    if around.type == "arguments":
        return _argument_type(node, around, source)
    if around.type in _TRANSPARENT:
        return expected_types(around, source, depth + 1)
    if around.type == "array":
        return [f"{each}[]" for each in expected_types(around, source, depth + 1)]
    if node.type == "method_definition":
        return _property_type(node.child_by_field_name("name"), around, source, depth)
    if around.type == "pair":
        return _property_type(around.child_by_field_name("key"), around.parent, source, depth)
    return _written_type(node, around, source)


def _property_type(key: Node | None, holder: Node | None, source: bytes, depth: int) -> list[str]:
    name = text_of(key, source) if key is not None else ""
    if holder is None or holder.type != "object" or not name.isidentifier():
        return []
    return [f"{each}.{name}" for each in expected_types(holder, source, depth + 1)]


def _argument_type(node: Node, arguments: Node, source: bytes) -> list[str]:
    call = arguments.parent
    role = "constructor" if call is not None and call.type == "new_expression" else "function"
    called = call.child_by_field_name(role) if call is not None else None
    chain = expression(called, source) if called is not None else UNKNOWN
    if chain in (UNKNOWN, LITERAL) or "|" in chain or chain.rpartition(".")[2] in _BOUND_METHODS:
        return []
    given = [each for each in arguments.named_children if not each.is_extra]
    return [f"{chain}(>{given.index(node)})"] if node in given else []


def _written_type(node: Node, around: Node, source: bytes) -> list[str]:
    """Return the type that stands beside a value: of a variable, a cast or what a function returns."""
    type_: Node | None = None
    if around.type == "assignment_expression":
        left = around.child_by_field_name("left")
        chain = expression(left, source) if left is not None else UNKNOWN
        return [chain] if chain not in (UNKNOWN, LITERAL) and "|" not in chain else []
    if around.type in ("variable_declarator", "public_field_definition", *_PARAMETERS):
        type_ = around.child_by_field_name("type")
    elif around.type in ("as_expression", "satisfies_expression"):
        type_ = around.named_children[-1]
    elif around.type in ("return_statement", "arrow_function"):
        function: Node | None = around
        while function is not None and function.child_by_field_name("parameters") is None:
            function = function.parent
        type_ = function.child_by_field_name("return_type") if function is not None else None
    name = declared_type(type_, source) if type_ is not None else UNKNOWN
    return [f"<:{each}>" for each in split_outside(name[1:], "|")] if name.startswith(":") else []
