"""Findspot: local-first search for AI coding assistants and the people beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["Engine", "FindspotError", "Project", "Query", "__version__"]

if TYPE_CHECKING:
    from findspot.core.errors import FindspotError
    from findspot.core.model import Query
    from findspot.engine import Engine
    from findspot.project import Project

_HOMES = {
    "Engine": "findspot.engine",
    "FindspotError": "findspot.core.errors",
    "Project": "findspot.project",
    "Query": "findspot.core.model",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import findspot` costs nothing."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'findspot' has no attribute {name!r}")
