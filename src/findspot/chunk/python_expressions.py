"""Tuples and iteration in Python, in the notation of `core.facts`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from findspot.chunk.expressions import declared, expression, split
from findspot.chunk.symbols import text_of
from findspot.core.facts import LITERAL, UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

_TUPLE = re.compile(r"(?:\w+\.)?[Tt]uple\[(.*)\]\Z", re.DOTALL)


def parts(node: Node, source: bytes) -> list[str]:
    """Return the parts of a tuple that is returned, or of a type of tuples; none of anything else."""
    if node.type in ("expression_list", "tuple"):
        return [expression(text_of(child, source)) for child in node.named_children]
    if node.type != "type" or (types := _TUPLE.match(text_of(node, source))) is None:
        return []
    names = split(types[1], ",")
    return [declared(name) for name in names] if "..." not in types[1] else []


def iterated(node: Node, source: bytes) -> Iterator[str]:
    """Yield what the variables of a loop are, where a function or method gives several at a time."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call" or function is None or arguments is None:
        return
    name, given = text_of(function, source), arguments.named_children
    if name == "zip":
        yield from (_element(text_of(each, source)) for each in given)
    elif name == "enumerate" and given:
        yield from (UNKNOWN, _element(text_of(given[0], source)))
    elif name.endswith(".items") and not given:
        yield from (UNKNOWN, _element(name.removesuffix(".items")))


def _element(text: str) -> str:
    value = expression(text)
    return f"{value}[]" if value not in (UNKNOWN, LITERAL) and "|" not in value else UNKNOWN
