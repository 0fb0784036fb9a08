"""JSON with comments and trailing commas: an entry is put in, replaced or taken out as a piece of text."""

from __future__ import annotations

import json
import re
from typing import Any

from findspot.text.jsonc import MalformedError, Node, after_blank, parse

_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?")
"""A comment that follows on the same line: it belongs to what is before it."""
_INDENT = re.compile(r'^([ \t]+)["{\[]', re.MULTILINE)
_DEFAULT_INDENT = "  "


def put(text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Return the text with the entry at the end of `keys`; a new one is the first member of its object."""
    node = parse(text)
    if node is None:
        comments = text.rstrip()
        return (comments + "\n" if comments else "") + _spelled(nested(keys, entry), _DEFAULT_INDENT) + "\n"
    found = _INDENT.search(text)
    step = found[1] if found else _DEFAULT_INDENT
    for depth, key in enumerate(keys):
        _require_object(node, ".".join(keys[:depth]) or "the file")
        if key not in node.members:
            return _insert(
                text, node, json.dumps(key, ensure_ascii=False), nested(keys[depth + 1 :], entry), step
            )
        node = node.members[key].node
    _require_object(node, ".".join(keys))
    is_flat = "\n" not in text[node.start : node.end] and bool(node.members)
    spelled = _spelled(entry, None if is_flat else step).replace("\n", "\n" + _indent_at(text, node.start))
    return text[: node.start] + spelled + text[node.end :]


def nested(keys: tuple[str, ...], value: Any) -> Any:
    """Return a value below keys that are missing."""
    for key in reversed(keys):
        value = {key: value}
    return value


def _require_object(node: Node, where: str) -> None:
    if not isinstance(node.value, dict):
        raise MalformedError(f"{where} holds no object")


def _spelled(value: Any, indent: str | None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _insert(text: str, node: Node, name: str, value: Any, step: str) -> str:
    """Return the text with a new first member, written like the others."""
    at = node.start + 1
    if node.members and "\n" not in text[node.start : node.end]:
        return f"{text[:at]}{name}: {_spelled(value, None)}, {text[at:].lstrip(' ')}"
    outer = _indent_at(text, node.start)
    first = min((member.start for member in node.members.values()), default=None)
    inner = outer + step if first is None else _indent_at(text, first)
    if (remark := _REMARK.match(text, at)) and text[remark.end() : remark.end() + 1] in ("\r", "\n"):
        at = remark.end()
    rest = text[at:]
    if not rest.startswith(("\r", "\n")):
        rest = "\n" + (inner if node.members else outer) + rest.lstrip(" \t")
    spelled = _spelled(value, step).replace("\n", "\n" + inner)
    return f"{text[:at]}\n{inner}{name}: {spelled}{',' if node.members else ''}{rest}"


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that a position is on."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def take_out(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without the member at the end of `keys` and its comma; comments around it stay."""
    node = parse(text)
    assert node is not None
    for key in keys[:-1]:
        node = node.members[key].node
    member = node.members[keys[-1]]
    start, end = member.start, member.node.end
    comma = after_blank(text, end)
    before = max((other.node.end for other in node.members.values() if other.node.end <= start), default=None)
    if text[comma] == ",":
        text = text[:comma] + text[comma + 1 :]
    elif before is not None:  # it was the last one: the comma before it goes
        comma = after_blank(text, before)
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    head, tail = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    if not head.endswith("\n"):
        return head + tail
    return head + (tail[1:] if tail.startswith("\n") else text[len(head) : start] + tail)
