"""JSON with comments and trailing commas, read into a tree that knows the position of each member."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_MAX_DEPTH = 200
"""Deeper than any configuration, and well within what Python can follow."""


class MalformedError(ValueError):
    """A text that cannot be read, with the line where it goes wrong."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.line = line
        super().__init__(f"line {line}: {reason}" if line else reason)


@dataclass(slots=True)
class Node:
    """A value and its position; an object also knows its members."""

    start: int
    end: int
    value: Any
    members: dict[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: where its name begins, and its value."""

    start: int
    node: Node


def parse(text: str) -> Node | None:
    """Return the value of a text; None if there is nothing but space and comments."""
    start = after_blank(text, 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    rest = after_blank(text, node.end)
    if rest != len(text):
        raise MalformedError("something follows after the end", line_of(text, rest))
    return node


def after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    end = found.end() if found else at
    if text.startswith("/*", end):
        raise MalformedError("a comment is not closed", line_of(text, end))
    return end


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise MalformedError("nested too deep", line_of(text, at))
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        shown = f"there is no valid value at `{text[at]}`" if at < len(text) else "it ends too early"
        raise MalformedError(shown, line_of(text, at))
    return Node(at, found.end(), _scalar(found[0], text, at))


def _scalar(spelled: str, text: str, at: int) -> Any:
    try:
        return json.loads(spelled)
    except ValueError:
        raise MalformedError(f"`{spelled[:40]}` is no value", line_of(text, at)) from None


def _object(text: str, at: int, depth: int) -> Node:
    node = Node(at, at, {})
    position = after_blank(text, at + 1)
    while text[position : position + 1] != "}":
        name = _STRING.match(text, position)
        if not name:
            raise MalformedError("a name in quotes or a `}` is missing", line_of(text, position))
        colon = after_blank(text, name.end())
        if text[colon : colon + 1] != ":":
            raise MalformedError("a `:` is missing", line_of(text, colon))
        inner = _value(text, after_blank(text, colon + 1), depth + 1)
        key = _scalar(name[0], text, position)
        node.members[key] = Member(position, inner)
        node.value[key] = inner.value
        position = _separator(text, inner.end, "}")
    node.end = position + 1
    return node


def _array(text: str, at: int, depth: int) -> Node:
    node = Node(at, at, [])
    position = after_blank(text, at + 1)
    while text[position : position + 1] != "]":
        inner = _value(text, position, depth + 1)
        node.value.append(inner.value)
        position = _separator(text, inner.end, "]")
    node.end = position + 1
    return node


def _separator(text: str, at: int, closing: str) -> int:
    """Return the position of what follows an element and its comma."""
    comma = after_blank(text, at)
    if text[comma : comma + 1] == ",":
        return after_blank(text, comma + 1)
    if text[comma : comma + 1] != closing:
        raise MalformedError(f"a `,` or a `{closing}` is missing", line_of(text, comma))
    return comma


def line_of(text: str, at: int) -> int:
    """Return the number of the line that a position is on."""
    return text.count("\n", 0, at) + 1
