"""The outline of a file: its package, its types and functions with their lines, as one text."""

from __future__ import annotations

from findspot.chunk.capsule import breadcrumb
from findspot.chunk.symbols import TYPE_KINDS, Definition, FileSymbols

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
    return _capped("\n".join(parts).rstrip())


def _row(definition: Definition) -> str:
    first, last = definition.row + 1, definition.last + 1
    where = f"line {first}" if first >= last else f"lines {first}-{last}"
    name = breadcrumb(definition).replace(" > ", ".")
    return f"  - {name} ({definition.kind}) ({where})"


def _capped(text: str) -> str | None:
    if len(text) <= MAX_OUTLINE_CHARS:
        return text or None
    kept = text[: MAX_OUTLINE_CHARS - 40].rsplit("\n", 1)[0]
    return f"{kept}\n  … {text.count(chr(10)) - kept.count(chr(10))} more"
