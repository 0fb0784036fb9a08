"""The tables of clients' configurations, changed where they must be and nowhere else.

Of YAML and TOML, a library changes the values and writes the whole file. Only lines that differ are copied
from that, so that all others stay as the user wrote them, and comments on lines that go are kept. JSON is
changed in place. The result is read back and compared with the intended values; a file that cannot be changed
safely is refused.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

import tomlkit
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import ScalarToken
from tomlkit.exceptions import TOMLKitError

from findspot.catalogue.client_configs import named, parse_config, parse_yaml, value_at
from findspot.serve.cli.clients import json_edit
from findspot.text.jsonc import MalformedError

_CANNOT = "it is written in a way that cannot be changed safely"
_JSON = "json"
_LISTED = "yaml list"
_TOML_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''" + r'|"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
"""A string or a comment: what looks like a comment in a string is none."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_YAML_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_MEMBER = re.compile(r"^[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n(?:\s*#[^\n]*\n)*( +)[^\s#-]", re.MULTILINE)
_ITEM = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n(?:\s*#[^\n]*\n)*( *)-", re.MULTILINE)


def put(text: str, kind: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Return the text with a table at the end of `keys` that holds the entry's members.

    Of the kind `yaml list`, the table is the item of a list that has the last of `keys` as its name.
    """
    if kind == _LISTED:
        entry = {"name": keys[-1]} | entry

    def edit(values: Any) -> None:
        _put(values, keys, entry, listed=kind == _LISTED)

    if kind == _JSON:
        return _confirmed(text, kind, edit, lambda plain: json_edit.put(plain, keys, entry))
    if kind == "toml" and value_at(parse_config(text, kind), keys) is None:
        return _confirmed(text, kind, edit, lambda plain: _appended(plain, keys, entry))
    return _confirmed(text, kind, edit, lambda plain: _edited(plain, kind, edit))


def take_out(text: str, kind: str, keys: tuple[str, ...]) -> str:
    """Return the text without the member at the end of `keys`; every comment stays."""
    if value_at(parse_config(text, kind), keys) is None:
        return text

    def edit(values: Any) -> None:
        _take_out(values, keys)

    if kind == _JSON:
        return _confirmed(text, kind, edit, lambda plain: json_edit.take_out(plain, keys))
    return _confirmed(text, kind, edit, lambda plain: _edited(plain, kind, edit))


def _confirmed(text: str, kind: str, edit: Callable[[Any], None], write: Callable[[str], str]) -> str:
    """Return what is written, if it has the values that the edit makes of those of the text."""
    is_crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    wanted = json.loads(json.dumps(parse_config(text, kind) or {}, default=str))  # aliases are copied
    try:
        changed = write(text.replace("\r\n", "\n") if is_crlf else text)
    except (TOMLKitError, YAMLError):
        raise MalformedError(_CANNOT) from None
    edit(wanted)
    try:
        values = json.loads(json.dumps(parse_config(changed, kind) or {}, default=str))
    except MalformedError:
        raise MalformedError(_CANNOT) from None
    if _filled(values) != _filled(wanted):
        raise MalformedError(_CANNOT)
    return changed.replace("\n", "\r\n") if is_crlf else changed


def _filled(value: Any) -> Any:
    """Return values without the tables in them that hold nothing."""
    if not isinstance(value, dict):
        return value
    inner = {name: _filled(each) for name, each in value.items()}
    return {name: each for name, each in inner.items() if each not in ({}, [], None)}


def _appended(text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + ("\n" if text.strip() else "") + tomlkit.dumps(_nested(keys, entry))


def _edited(text: str, kind: str, edit: Callable[[Any], None]) -> str:
    if kind != "toml":
        return _edited_yaml(text, edit)
    document = tomlkit.parse(text)
    edit(document)
    tokens = _TOML_TOKEN.finditer(text)
    comments = [(token.start(), token[0]) for token in tokens if token[0].startswith("#")]
    return _patched(text, text, tomlkit.dumps(document), comments)


def _edited_yaml(text: str, edit: Callable[[Any], None]) -> str:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = sys.maxsize
    yaml.explicit_start = text.startswith("---")
    member, item = _MEMBER.search(text), _ITEM.search(text)
    offset = len(item[2]) - len(item[1]) if item else 0
    yaml.indent(mapping=len(member[1]) if member else 2, sequence=offset + 2, offset=offset)
    document = yaml.load(text)
    rewritten = _dumped(yaml, document) if document else text
    document = document or {}
    edit(document)
    changed = _dumped(yaml, document)
    tokens = [token for token in yaml.scan(text) if isinstance(token, ScalarToken)]
    comments = [
        (found.start(), found[0])
        for found in _YAML_COMMENT.finditer(text)
        if not any(token.start_mark.index <= found.start() < token.end_mark.index for token in tokens)
    ]
    return _patched(text, rewritten, changed, comments)


def _dumped(yaml: YAML, document: Any) -> str:
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()


def _patched(text: str, rewritten: str, changed: str, comments: list[tuple[int, str]]) -> str:
    """Return the text with the lines changed in which `changed` differs from the text as it is rewritten.

    `comments` are those of the text, with their places; none of them is lost.
    """
    lines, old, new = (_LINE.findall(each) for each in (text, rewritten, changed))
    if len(lines) != len(old):
        raise MalformedError(_CANNOT)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    remarks: dict[int, list[str]] = {}
    for place, comment in comments:
        remarks.setdefault(text.count("\n", 0, place), []).append(comment)
    patched: list[str] = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            patched += lines[start:end]
            continue
        written = new[first:last]
        gone = lines[start:end]
        while gone and not _is_statement(gone[-1]):
            gone.pop()
        for number, line in enumerate(gone, start):
            lost = [each for each in remarks.get(number, []) if not any(f"{each}\n" in w for w in written)]
            is_comment = bool(lost) and line.lstrip() == f"{lost[0]}\n"
            patched += [line] if is_comment else [f"{_indent(gone[0])}{comment}\n" for comment in lost]
        after = lines[start + len(gone) : end]
        patched += after if patched and patched[-1].strip() else [line for line in after if line.strip()]
        below: list[str] = []
        while kind == "insert" and patched and not _is_statement(patched[-1]):  # it is about what follows
            if patched[-1].strip() and len(_indent(patched[-1])) >= len(_indent(written[0])):
                break
            below.append(patched.pop())
        patched += written + below[::-1]
    return "".join(patched)


def _is_statement(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _put(values: Any, keys: tuple[str, ...], entry: dict[str, Any], *, listed: bool) -> None:
    """Set an entry in values, be they a library's or plain ones."""
    for depth, key in enumerate(keys):
        rest = keys[depth + 1 :]
        if isinstance(values, list) != (listed and not rest) or not isinstance(values, dict | list):
            raise MalformedError(_CANNOT)
        inner = named(values).get(key)
        if inner is None or (rest and inner in ({}, [])):
            value = _nested(rest, _spelled(entry), listed=listed)
            if isinstance(values, list):
                values.append(value)
            else:
                values[key] = value
            return
        values = inner
    if not isinstance(values, dict):
        raise MalformedError(_CANNOT)
    for name, value in entry.items():
        if name not in values or values[name] != value:
            values[name] = _spelled(value)


def _nested(keys: tuple[str, ...], entry: Any, *, listed: bool = False) -> Any:
    """Return the entry below keys that are missing."""
    return json_edit.nested(keys[:-1], [entry]) if listed and keys else json_edit.nested(keys, entry)


def _spelled(value: Any) -> Any:
    """Return a new value, with the texts in quotes that some client would read as something else."""
    if isinstance(value, dict):
        return {name: _spelled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_spelled(inner) for inner in value]
    return value if not isinstance(value, str) or _is_plain(value) else DoubleQuotedScalarString(value)


def _is_plain(text: str) -> bool:
    try:
        return bool(parse_yaml(text) == text)
    except MalformedError:
        return False


def _take_out(values: Any, keys: tuple[str, ...]) -> None:
    for key in keys[:-1]:
        values = named(values)[key]
    if isinstance(values, list):
        values.remove(named(values)[keys[-1]])
    else:
        del values[keys[-1]]
