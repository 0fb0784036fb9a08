"""What is known of a piece of code beyond its lines: its place, its signature, its comment."""

from __future__ import annotations

import re
from bisect import bisect_right

from findspot.chunk.imports import Import, Name
from findspot.chunk.splitting import Rows, SourceLines
from findspot.chunk.symbols import TYPE_KINDS, Definition, FileSymbols, text_of
from findspot.core.platforms import native

MAX_SIGNATURE_CHARS = 300
MAX_DOC_CHARS = 1_000
MAX_ENCLOSING_CHARS = 160
MAX_DEPTH = 8
"""Enclosing definitions shown; deeper nesting shows its innermost part."""
MAX_IMPORTS = 12
"""Imports shown in one capsule; more would outweigh the code."""

_OPENING = re.compile(
    r"^\s*(?:/\*[*!]?|\(\*+|\{-\s*\|?|<!--|--\[=*\[|=begin\b|///?!?|##?[!:]?|--+\s?[|^!]?|;+|%+|\*(?!/))\s?"
)
_CLOSING = re.compile(r"(?<!\s)\s*(?:(?<!\*)\*+[/)]|-\}|-->|\]=*\]|=end\b)\s*$")
_QUOTES = re.compile(r"^\s*[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')\s*$")
_SIDE_NOTE = re.compile(r"(?:\n[ \t]*|[ \t]+)(?:#|//|--)[ \t!][^\n]*")
_XML = re.compile(r"</?(?:summary|remarks|para|returns|value|c|see)\b[^<>]*>")
_ELIXIR_DOC = re.compile(r"^\s*@\w*doc\s+(?:~[sS])?")


def breadcrumb(definition: Definition) -> str:
    """Return the path of names to a definition: `Outer > Inner > name`."""
    names: list[str] = []
    current: Definition | None = definition
    while current is not None and len(names) < MAX_DEPTH:
        names.append(current.name)
        if current.scope:
            names.append(current.scope)
        current = current.parent
    return " > ".join(reversed(names))


def signature(definition: Definition, source: bytes) -> str:
    """Return the text of a definition up to its body, on one line."""
    if definition.signature is not None:
        return definition.signature
    start, most = definition.start_byte, definition.start_byte + 4 * MAX_SIGNATURE_CHARS
    if definition.body_byte is not None and definition.body_byte > start:
        raw = source[start : min(definition.body_byte, most)]
    else:
        raw = source[start : min(definition.end_byte, most)].split(b"\n", 1)[0]
    text = raw.decode("utf-8", "replace")
    if "#" in text or "//" in text or "--" in text:
        text = _SIDE_NOTE.sub("", text)
    line = " ".join(text.split())
    line = line.removesuffix("=>").rstrip("{= ").removesuffix(":")
    definition.signature = line[:MAX_SIGNATURE_CHARS].rstrip()
    return definition.signature


def doc_comment(definition: Definition, source: bytes, lines: SourceLines) -> str | None:
    """Return the doc string or the comment above a definition, without its markers."""
    if definition.doc is not None:
        return _tidy(_QUOTES.sub("", text_of(definition.doc, source))) or None
    if not definition.comment_rows:
        return None
    first, last = definition.comment_rows[0][0], definition.comment_rows[-1][1]
    return strip_markers(lines.slice(first, last)) or None


def strip_markers(comment: str) -> str:
    """Return the prose of a comment, or of the annotation that serves as one (`@doc "…"`)."""
    if (note := _ELIXIR_DOC.match(comment)) is not None:
        return _tidy(_QUOTES.sub("", comment[note.end() :]))
    bare = [_CLOSING.sub("", _OPENING.sub("", line, 1)) for line in comment.split("\n")]
    return _tidy(_XML.sub("", "\n".join(bare)))


def _tidy(text: str) -> str:
    rows = [line.strip() for line in text.split("\n")]
    return "\n".join(rows).strip()[:MAX_DOC_CHARS].rstrip()


def capsule(
    text: str, package: str | None, enclosing: list[Definition], source: bytes, used: list[Name]
) -> str:
    """Package, enclosing definitions (outermost first) and the imports of used names, a line each."""
    parts = [f"package {package}"] if package else []
    for definition in reversed(enclosing[:MAX_DEPTH]):
        if definition.scope:
            parts.append(definition.scope)
        parts.append(signature(definition, source)[:MAX_ENCLOSING_CHARS])
    statements: dict[int, tuple[Import, list[str]]] = {}  # by their ids: hashes of texts take longer
    for name, statement in used:
        statements.setdefault(id(statement), (statement, []))[1].append(name)
    shown = [statement.shown(found) for statement, found in statements.values() if statement.text not in text]
    return "\n".join([*parts, *shown[:MAX_IMPORTS]])


def used_names(names: list[Name], parts: list[Rows], lines: SourceLines) -> list[list[Name]]:
    """Return for each part of a file, in text order, the imported names that occur in it as words."""
    starts = [lines.starts[first] for first, _ in parts]
    ends = [lines.starts[last + 1] - 1 for _, last in parts]
    if _native is None or not all(name.isascii() and name.isidentifier() for name, _ in names):
        return used_names_in_python(lines.text, starts, ends, names)
    used: list[list[Name]] = _native.used_names(lines.text, starts, ends, names)
    return used


def used_names_in_python(
    text: str, starts: list[int], ends: list[int], names: list[Name]
) -> list[list[Name]]:
    """Return for each part of a text the names that occur in it as words; a part ends where a line does."""
    used: list[list[Name]] = [[] for _ in starts]
    for pair in names:
        name = pair[0]
        size = len(name)
        at = text.find(name)
        while at >= 0:
            end = at + size
            before, after = text[at - 1 : at], text[end : end + 1]
            if before.isalnum() or before == "_" or after.isalnum() or after == "_":
                at = text.find(name, end)
                continue
            place = bisect_right(starts, at)
            if place and at < ends[place - 1]:
                used[place - 1].append(pair)
            at = text.find(name, starts[place]) if place < len(starts) else -1
    return used


_native = native()


MAX_OUTLINE_CHARS = 4_000

_GROUPS = (
    ("Types", TYPE_KINDS | {"module"}),
    ("Functions", frozenset({"function", "method", "macro", "test", "constructor", "property"})),
    ("Constants", frozenset({"constant", "variable"})),
)


def outline(symbols: FileSymbols) -> str | None:
    """Return the outline's text; None for a file that defines nothing."""
    if not symbols.definitions:
        return None
    parts = [f"Package: {symbols.package}\n"] if symbols.package else []
    count = len(symbols.imports)
    if count:
        parts.append(f"Imports: {count} {'package' if count == 1 else 'packages'}\n")
    for title, kinds in _GROUPS:
        rows = [_row(definition) for definition in symbols.definitions if definition.kind in kinds]
        if rows:
            parts.append("\n".join([f"{title}:", *rows]) + "\n")
    text = "\n".join(parts).rstrip()
    if len(text) <= MAX_OUTLINE_CHARS:
        return text or None
    kept = text[: MAX_OUTLINE_CHARS - 40].rsplit("\n", 1)[0]
    return f"{kept}\n  … {text.count(chr(10)) - kept.count(chr(10))} more"


def _row(definition: Definition) -> str:
    first, last = definition.row + 1, definition.last + 1
    where = f"line {first}" if first >= last else f"lines {first}-{last}"
    name = breadcrumb(definition).replace(" > ", ".")
    return f"  - {name} ({definition.kind}) ({where})"
