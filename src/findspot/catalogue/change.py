"""One server's tools replaced in an index, everything else left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from findspot.catalogue.build import index_tools
from findspot.catalogue.indexfile import IndexFile, ServerState, now
from findspot.catalogue.model import ToolDefinition
from findspot.catalogue.sources import matches
from findspot.embed.protocol import Embedder


def with_tools(
    old: IndexFile,
    server: str,
    tools: Sequence[ToolDefinition],
    embedder: Embedder | None,
    exclude: Sequence[str] = (),
) -> IndexFile | None:
    """Return the index with this server's tools; None where they are the same as before."""
    tools = [tool for tool in tools if not matches(tool.name, exclude)]
    before = [tool.tool for tool in old.tools if tool.server_name == server]
    if list(tools) == before or server not in old.servers:
        return None
    own = index_tools(tools, old, embedder, old.dtype)[0]
    place = next((n for n, tool in enumerate(old.tools) if tool.server_name == server), len(old.tools))
    others = [tool for tool in old.tools if tool.server_name != server]
    merged = (*others[:place], *own, *others[place:])
    state = ServerState(old.servers[server].fingerprint, len(own), now())
    return replace(old, tools=merged, updated_at=now(), servers={**old.servers, server: state})
