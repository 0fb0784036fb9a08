"""An MCP server of your own that offers `cortex_search` beside its own tools.

    python examples/own_server.py                      answers from the notes below
    python examples/own_server.py path/to/project      answers from a project's chunk files or index

A searcher is anything with a method `query(query, options)` that returns results, best first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mcp.server.mcpserver import MCPServer

from findspot import (
    ContextChunk,
    ContextSearcher,
    Engine,
    SearchOptions,
    SearchResult,
    add_cortex_search_tool,
)

NOTES = {
    "tea": "Green tea is steamed, black tea is oxidised.",
    "coffee": "Coffee is roasted and then ground.",
}


class Notes:
    """Finds notes by the words they share with a query."""

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        wanted = set(query.lower().split())
        results = []
        for name, text in NOTES.items():
            words = set(text.lower().rstrip(".").split())
            score = len(wanted & words) / max(1, len(wanted))
            chunk = ContextChunk(id=name, chunk_type="documentation", title=name, text=text, tags=("notes",))
            fits = set(options.tags) <= set(chunk.tags)
            if fits and score > 0 and score >= options.min_score:
                results.append(SearchResult(chunk, score))
        results.sort(key=lambda result: (-result.combined_score, result.chunk.id))
        return results[: options.limit]


def make_server(searcher: ContextSearcher) -> MCPServer[None]:
    """A server with our tool and one of its own."""
    server: MCPServer[None] = MCPServer("own-server")
    add_cortex_search_tool(server, searcher)

    @server.tool()
    def brew(kind: str) -> str:
        """Brew a cup."""
        return f"A cup of {kind}."

    return server


if __name__ == "__main__":
    searcher = Engine().chunks(sys.argv[1]) if len(sys.argv) > 1 else Notes()
    make_server(searcher).run("stdio")
