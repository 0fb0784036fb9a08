"""The tools of one or two index files in the form that is searched."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.indexfile import IndexFile, parse_index, read_bytes, server_of
from findspot.catalogue.tool_fields import keyword_counts
from findspot.catalogue.tool_record import (
    CatalogueCorruptError,
    CatalogueNotFoundError,
    IndexedTool,
    ToolDefinition,
)
from findspot.core.errors import InvalidArgumentError
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import Vectors
from findspot.text.bm25 import Bm25


class ToolSet:
    """Tools that can be searched; rows are in the order in which the files list them."""

    def __init__(self, tools: Sequence[IndexedTool], about: IndexFile, warnings: Sequence[str] = ()) -> None:
        """Take tools, the index file whose model their vectors are of, and warnings about the files."""
        self.about = about
        self.warnings = warnings
        self.names = [tool.tool.name for tool in tools]
        self.servers = [tool.server_name for tool in tools]
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.by_name = np.array(sorted(range(len(tools)), key=self.names.__getitem__), dtype=np.int64)
        """The rows in the order of their names."""
        lines = [*self.names, *(" ".join(tool.searchable_text.split()) for tool in tools)]
        self.texts = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        """One line per tool name, then one line per tool text."""
        self.vectors = _matrix(tools, about.dimensions) if about.provider is not None else None
        """One unit row per tool; of zeros if a tool has no vector."""
        self._tools = tools
        self._enabled: NDArray[np.bool_] | None = None
        """Which rows a search may give; None if all."""

    def hide(self, disabled: Collection[str]) -> None:
        """Leave disabled servers and tools out of every search."""
        shown = [
            name not in disabled and server not in disabled
            for name, server in zip(self.names, self.servers, strict=True)
        ]
        self._enabled = None if all(shown) else np.array(shown, dtype=np.bool_)

    @property
    def offered_servers(self) -> tuple[str, ...]:
        """The servers that have a tool which a search may give."""
        rows = self.allowed(None)
        return tuple(sorted({server for server, is_on in zip(self.servers, rows, strict=True) if is_on}))

    @cached_property
    def keywords(self) -> Bm25:
        counted = (dict(zip(tool.tokens, tool.counts, strict=True)) for tool in self._tools)
        return Bm25.build(map(keyword_counts, counted, self.servers))

    @cached_property
    def name_order(self) -> NDArray[np.int64]:
        return np.argsort(self.by_name)

    def __len__(self) -> int:
        return len(self.names)

    def definition(self, row: int) -> ToolDefinition:
        return self._tools[row].tool

    def allowed(self, server: str | None) -> NDArray[np.bool_]:
        if server is None:
            mask = np.ones(len(self), dtype=np.bool_)
        elif server in self.servers:
            mask = np.fromiter((name == server for name in self.servers), dtype=np.bool_, count=len(self))
        else:
            known = ", ".join(sorted(set(self.servers))[:20])
            raise InvalidArgumentError(
                f"There is no server '{server}' in the catalogue.", hint=f"Known servers: {known}."
            )
        return mask if self._enabled is None else mask & self._enabled


def _matrix(tools: Sequence[IndexedTool], dimensions: int) -> Vectors:
    rows = np.zeros((len(tools), dimensions), dtype=np.float32)
    for row, tool in enumerate(tools):
        if tool.embedding is not None:
            rows[row] = tool.embedding
    return unit(rows)


def open_toolset(paths: Sequence[Path], own: Collection[str] = ()) -> ToolSet:
    """Read the tools of the index files that exist; of tools of the same name, the first counts.

    What the last file, the user's, says about the servers in `own` counts, not what the others say. A file
    that cannot be read is named in a warning; an error if that leaves none.
    """
    files: list[tuple[Path, IndexFile]] = []
    broken: list[CatalogueCorruptError] = []
    for path in paths:
        try:
            data = read_bytes(path)
            if data is not None:
                files.append((path, parse_index(path, data)))
        except CatalogueCorruptError as error:
            broken.append(error)
    if not files:
        raise broken[0] if broken else CatalogueNotFoundError(" or ".join(map(str, paths)))
    warnings = [error.user_message for error in broken]
    chosen = next((index for _, index in files if index.has_embeddings), IndexFile())
    tools: dict[str, IndexedTool] = {}
    for path, index in files:
        apart = index.has_embeddings and _model(index) != _model(chosen)
        if apart:  # vectors of different models cannot be compared
            warnings.append(f"{path} was made with another model; its tools are found by words only.")
        for tool in index.tools:
            if path != paths[-1] and not {tool.server_name, server_of(tool.tool.name)}.isdisjoint(own):
                continue
            tools.setdefault(tool.tool.name, replace(tool, embedding=None) if apart else tool)
    updated = max(index.updated_at for _, index in files)
    return ToolSet(list(tools.values()), replace(chosen, updated_at=updated), warnings)


def _model(index: IndexFile) -> tuple[str | None, str, int]:
    return index.provider, index.revision, index.dimensions
