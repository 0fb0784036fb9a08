"""The definitions of an indexed package, read from the text that its index holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from findspot.chunk.capsule import signature
from findspot.chunk.grammars import ParseTimeoutError, TreeTooCostlyError, grammar_for
from findspot.chunk.splitting import SourceLines
from findspot.chunk.symbols import Definition, read_symbols
from findspot.core.languages import row
from findspot.core.model import Corpus
from findspot.store.snapshot import Snapshot

# fmt: off
_PUBLIC_KINDS = frozenset({
    "function", "method", "class", "interface", "struct", "trait", "enum", "type", "constructor", "property",
    "macro", "module", "object",
})
# fmt: on
_RUNNING_KINDS = frozenset({"function", "method", "constructor"})


def public_names(snapshot: Snapshot) -> dict[str, str]:
    """Return the public definitions of an indexed package, `module:Class.name`, with their signatures."""
    found: dict[str, str] = {}
    for file in snapshot.files.files:
        if file.corpus != Corpus.CODE or not row(file.language).grammar:
            continue
        module = _module(file.path)
        for definition, source in read_definitions(file.language, stored_text(snapshot, file.path)):
            around = list(definition.enclosing())
            names = [each.name for each in (definition, *around)][::-1]
            is_local = any(each.kind in _RUNNING_KINDS for each in around)
            if definition.kind not in _PUBLIC_KINDS or is_local or any(name[:1] == "_" for name in names):
                continue
            # Of overloads the last one counts: it is the one that is run.
            found[f"{module}:{'.'.join(names)}"] = signature(definition, source)
    return found


def _module(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("__init__", "index", "src"))


def stored_text(snapshot: Snapshot, path: str) -> str:
    """Return the text of a file from its chunks: the package itself may be gone."""
    lines: dict[int, str] = {}
    for chunk in snapshot.chunks.of_file(path):
        if chunk.kind != "outline":
            lines.update(enumerate(chunk.text.split("\n"), chunk.start_line))
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1)) + "\n"


def read_definitions(language: str, text: str) -> Iterator[tuple[Definition, bytes]]:
    """Yield the definitions of a text in a language, with the text as bytes."""
    grammar = grammar_for(language)
    if grammar is None:
        return
    source = text.encode("utf-8", "surrogatepass")
    try:
        matches, _ = grammar.matches(grammar.parse(source).root_node)
    except (ParseTimeoutError, TreeTooCostlyError):
        return
    symbols = read_symbols(grammar, matches, source, SourceLines(text))
    yield from ((definition, source) for definition in symbols.definitions)
    symbols.release()
