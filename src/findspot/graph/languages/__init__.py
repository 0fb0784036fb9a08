"""The languages of the reference graph; adding one is a class and a row here."""

from __future__ import annotations

from findspot.graph.languages.by_name import C, Ruby, Rust, Swift
from findspot.graph.languages.ecmascript import JavaScript, TypeScript
from findspot.graph.languages.go import Go
from findspot.graph.languages.language import Language
from findspot.graph.languages.packages import CSharp, Java, Kotlin, Php
from findspot.graph.languages.python import Python

_LANGUAGES: dict[str, Language] = {
    "python": Python(),
    "javascript": JavaScript(),
    "typescript": TypeScript(),
    "tsx": TypeScript(),
    "go": Go(),
    "java": Java(),
    "kotlin": Kotlin(),
    "rust": Rust(),
    "c": C(),
    "cpp": C(),
    "csharp": CSharp(),
    "ruby": Ruby(),
    "php": Php(),
    "swift": Swift(),
}

_UNKNOWN = Language()

FINDERS = frozenset({_UNKNOWN.finder, *(language.finder for language in _LANGUAGES.values())})
"""How modules are found, in any language."""


def language_of(name: str) -> Language:
    """Return the language of a name; one without any rules where the graph does not know it."""
    return _LANGUAGES.get(name, _UNKNOWN)
