"""The languages of the reference graph, one module each; adding one is a module and a row here."""

from __future__ import annotations

from findspot.graph.languages.c import C, Cpp
from findspot.graph.languages.csharp import CSharp
from findspot.graph.languages.ecmascript import JavaScript, TypeScript
from findspot.graph.languages.go import Go
from findspot.graph.languages.java import Java
from findspot.graph.languages.kotlin import Kotlin
from findspot.graph.languages.language import Language
from findspot.graph.languages.php import Php
from findspot.graph.languages.python import Python
from findspot.graph.languages.ruby import Ruby
from findspot.graph.languages.rust import Rust
from findspot.graph.languages.swift import Swift

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
    "cpp": Cpp(),
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
