"""Tools, search options and results of a catalogue, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from findspot.core.errors import FindspotError
from findspot.text.snippet import listed

SEPARATOR = "__"
"""Between a server's name and its tool's: `filesystem__read_file`."""

DEFAULT_TOP_K, MAX_TOP_K = 10, 50

MAX_DESCRIPTION_CHARS = 20_000
"""A longer description is cut: it is sent to assistants, whose context it would fill."""

_NAMED_SERVERS = 20


class SearchMode(StrEnum):
    """How a query is matched."""

    REGEX = "regex"
    BM25 = "bm25"
    EMBEDDING = "embedding"
    HYBRID = "hybrid"


DEFAULT_MODE = SearchMode.HYBRID
"""The best one. A catalogue without embeddings is searched by `bm25` if no mode is named."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it, with the server's name as prefix."""

    name: str
    server_name: str
    description: str = ""
    title: str | None = None
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    execution: Mapping[str, Any] | None = None
    """How it is run: `taskSupport` says whether as a task."""

    @property
    def runs_as_task(self) -> bool:
        """Whether it can be called as a task only."""
        return (self.execution or {}).get("taskSupport") == "required"

    @property
    def own_name(self) -> str:
        """The name without the server's."""
        return self.name.removeprefix(self.server_name + SEPARATOR)


@dataclass(frozen=True, slots=True)
class IndexedTool:
    """A tool with what takes long to compute for a search."""

    tool: ToolDefinition
    searchable_text: str
    fingerprint: str = ""
    """Equal fingerprints mean equal embeddings."""
    embedding: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolSearchOptions:
    """The mode and the limits of a search."""

    mode: str | None = None
    top_k: int = DEFAULT_TOP_K
    threshold: float = 0.0
    server: str | None = None


@dataclass(frozen=True, slots=True)
class ToolReference:
    """One tool of a result, with its score from 0 to 1."""

    name: str
    description: str
    server_name: str
    score: float
    match_type: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The tools of one search, best first; `total` counts before `top_k`."""

    tools: tuple[ToolReference, ...]
    total: int
    total_indexed: int
    elapsed_ms: float
    warning: str | None = None
    fits: bool = True
    """Whether a tool was found that is likely the right one; the others are the nearest."""
    nearest: tuple[str, ...] = ()
    """If none fits: the names of up to three that come nearest."""
    servers: tuple[str, ...] = ()
    """If none fits: the servers whose tools were searched."""

    @property
    def message(self) -> str | None:
        """What to say if no tool fits."""
        if self.fits:
            return None
        parts = ["Nothing fits well." if self.tools else "Nothing fits."]
        parts += [f"Nearest: {', '.join(self.nearest)}."] if self.nearest else []
        servers = listed(self.servers, _NAMED_SERVERS)
        parts += [f"Servers: {servers}; try other words, in English."] if servers else []
        return " ".join(parts)


class CatalogueNotFoundError(FindspotError):
    """There is no index, neither of the project nor of the user."""

    code = "INDEX_NOT_FOUND"

    def __init__(self, looked_at: str) -> None:
        super().__init__(
            "There is no tool catalogue yet.",
            f"No index at {looked_at}",
            hint="Run `findspot tools index` with a client's configuration, such as .mcp.json.",
        )


class CatalogueCorruptError(FindspotError):
    """An index file that exists but cannot be used."""

    code = "INDEX_CORRUPT"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"The tool catalogue {path} cannot be read: {detail}.",
            hint="Run `findspot tools index --force` to rebuild it.",
        )
