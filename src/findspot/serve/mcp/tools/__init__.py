"""The tools, in the order in which they are listed."""

from __future__ import annotations

from findspot.serve.mcp.registry import Registry
from findspot.serve.mcp.tools import (
    catalogue,
    changing,
    cortex,
    documents,
    indexing,
    looking,
    research,
    searching,
)


def all_tools() -> Registry:
    return Registry(
        [
            indexing.CREATE_INDEX,
            indexing.INDEX_CODEBASE,
            searching.SEARCH_CODE,
            searching.SEARCH_DOCS,
            looking.SEARCH_BY_PATH,
            research.CODE_RESEARCH,
            looking.GET_INDEX_STATUS,
            looking.LIST_PROJECTS,
            changing.REINDEX_PROJECT,
            changing.REINDEX_FILE,
            changing.DELETE_INDEX,
            cortex.CORTEX_SEARCH,
            documents.SEARCH_INDEX,
            documents.SEARCH_ADD_DOCUMENT,
            documents.SEARCH_CREATE_INDEX,
            catalogue.SEARCH_TOOLS,
            catalogue.GET_TOOL,
        ]
    )
