"""The table of languages: how to recognise a file's language, and which grammar reads it.

The table is `languages.csv`. Of a grammar, it has the name of the wheel (`tree-sitter-NAME`) and the function
in it where that is not `language`; wheels of the extra `languages` are marked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Language:
    """One row: `grammar` is the module of a grammar wheel, None where text is split plainly."""

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    grammar: str | None = None
    entry: str = "language"
    """The function of `grammar` that returns the language."""
    extra: bool = False
    """The grammar's wheel belongs to the extra `languages`; without it, text is split plainly."""
    data: bool = False
    """Configuration and data rather than code."""
    docs: bool = False
    """Prose rather than code."""


PLAIN = "text"
"""The language of everything unknown."""

_EXTRA = "extra:"


def _read(line: str) -> Language:
    name, kind, extensions, filenames, grammar, entry = line.split(",")
    wheel = grammar.removeprefix(_EXTRA)
    return Language(
        name,
        tuple(extensions.split()),
        tuple(filenames.split()),
        f"tree_sitter_{wheel}" if wheel else None,
        entry or "language",
        extra=grammar.startswith(_EXTRA),
        data=kind == "data",
        docs=kind == "docs",
    )


_TABLE = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
LANGUAGES = tuple(map(_read, _TABLE.splitlines()[1:]))

BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language.name for language in LANGUAGES for extension in language.extensions}
_BY_FILENAME = {name: language.name for language in LANGUAGES for name in language.filenames}

_STEMS = {"Dockerfile": "dockerfile", "Containerfile": "dockerfile", "Makefile": "make"}
"""Names that carry a suffix of their own: `Dockerfile.dev`, `Makefile.am`."""

_SECOND_SUFFIX = {"in", "tmpl", "tpl", "template", "sample", "example", "dist"}
"""Suffixes of templates: the language is that of the name before it."""

_ALSO_CALLED = {"c++": "cpp", "c#": "csharp", "golang": "go", "shell": "bash", "node": "javascript"}


def unknown_language(names: Iterable[str]) -> str | None:
    """Return a sentence about the first name that is no language, with the one that it may mean."""
    unknown = next((name for name in names if name.lower() not in BY_NAME), None)
    if unknown is None:
        return None
    import difflib

    low = unknown.lower()
    near = (
        _ALSO_CALLED.get(low)
        or _BY_EXTENSION.get(low)
        or next(iter(difflib.get_close_matches(low, BY_NAME, n=1)), None)
    )
    return f"Findspot knows no language '{unknown}'." + (f" Did you mean {near}?" if near else "")


def row(name: str) -> Language:
    """Return the row of a language; plain text for a name that is not in the table."""
    return BY_NAME.get(name) or BY_NAME[PLAIN]


def language_of(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    by_filename = _BY_FILENAME.get(name)
    if by_filename:
        return by_filename
    stem, dot, extension = name.rpartition(".")
    if dot:
        known = _BY_EXTENSION.get(extension) or _BY_EXTENSION.get(extension.lower())
        if known and not (known == PLAIN and name.startswith(("requirements", "constraints"))):
            return known
        if known:
            return "requirements"
        head = _STEMS.get(name[: name.find(".")])
        if head:
            return head
        if extension in _SECOND_SUFFIX and "." in stem:
            return language_of(stem)
    return PLAIN
