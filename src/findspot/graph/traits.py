"""How each language finds names: what is visible without being said, and what files share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traits:
    """One language; languages of one family see each other's definitions."""

    family: str
    shares: str = "file"
    """Whose top-level names are visible unsaid: those of the `file`, `folder`, `package` or `project`."""
    bare_members: bool = False
    """Whether a method names members of its type without `this`."""
    satellites: bool = False
    """Whether members of a type may stand outside of it."""
    calls_bare: bool = False
    """Whether naming a function calls it."""
    constructors: frozenset[str] = frozenset()
    """What constructors are called, besides the name of their type."""


_TABLE = {
    "python": Traits("python", constructors=frozenset({"__init__", "__new__"})),
    "javascript": Traits("js", satellites=True, constructors=frozenset({"constructor"})),
    "typescript": Traits("js", constructors=frozenset({"constructor"})),
    "tsx": Traits("js", constructors=frozenset({"constructor"})),
    "go": Traits("go", "folder", satellites=True),
    "java": Traits("jvm", "package", bare_members=True),
    "kotlin": Traits("jvm", "package", bare_members=True, satellites=True),
    "rust": Traits("rust", "file", satellites=True, constructors=frozenset({"new"})),
    "c": Traits("c", "project"),
    "cpp": Traits("c", "project", bare_members=True, satellites=True),
    "csharp": Traits("csharp", "project", bare_members=True),
    "ruby": Traits(
        "ruby", "project", bare_members=True, calls_bare=True, constructors=frozenset({"initialize"})
    ),
    "php": Traits("php", "package", constructors=frozenset({"__construct"})),
    "swift": Traits("swift", "project", bare_members=True, satellites=True, constructors=frozenset({"init"})),
}

_NONE = Traits("")


def traits_of(language: str) -> Traits:
    return _TABLE.get(language, _NONE)
