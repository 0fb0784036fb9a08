"""TOML changed where it must be and nowhere else: a table is appended, or the lines of a key replaced.

The result is read back and compared with the intended values; a file written in a way that this cannot
change safely (the servers as one inline table, say) is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from findspot.catalogue.client_configs import parse_toml
from findspot.serve.cli.clients.json_edit import merged
from findspot.text.jsonc import MalformedError

_HEADER = re.compile(r"^[ \t]*\[")
_ANY_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''" + r'|"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
"""A string or a comment: what looks like a comment in a string is none."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CANNOT = "it is written in a way that cannot be changed safely"


def put(text: str, keys: tuple[str, ...], entry: dict[str, Any], newline: str) -> str:
    """Return the text with a table named by `keys` that holds the entry; everything else is kept."""
    values = parse_toml(text)
    table = _at(values, keys)
    if table is None:
        changed = _appended(text, keys, entry, newline)
    else:
        changed = text
        for name, value in entry.items():
            if table.get(name) != value:
                changed = _replaced(changed, keys, name, value, newline)
    _confirm(changed, merged(values, keys, entry))
    return changed


def take_out(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without that table and those below it; every comment stays, on a line of its own."""
    values = parse_toml(text)
    if _at(values, keys) is None:
        return text
    lines, prefix = _lines(text), _parts(keys)
    remaining: list[str] = []
    inside = False
    at = 0
    while at < len(lines):
        statement = lines[at : at + _length(lines, at)]
        if _HEADER.match(statement[0]):
            inside = _header(statement[0])[: len(prefix)] == prefix
            if inside and remaining and not remaining[-1].strip():
                remaining.pop()  # the blank line before the table
        at += len(statement)
        if inside:
            own_line = _is_blank(statement[0]) and (remaining or statement[0].strip())
            statement = statement if own_line else _comments(statement)
        remaining += statement
    left, wanted = "".join(remaining), _without(values, keys)
    if any(_header(line) == prefix[:-1] for line in remaining):  # the servers' own header, which is not ours
        wanted = merged(wanted, keys[:-1], {})
    _confirm(left, wanted)
    return left


def _lines(text: str) -> list[str]:
    """Return the lines of a TOML text: only a newline ends one."""
    return _ANY_LINE.findall(text)


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _comments(statement: list[str]) -> list[str]:
    """Return the comments of a statement as lines."""
    newline = "\r\n" if statement[0].endswith("\r\n") else "\n"
    tokens = [match[0] for match in _TOKEN.finditer("".join(statement))]
    return [token.rstrip("\r") + newline for token in tokens if token.startswith("#")]


def _at(values: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
    value: Any = values
    for key in keys:
        if not isinstance(value, dict):
            raise MalformedError(_CANNOT)
        value = value.get(key)
        if value is None:
            return None
    if not isinstance(value, dict):
        raise MalformedError(_CANNOT)
    return value


def _without(values: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the values without those at the end of `keys`, nor a table that held nothing else."""
    key, rest = keys[0], keys[1:]
    inner = _without(values[key], rest) if rest else {}
    others = {name: value for name, value in values.items() if name != key}
    return others | ({key: inner} if inner else {})


def _confirm(text: str, wanted: dict[str, Any]) -> None:
    try:
        same = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise MalformedError(_CANNOT)


def _appended(text: str, keys: tuple[str, ...], entry: dict[str, Any], newline: str) -> str:
    lines = [f"[{'.'.join(_parts(keys))}]"]
    lines += [f"{_parts((name,))[0]} = {_spelled(value)}" for name, value in entry.items()]
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + (newline if text.strip() else "") + "".join(line + newline for line in lines)


def _replaced(text: str, keys: tuple[str, ...], name: str, value: Any, newline: str) -> str:
    """Return the text with one key of a table replaced."""
    lines = _lines(text)
    start = next((n for n, line in enumerate(lines) if _header(line) == _parts(keys)), None)
    if start is None:
        raise MalformedError(_CANNOT)
    new = f"{name} = {_spelled(value)}{newline}"
    at = start + 1
    while at < len(lines) and not _HEADER.match(lines[at]):
        length = _length(lines, at)
        if re.match(rf'[ \t]*"?{re.escape(name)}"?[ \t]*=', lines[at]):
            return "".join([*lines[:at], new, *lines[at + length :]])
        at += length
    head = lines[start] if lines[start].endswith("\n") else lines[start] + newline
    return "".join([*lines[:start], head, new, *lines[start + 1 :]])


def _length(lines: list[str], at: int) -> int:
    """Return how many lines the statement at a line takes."""
    for end in range(at + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[at:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end - at
    return 1


def _header(line: str) -> tuple[str, ...]:
    """Return the parts of the table name in a header line; empty for any other line."""
    if not _HEADER.match(line) or line.lstrip().startswith("[["):
        return ()
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while inner:
        ((name, inner),) = inner.items()
        names.append(name)
    return _parts(tuple(names))


def _parts(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key if _BARE.fullmatch(key) else json.dumps(key) for key in keys)


def _spelled(value: Any) -> str:
    """Return a value as TOML; a literal string where it holds backslashes, as paths on Windows do."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_parts((key,))[0]} = {_spelled(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    text = str(value)
    if "\\" in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)
