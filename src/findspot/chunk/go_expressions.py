"""Go expressions and types, read from the syntax tree, in the notation of `core.facts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Node

from findspot.chunk.symbols import text_of
from findspot.core.facts import LITERAL, RETURNED, SIGNATURE, UNKNOWN

MAX_DEPTH = 40
"""Of expressions in expressions; longer chains are left unknown."""

_CONTAINERS = {
    "slice_type": "element",
    "array_type": "element",
    "implicit_length_array_type": "element",
    "map_type": "value",
    "channel_type": "value",
    "variadic_parameter_declaration": "type",
}
"""Types that hold others, and the field of the syntax tree that says which."""
_WRAPPERS = frozenset({"pointer_type", "parenthesized_type", "type_elem", "type_constraint", "negated_type"})
_VERSION = re.compile(r"[/.]v\d+\Z")
_BUILT_IN = re.compile(
    r"(?:any|bool|byte|comparable|error|rune|string|float\d+|complex\d+|u?int\d*|uintptr)\Z"
)
_OF_FS = frozenset({"FileInfo", "FileMode", "DirEntry", "PathError"})
"""Types that `os` only has other names for."""
_TYPED = frozenset({"composite_literal", "type_assertion_expression", "type_conversion_expression"})
_COUNTS = frozenset({"len", "cap", "copy"})


def declared(node: Node, source: bytes) -> str:
    """Return a type as `:Name`, `:[]Name` for a container, `:()Name` for a function that returns it."""
    name = _type(node, source)
    return f":{name}" if name else UNKNOWN


def _type(node: Node, source: bytes) -> str:
    kind = node.type
    if kind in ("type_identifier", "qualified_type", "identifier"):
        return text_of(node, source)
    if kind == "generic_type":
        base = node.child_by_field_name("type")
        name = _type(base, source) if base is not None else ""
        return _iterated(name, node, source) if name in ("iter.Seq", "iter.Seq2") else name
    if kind in _WRAPPERS:
        inner = node.named_children
        return _type(inner[0], source) if len(inner) == 1 else ""
    if kind in _CONTAINERS:
        element = node.child_by_field_name(_CONTAINERS[kind])
        inside = _type(element, source) if element is not None else ""
        return f"[]{inside}" if inside else ""
    if kind == "function_type":
        first = next(results(node, source), UNKNOWN)
        return f"(){first[1:]}" if first != UNKNOWN else ""
    return mark_of(node) if kind == "struct_type" else ""


def _iterated(name: str, node: Node, source: bytes) -> str:
    """Return what an iterator of the standard library gives: the last of its type arguments."""
    arguments = node.child_by_field_name("type_arguments")
    inside = _type(arguments.named_children[-1], source) if arguments is not None else ""
    return f"[]{inside}" if inside else name


def mark_of(struct: Node) -> str:
    """Return a name for a struct that has none: where it is written."""
    row, column = struct.start_point
    return f"{{{row + 1}:{column}}}"


def results(function: Node, source: bytes) -> Iterator[str]:
    """Yield the declared types of what a function returns, in order."""
    result = function.child_by_field_name("result")
    if result is None:
        return
    if result.type != "parameter_list":
        yield declared(result, source)
        return
    for parameter in result.named_children:
        kind = parameter.child_by_field_name("type")
        if kind is not None:
            names = parameter.children_by_field_name("name")
            yield from [declared(kind, source)] * max(1, len(names))


class Packages(NamedTuple):
    """How types are qualified in a file: the package of those without a qualifier, and imports by name.

    It is `?` where another package's types may stand without a qualifier.
    """

    own: str
    imported: dict[str, str]


def declarations(function: Node, source: bytes, packages: Packages) -> Iterator[tuple[str, str]]:
    """Yield under which names what a function returns is bound; of a method also what interfaces compare."""
    for place, value in enumerate(results(function, source)):
        if value != UNKNOWN:
            yield f"({place + 1})" if place else RETURNED, value
    if function.type != "function_declaration":
        yield SIGNATURE, _signature(function, source, packages)


def _signature(function: Node, source: bytes, packages: Packages) -> str:
    """Return the types of parameters and results, without names: what interfaces compare."""
    lists = [function.child_by_field_name(name) for name in ("parameters", "result")]
    return ";".join(",".join(_types(part, source, packages)) if part is not None else "" for part in lists)


def _types(part: Node, source: bytes, packages: Packages) -> Iterator[str]:
    if part.type != "parameter_list":
        yield _plain(part, source, packages)
        return
    for parameter in part.named_children:
        kind = parameter.child_by_field_name("type")
        if kind is not None:
            rest = "..." if parameter.type.startswith("variadic") else ""
            names = parameter.children_by_field_name("name")
            yield from [rest + _plain(kind, source, packages)] * max(1, len(names))


def _plain(node: Node, source: bytes, packages: Packages) -> str:
    """Return a type as text that is the same in every file of a project, as far as syntax tells."""
    if node.type == "qualified_type":
        package, name = (text_of(child, source) for child in node.named_children[:2])
        module = packages.imported.get(package, package)
        package = _VERSION.sub("", module).rpartition("/")[2]
        return f"fs.{name}" if package == "os" and name in _OF_FS else f"{package}.{name}"
    if node.type == "type_identifier":
        name = text_of(node, source)
        return name if _BUILT_IN.match(name) else f"{packages.own}.{name}"
    if node.type == "function_type":
        return f"func({_signature(node, source, packages)})"
    if node.type == "interface_type" and not node.named_children:
        return "any"
    if not node.named_children:
        return text_of(node, source)
    names = ",".join(_plain(child, source, packages) for child in node.named_children)
    return f"{node.type.removesuffix('_type')}<{names}>"


def expression(node: Node, source: bytes, depth: int = 0) -> str:
    """Return an expression as a chain of names, calls and elements; `?` where it is something else."""
    chain = _chain(node, source, depth)
    return chain[1:-1] if chain[:1] == "<" and chain[-1:] == ">" and chain.count("<") == 1 else chain


def _chain(node: Node, source: bytes, depth: int) -> str:
    kind = node.type
    if kind in ("identifier", "package_identifier"):
        return text_of(node, source)
    if depth > MAX_DEPTH:
        return UNKNOWN
    if kind in _READERS:
        return _READERS[kind](node, source, depth)
    if kind in _TYPED:
        return _typed(node.child_by_field_name("type"), source)
    return LITERAL if kind.endswith("_literal") or kind in ("nil", "true", "false", "iota") else UNKNOWN


def _inner(node: Node, source: bytes, depth: int) -> str:
    return _chain(node.named_children[0], source, depth + 1)


def _element(node: Node, source: bytes, depth: int) -> str:
    return _then(node.child_by_field_name("operand"), "[]", source, depth)


def _instantiated(node: Node, source: bytes, _depth: int) -> str:
    """Return a generic function or type that is written with its arguments."""
    base = node.child_by_field_name("type")
    return text_of(base, source) if base is not None else UNKNOWN


def _function(node: Node, source: bytes, _depth: int) -> str:
    first = next(results(node, source), UNKNOWN)
    return f"<:(){first[1:]}>" if first != UNKNOWN else UNKNOWN


def _member(node: Node, source: bytes, depth: int) -> str:
    field = node.child_by_field_name("field")
    return _then(
        node.child_by_field_name("operand"), f".{text_of(field, source)}" if field else "", source, depth
    )


def _then(node: Node | None, step: str, source: bytes, depth: int) -> str:
    start = _chain(node, source, depth + 1) if node is not None else UNKNOWN
    return start if start in (UNKNOWN, LITERAL) else start + step


def _typed(node: Node | None, source: bytes) -> str:
    """Return a value of a type that is written out; a generic function is called the same way."""
    if node is None:
        return UNKNOWN
    if node.type == "generic_type":
        return f"{_type(node, source)}()"
    name = _type(node, source)
    return f"<:{name}>" if name else LITERAL


def _call(node: Node, source: bytes, depth: int) -> str:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return UNKNOWN
    if function.type == "identifier" and arguments.named_children:
        name, first = text_of(function, source), arguments.named_children[0]
        if name in ("new", "make"):
            return _typed(first, source)
        if name in ("append", "min", "max"):
            return _chain(first, source, depth + 1)
        if name in _COUNTS:
            return LITERAL
    inner = function.named_children[0] if function.type == "parenthesized_expression" else None
    if inner is not None and inner.type == "unary_expression" and inner.children[0].type == "*":
        converted = inner.child_by_field_name("operand")  # `(*T)(x)`
        if converted is not None:
            return _chain(converted, source, depth + 1) + "()"
    return _then(function, "()", source, depth)


def _unary(node: Node, source: bytes, depth: int) -> str:
    operator = node.children[0].type
    if operator not in ("&", "*", "<-"):
        return LITERAL
    return _then(node.child_by_field_name("operand"), "[]" if operator == "<-" else "", source, depth)


_READERS: dict[str, Callable[[Node, bytes, int], str]] = {
    "parenthesized_expression": _inner,
    "slice_expression": _inner,
    "selector_expression": _member,
    "call_expression": _call,
    "index_expression": _element,
    "unary_expression": _unary,
    "type_instantiation_expression": _instantiated,
    "func_literal": _function,
}
"""How expressions are read, by the types of their nodes."""
