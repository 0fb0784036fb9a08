"""What is special about the expressions and paths of Rust."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from findspot.chunk import expressions
from findspot.chunk.expressions import closing
from findspot.core.facts import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

_TRIED = re.compile(r"(?:\s*\?|\s*\.\s*await)+\Z")
_FIELD = re.compile(r"(?<=[A-Za-z_)\]])\.(\d+)(?!\w)")
"""A field without a name: `.0` is read as `._0`."""
_DEREFERENCED = re.compile(r"\(?\s*\*\s*\*")
"""What a reference to a reference refers to: not the type that `self` has in an implementation."""
_HELD = re.compile(
    r"(?:(?:\w+::)*(?:Box|Rc|Arc|Cell|RefCell|Mutex|RwLock|ManuallyDrop|Pin)(?:::<[^()]*>)?::(?:new|from|pin)"
    r"|Some|Ok)\s*\("
)
"""What holds its only argument, as the types that declarations see through."""
_TRANSPARENT = re.compile(
    r"\.(?:unwrap|expect|unwrap_or_default|clone|to_owned|borrow|borrow_mut|lock|as_ref|as_mut|as_deref"
    r"|as_deref_mut)\(\)"
)
"""Methods that give what their receiver holds or is."""


def expression(text: str) -> str:
    """Return a receiver or value in the notation of `core.facts`."""
    if text.isidentifier():
        return expressions.expression(text)
    text = text.strip()
    if len(text) > expressions.MAX_CHARS or _DEREFERENCED.match(text):
        return UNKNOWN
    text = _FIELD.sub(r"._\1", _TRIED.sub("", text))
    held = _HELD.match(text)
    if held is not None and closing(text, held.end() - 1) == len(text):
        return expression(text[held.end() : -1])
    return _TRANSPARENT.sub("", expressions.expression(text))


def tuple_fields(node: Node) -> list[tuple[str, Node]]:
    """Return the names that are given to the fields of a tuple, each with its type."""
    return [(f"_{place}", field) for place, field in enumerate(node.children_by_field_name("type"))]


def modules_around(node: Node) -> int:
    """Return how many modules of the same file are around a node."""
    around = node.parent
    count = 0
    while around is not None:
        count += around.type == "mod_item"
        around = around.parent
    return count


def seen_from_file(module: str, inside: int) -> str:
    """Return a path that starts with `super` as seen from the file, not from a module inside of it."""
    parts = module.removeprefix("::").split("::")
    above = next((place for place, part in enumerate(parts) if part != "super"), len(parts))
    left = parts[min(above, inside) :]
    return "::".join(left if above > inside or not above else ["self", *left])
