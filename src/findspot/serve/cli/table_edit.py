"""Findspot's entry in a client's configuration: put in, replaced or taken out as a piece of the text.

All other text stays as it is. The result is read back and compared with the intended values; a file that
spells its tables otherwise than clients do is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from findspot.catalogue.server_sources import parse_config, value_at
from findspot.text.jsonc import MalformedError, Node, after_blank, parse

_CANNOT = "it is written in a way that cannot be changed safely"
_LISTED = "yaml list"
_EMPTY_VALUE = re.compile(r":\s*(?:\{\s*\}|\[\s*\])")

_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?")
"""A comment that follows on the same line: it belongs to what is before it."""
_INDENT = re.compile(r'^([ \t]+)["{\[]', re.MULTILINE)
_DEFAULT_INDENT = "  "


def put(text: str, kind: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Return the text with a table at the end of `keys` that holds the entry's members, and keeps others.

    Of the kind `yaml list`, the table is the item of a list that has the last of `keys` as its name.
    """
    known = value_at(parse_config(text, kind), keys)
    named = {"name": keys[-1]} if kind == _LISTED else {}
    wanted = (known if isinstance(known, dict) else named) | entry
    return text if known == wanted else _changed(text, kind, keys, wanted)


def take_out(text: str, kind: str, keys: tuple[str, ...]) -> str:
    """Return the text without the member at the end of `keys`."""
    known = value_at(parse_config(text, kind), keys)
    return text if known is None else _changed(text, kind, keys, None)


def _changed(text: str, kind: str, keys: tuple[str, ...], entry: dict[str, Any] | None) -> str:
    is_crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    plain = text.replace("\r\n", "\n") if is_crlf else text
    if kind == "json":
        changed = _json_taken_out(plain, keys) if entry is None else _json_put(plain, keys, entry)
    elif kind == "toml":
        changed = _toml_changed(plain, keys, entry)
    else:
        changed = _yaml_changed(plain, keys, entry, listed=kind == _LISTED)
    try:
        values = parse_config(changed, kind)
    except MalformedError:
        raise MalformedError(_CANNOT) from None
    others = _others(parse_config(text, kind), keys)
    if value_at(values, keys) != entry or _others(values, keys) != others:
        raise MalformedError(_CANNOT)
    return changed.replace("\n", "\r\n") if is_crlf else changed


def _others(values: Any, keys: Sequence[str]) -> Any:
    """Return values without what is at the end of `keys`, and without tables that hold nothing then."""
    first, *rest = keys
    if isinstance(values, list):
        return [each for each in values if not (isinstance(each, dict) and each.get("name") == first)] or None
    if not isinstance(values, dict):
        return values
    inner = {first: _others(values.get(first), rest)} if rest else {}
    return {name: each for name, each in (values | inner).items() if name != first or (rest and each)} or None


def _json_put(text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Return the text with the entry at the end of `keys`; a new one is the first member of its object.

    It may have comments and trailing commas.
    """
    node = parse(text)
    if node is None:
        comments = text.rstrip()
        return (comments + "\n" if comments else "") + _spelled(_nested(keys, entry), _DEFAULT_INDENT) + "\n"
    found = _INDENT.search(text)
    step = found[1] if found else _DEFAULT_INDENT
    for depth, key in enumerate(keys):
        _require_object(node, ".".join(keys[:depth]) or "the file")
        if key not in node.members:
            return _insert(text, node, key, _nested(keys[depth + 1 :], entry), step)
        node = node.members[key].node
    _require_object(node, ".".join(keys))
    spelled = _spelled(entry, step).replace("\n", "\n" + _indent_at(text, node.start))
    return text[: node.start] + spelled + text[node.end :]


def _nested(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _require_object(node: Node, where: str) -> None:
    if not isinstance(node.value, dict):
        raise MalformedError(f"{where} holds no object")


def _spelled(value: Any, indent: str) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _insert(text: str, node: Node, name: str, value: Any, step: str) -> str:
    at = node.start + 1
    outer = _indent_at(text, node.start)
    first = min((member.start for member in node.members.values()), default=at)
    inner = _indent_at(text, first) if "\n" in text[at:first] else outer + step
    if (remark := _REMARK.match(text, at)) and text[remark.end() : remark.end() + 1] in ("\r", "\n"):
        at = remark.end()
    rest = text[at:]
    if not rest.startswith(("\r", "\n")):
        rest = "\n" + (inner if node.members else outer) + rest.lstrip(" \t")
    spelled = _spelled(value, step).replace("\n", "\n" + inner)
    return f"{text[:at]}\n{inner}{json.dumps(name)}: {spelled}{',' if node.members else ''}{rest}"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _json_taken_out(text: str, keys: tuple[str, ...]) -> str:
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


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _last_content(lines: Sequence[str], start: int, end: int) -> int:
    """Return the end of a part of the lines without the comments at its end, which are about what follows."""
    while end > start and not _is_content(lines[end - 1]):
        end -= 1
    return end


def _toml_changed(text: str, keys: tuple[str, ...], entry: dict[str, Any] | None) -> str:
    """Return the text with the table of `keys`, and those below it, replaced by one table."""
    lines = _lines(text)
    members = (f"{name} = {_toml_value(value)}\n" for name, value in (entry or {}).items())
    written = "" if entry is None else f"[{'.'.join(keys)}]\n{''.join(members)}"
    found = _toml_tables(lines, keys)
    if found is None:
        return "".join(lines) + ("\n" if text.strip() else "") + written
    start, end = found
    if entry is None:
        end = next((number for number in range(end, len(lines)) if lines[number].strip()), len(lines))
        while end == len(lines) and start and not lines[start - 1].strip():
            start -= 1
    return "".join([*lines[:start], written, *lines[end:]])


def _toml_tables(lines: Sequence[str], keys: tuple[str, ...]) -> tuple[int, int] | None:
    """Return the lines of the table of `keys` and of those below it."""
    name = r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys)
    own = re.compile(rf"\s*\[\s*{name}\s*[.\]]")
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    mine = [number for number in headers if own.match(lines[number])]
    if not mine:
        return None
    end = next((number for number in headers if number > mine[0] and number not in mine), len(lines))
    return mine[0], _last_content(lines, mine[0], end)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_toml_value(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _yaml_changed(text: str, keys: tuple[str, ...], entry: dict[str, Any] | None, *, listed: bool) -> str:
    """Return the text with the lines of the member at the end of `keys` replaced, or with new ones."""
    lines = _lines(text)
    start, end, indent = 0, len(lines), ""
    for depth, key in enumerate(keys):
        is_item = listed and depth == len(keys) - 1
        members = _members(lines, start, end, is_item=is_item)
        indent = _indent(lines[members[0][0]]) if members else indent
        own = _own(key, is_item=is_item)
        found = next((part for part in members if own.search("".join(lines[slice(*part)]))), None)
        if found is None or depth == len(keys) - 1:
            break
        start, end = found[0] + 1, found[1]
        lines[found[0]] = _EMPTY_VALUE.sub(":", lines[found[0]], count=1)
        indent += "  "
    first, last = found or [_last_content(lines, start, end)] * 2
    written = _yaml_lines(keys[depth:], entry, indent, listed=listed) if entry is not None else []
    if not written and len(members) == 1 and depth:
        lines[start - 1] = lines[start - 1].replace(":", ": []" if listed else ": {}", 1)
    return "".join([*lines[:first], *written, *lines[last:]])


def _own(key: str, *, is_item: bool) -> re.Pattern[str]:
    """Return what the lines of a member begin with, or those of an item hold."""
    spelled = rf"[\"']?{re.escape(key)}[\"']?\s*"
    return re.compile(rf"[- ] *name: +{spelled}(#.*)?$" if is_item else rf"\A\s*{spelled}:", re.MULTILINE)


def _members(lines: Sequence[str], start: int, end: int, *, is_item: bool) -> list[tuple[int, int]]:
    """Return the lines of each member of a mapping or item of a list, without comments at their end."""
    content = [number for number in range(start, end) if _is_content(lines[number])]
    level = [number for number in content if _indent(lines[number]) == _indent(lines[content[0]])]
    begins = [number for number in level if lines[number].lstrip().startswith("-") == is_item]
    return [(a, _last_content(lines, a, b)) for a, b in pairwise([*begins, end])]


def _yaml_lines(keys: tuple[str, ...], entry: dict[str, Any], indent: str, *, listed: bool) -> list[str]:
    """Return the lines of an entry below keys that are missing; each value is written as JSON."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}" for name, value in entry.items()]
    lines = [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)] if listed else lines
    for key in reversed(keys[:-1] if listed else keys):
        lines = [f"{key}:", *(f"  {line}" for line in lines)]
    return [f"{indent}{line}\n" for line in lines]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
