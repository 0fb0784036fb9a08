"""YAML changed where it must be and nowhere else: lines are inserted or removed, the others stay.

The servers are a mapping by name, or a list of mappings that each have a `name`. The result is read back
and compared with the intended values; a file that cannot be changed safely is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml  # type: ignore[import-untyped]

from findspot.catalogue.client_configs import parse_yaml, value_at
from findspot.text.jsonc import MalformedError

_CANNOT = "it is written in a way that cannot be changed safely"
_STEP = "  "
_NAME = "name"


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of a mapping, or one item of a list: where it starts and ends, and its value."""

    start: int
    named: int
    """Where its name ends."""
    end: int
    value: yaml.Node


def put(text: str, keys: tuple[str, ...], entry: dict[str, Any], newline: str) -> str:
    """Return the text with a mapping at the end of `keys` that holds the entry's members."""
    return _put(text, keys, entry, newline, listed=False)


def put_listed(text: str, keys: tuple[str, ...], entry: dict[str, Any], newline: str) -> str:
    """Return the text with the entry in a list, as the item that has the last of `keys` as its name."""
    return _put(text, keys, {_NAME: keys[-1]} | entry, newline, listed=True)


def _put(text: str, keys: tuple[str, ...], entry: dict[str, Any], newline: str, *, listed: bool) -> str:
    values = parse_yaml(text)
    wanted = _merged(values, keys, entry, listed=listed)
    node, parents = _compose(text), keys
    while parents and node is not None:
        inner = _members(text, node).get(parents[0])
        if inner is None:
            break
        node, parents = inner.value, parents[1:]
    if parents:
        missing = _nested(parents[1:], entry, listed=listed and len(parents) > 1)
        is_item = listed and len(parents) == 1
        changed = _inserted(text, node, parents[0], missing, newline, is_item=is_item)
    else:
        changed = _updated(text, keys, value_at(values, keys), entry, newline)
    _confirm(changed, wanted)
    return changed


def take_out(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without the member at the end of `keys`; every comment stays."""
    values = parse_yaml(text)
    if value_at(values, keys) is None:
        return text
    node = _compose(text)
    for key in keys[:-1]:
        member = _members(text, node).get(key)
        if member is None:  # it comes from an alias
            raise MalformedError(_CANNOT)
        node = member.value
    members = _members(text, node)
    if node is None or keys[-1] not in members:
        raise MalformedError(_CANNOT)
    changed = _without(text, node, members[keys[-1]], is_only=len(members) == 1)
    _confirm(changed, _value_without(values, keys))
    return changed


def _compose(text: str) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _members(text: str, node: yaml.Node | None) -> dict[str, _Member]:
    """Return the members of a mapping, or the named items of a list."""
    if isinstance(node, yaml.MappingNode):
        pairs = node.value
        return {str(k.value): _Member(k.start_mark.index, k.end_mark.index, _end(v, k), v) for k, v in pairs}
    if isinstance(node, yaml.SequenceNode):
        return dict(_items(text, node))
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return {}
    raise MalformedError(_CANNOT)


def _items(text: str, node: yaml.SequenceNode) -> Iterator[tuple[str, _Member]]:
    for item in node.value:
        name = _members(text, item).get(_NAME) if isinstance(item, yaml.MappingNode) else None
        start = item.start_mark.index
        if not node.flow_style:
            start = text.rfind("-", 0, start)
        yield str(name.value.value) if name else f"\0{start}", _Member(start, start, _end(item), item)


def _end(node: yaml.Node, key: yaml.Node | None = None) -> int:
    """Return where a value ends; the parser's own mark of a block is after the comments that follow it."""
    if key is not None and node.start_mark.index < key.end_mark.index:  # an alias, defined before
        return int(key.end_mark.index)
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1], last[0]) if isinstance(node, yaml.MappingNode) else _end(last)


def _line_end(text: str, at: int) -> int:
    """Return the start of the line after a position."""
    if at and text[at - 1] == "\n":  # after a block of text
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _inserted(
    text: str, node: yaml.Node | None, key: str, value: Any, newline: str, *, is_item: bool = False
) -> str:
    """Return the text with a new last member."""
    block = [value] if is_item else {key: value}
    if node is None:
        return _with_block(text, len(text), "", block, newline)
    members = _members(text, node)
    is_flow = bool(getattr(node, "flow_style", False))
    if not members and not is_flow:  # a key without a value
        at, indent = _line_end(text, node.end_mark.index), _indent(text, node.end_mark.index) + _STEP
        return _with_block(text, at, indent, block, newline)
    if is_flow:
        close = node.end_mark.index - 1
        spelled = _flow(value) if is_item else f"{json.dumps(key)}: {_flow(value)}"
        inner = text[node.start_mark.index + 1 : close].rstrip()
        gap = "" if not inner else " " if inner.endswith(",") else ", "
        return text[:close].rstrip() + gap + spelled + text[close:]
    at = _line_end(text, max(member.end for member in members.values()))
    first = min(member.start for member in members.values())
    indent = " " * (first - _line_start(text, first))
    return _with_block(text, at, indent, block, newline)


def _with_block(text: str, at: int, indent: str, value: Any, newline: str) -> str:
    """Return the text with the lines of a value at the start of a line."""
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=math.inf)
    lines = "".join(indent + line + newline for line in dumped.splitlines())
    gap = newline if at and text[at - 1] != "\n" else ""
    return text[:at] + gap + lines + text[at:]


def _updated(text: str, keys: tuple[str, ...], current: Any, entry: dict[str, Any], newline: str) -> str:
    """Return the text with those members of an entry replaced that differ."""
    if not isinstance(current, dict):
        raise MalformedError(_CANNOT)
    for name, value in entry.items():
        if name in current and current[name] == value:
            continue
        node = _compose(text)
        for key in keys:
            node = _members(text, node)[key].value
        member = _members(text, node).get(name)
        if member is None:
            text = _inserted(text, node, name, value, newline)
        else:
            text = _replaced(text, member, value, newline)
    return text


def _replaced(text: str, member: _Member, value: Any, newline: str) -> str:
    """Return the text with another value of a member, on the line of its name; comments go above."""
    line, colon = _line_start(text, member.start), text.index(":", member.named) + 1
    indent = _indent(text, member.start)
    comments = "".join(indent + comment + newline for comment in _comments(text, colon, member.end))
    return text[:line] + comments + text[line:colon] + " " + _flow(value) + text[member.end :]


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without(text: str, node: yaml.Node, member: _Member, *, is_only: bool) -> str:
    if node.flow_style:
        after = text[member.end :].lstrip()
        if after.startswith(","):
            return text[: member.start] + after[1:].lstrip(" ")
        return text[: member.start].rstrip().removesuffix(",") + text[member.end :]
    start, end = _line_start(text, member.start), _line_end(text, member.end)
    indent = _indent(text, member.start)
    newline = "\r\n" if "\r\n" in text else "\n"
    comments = "".join(indent + comment + newline for comment in _comments(text, start, end))
    changed = text[:start] + comments + text[end:]
    if is_only and node.start_mark.index and (colon := text.rfind(":", 0, start)) >= 0:
        empty = " []" if isinstance(node, yaml.SequenceNode) else " {}"
        return changed[: colon + 1] + empty + changed[colon + 1 :]
    return changed


def _indent(text: str, at: int) -> str:
    line = text[_line_start(text, at) :]
    return line[: len(line) - len(line.lstrip(" "))]


def _comments(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the comments of some lines: a `#` after a space that is not in a text."""
    tokens = yaml.scan(text, Loader=yaml.SafeLoader)
    spans = [(t.start_mark.index, t.end_mark.index) for t in tokens if isinstance(t, yaml.ScalarToken)]
    at = start
    while (at := text.find("#", at, end)) >= 0:
        is_comment = at == 0 or text[at - 1] in " \t\n"
        if is_comment and not any(first <= at < last for first, last in spans):
            line_end = text.find("\n", at, end)
            line_end = end if line_end < 0 else line_end
            yield text[at:line_end].rstrip()
            at = line_end
        else:
            at += 1


def _nested(keys: tuple[str, ...], entry: Any, *, listed: bool) -> Any:
    """Return the entry below keys that are missing."""
    for position, key in enumerate(reversed(keys)):
        entry = [entry] if listed and position == 0 else {key: entry}
    return entry


def _merged(values: Any, keys: tuple[str, ...], entry: dict[str, Any], *, listed: bool) -> Any:
    values = values or ([] if listed and len(keys) == 1 else {})
    if isinstance(values, list) and listed and len(keys) == 1:
        current = value_at(values, keys)
        return [item | entry if item is current else item for item in values] + [entry] * (current is None)
    if not isinstance(values, dict):
        raise MalformedError(_CANNOT)
    if not keys:
        return values | entry
    return values | {keys[0]: _merged(values.get(keys[0]), keys[1:], entry, listed=listed)}


def _value_without(values: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(values, list):
        removed = value_at(values, keys[:1])
        return [item for item in values if item is not removed]
    inner = {keys[0]: _value_without(values[keys[0]], keys[1:])} if keys[1:] else {}
    return {name: other for name, other in values.items() if name != keys[0]} | inner


def _confirm(text: str, wanted: Any) -> None:
    try:
        same = (parse_yaml(text) or {}) == (wanted or {})
    except MalformedError:
        same = False
    if not same:
        raise MalformedError(_CANNOT)
