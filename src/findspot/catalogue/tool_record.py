"""What a catalogue holds and what a search of it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from findspot.core.errors import FindspotError

SEPARATOR = "__"
"""Between a server's name and its tool's: `filesystem__read_file`."""

DEFAULT_TOP_K, MAX_TOP_K = 10, 50


class SearchMode(StrEnum):
    """How a query is matched."""

    REGEX = "regex"
    BM25 = "bm25"
    EMBEDDING = "embedding"
    HYBRID = "hybrid"


DEFAULT_MODE = SearchMode.BM25


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it, its name made unique by the server's."""

    name: str
    server_name: str
    description: str = ""
    title: str | None = None
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None

    @property
    def own_name(self) -> str:
        """The name without the server's."""
        return self.name.removeprefix(self.server_name + SEPARATOR)


@dataclass(frozen=True, slots=True)
class IndexedTool:
    """A tool with everything that searching it needs, worked out when it was indexed."""

    tool: ToolDefinition
    searchable_text: str
    tokens: tuple[str, ...]
    counts: tuple[int, ...]
    """How often the text holds each token."""
    fingerprint: str = ""
    """Equal fingerprints mean equal embeddings."""
    embedding: tuple[float, ...] | None = None

    @property
    def server_name(self) -> str:
        return self.tool.server_name


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a search is limited to."""

    mode: SearchMode = DEFAULT_MODE
    top_k: int = DEFAULT_TOP_K
    threshold: float = 0.0
    server: str | None = None


@dataclass(frozen=True, slots=True)
class ToolReference:
    """One tool that was found; higher scores are better, and 1 is the most."""

    name: str
    description: str
    server_name: str
    score: float
    match_type: SearchMode
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The tools of one search, best first; `total` counts before `top_k`."""

    tools: tuple[ToolReference, ...]
    total: int
    total_indexed: int
    elapsed_ms: float
    warning: str | None = None


class CatalogueNotFoundError(FindspotError):
    """Nothing has been indexed, neither in the project nor for the user."""

    code = "INDEX_NOT_FOUND"

    def __init__(self, looked_at: str) -> None:
        super().__init__(
            "No tool catalogue has been made yet.",
            f"No index at {looked_at}",
            hint="Run `findspot tools index` with a client's configuration, such as .mcp.json.",
        )


class CatalogueCorruptError(FindspotError):
    """An index file that is there and cannot be used."""

    code = "INDEX_CORRUPT"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"The tool catalogue {path} cannot be read: {detail}.",
            hint="Run `findspot tools index --force` to make it again.",
        )


class NoEmbeddingsError(FindspotError):
    """Searching by meaning was asked of a catalogue that holds no vectors."""

    code = "INVALID_ARGUMENT"

    def __init__(self, mode: SearchMode) -> None:
        super().__init__(
            f"This tool catalogue was made without embeddings, which mode '{mode}' needs.",
            hint="Run `findspot tools index` without --no-embeddings, or search with mode 'bm25'.",
        )


class UnknownToolError(FindspotError):
    """No tool of that name."""

    code = "INVALID_ARGUMENT"

    def __init__(self, name: str, close: list[str]) -> None:
        hint = f"Did you mean: {', '.join(close)}?" if close else "Find its name with search_tools."
        super().__init__(f"Tool not found: {name}", hint=hint)
