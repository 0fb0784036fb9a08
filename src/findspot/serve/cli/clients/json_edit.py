"""JSON with comments and trailing commas: a change replaces or inserts a few characters."""

from __future__ import annotations

import json
import re
from typing import Any

from findspot.text.jsonc import MalformedError, Member, Node, after_blank, parse

_REMARKS = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
"""Comments that follow on the same line: they belong to what is before them."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""A string or a comment: what looks like a comment in a string is none."""
_INDENT = re.compile(r'^([ \t]+)["{\[]', re.MULTILINE)
_DEFAULT_INDENT = "  "


def put(text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Return the text with an object at the end of `keys` that holds the entry's members.

    What is there already is kept: other members of the object, and values that are as they should be.
    """
    node = parse(text)
    if node is None:
        comments = text.rstrip()
        spelled = json.dumps(nested(keys, entry), indent=_DEFAULT_INDENT, ensure_ascii=False)
        return (comments + "\n" if comments else "") + spelled + "\n"
    for depth, key in enumerate(keys):
        _require_object(node, ".".join(keys[:depth]) or "the file")
        if key not in node.members:
            return _insert(text, node, key, nested(keys[depth + 1 :], entry))
        node = node.members[key].node
    _require_object(node, ".".join(keys))
    for name, value in entry.items():
        if name in node.members and node.value[name] == value:
            continue
        if name in node.members:
            old = node.members[name].node
            text = text[: old.start] + json.dumps(value, ensure_ascii=False) + text[old.end :]
        else:
            text = _insert(text, node, name, value)
        return put(text, keys, entry)  # places have moved: read it again for the next one
    return text


def nested(keys: tuple[str, ...], value: Any) -> Any:
    """Return a value below keys that are missing."""
    for key in reversed(keys):
        value = {key: value}
    return value


def _require_object(node: Node, where: str) -> None:
    if not isinstance(node.value, dict):
        raise MalformedError(f"{where} holds no object")


def _insert(text: str, node: Node, key: str, value: Any) -> str:
    """Return the text with a new last member, written like the others."""
    name = json.dumps(key, ensure_ascii=False) + ": "
    last = max((member.node.end for member in node.members.values()), default=None)
    if last is not None and "\n" not in text[node.start : last]:
        at = last if node.trailing_comma is None else node.trailing_comma
        return text[:at] + ", " + name + json.dumps(value, ensure_ascii=False) + text[at:]
    found, outer = _INDENT.search(text), _indent_at(text, node.start)
    step = found[1] if found else _DEFAULT_INDENT
    first = min((member.start for member in node.members.values()), default=None)
    inner = outer + step if first is None else _indent_at(text, first)
    line = (
        "\n" + inner + name + json.dumps(value, indent=step, ensure_ascii=False).replace("\n", "\n" + inner)
    )
    if last is None:
        return text[: node.end - 1].rstrip() + line + "\n" + outer + text[node.end - 1 :]
    if node.trailing_comma is not None:
        end = _after_remarks(text, node.trailing_comma + 1)
        return text[:end] + line + "," + text[end:]
    end = _after_remarks(text, last)
    return text[:last] + "," + text[last:end] + line + text[end:]


def _after_remarks(text: str, at: int) -> int:
    remarks = _REMARKS.match(text, at)
    return remarks.end() if remarks else at


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that a position is on."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def take_out(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without the member at the end of `keys`; every comment stays."""
    node = parse(text)
    assert node is not None
    for key in keys[:-1]:
        node = node.members[key].node
    return _without(text, node, node.members[keys[-1]])


def _without(text: str, node: Node, member: Member) -> str:
    """Return the text without a member and its comma."""
    comma = after_blank(text, member.node.end)
    is_last = text[comma : comma + 1] != ","
    end = member.node.end if is_last else comma + 1
    before = max((m.node.end for m in node.members.values() if m.node.end <= member.start), default=None)
    text = _cut(text, member.start, end)
    if not is_last or before is None:
        return text
    comma = after_blank(text, before)
    return text[:comma] + text[comma + 1 :] if text[comma : comma + 1] == "," else text


def _cut(text: str, start: int, end: int) -> str:
    """Remove a part of the text but keep its comments, each on its own line."""
    comments = [match[0] for match in _TOKEN.finditer(text[start:end]) if match[0][0] == "/"]
    head, tail = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    if not head.endswith("\n"):  # it shares its line
        return head + "".join(f" {comment}\n" for comment in comments) + tail
    indent = text[len(head) : start]
    comment_lines = "".join(f"{indent}{comment}\n" for comment in comments)
    if tail[:1] not in ("\n", ""):
        return head + comment_lines + indent + tail
    return head + comment_lines + tail.removeprefix("\n")
