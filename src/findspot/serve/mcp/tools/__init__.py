"""The tools, in the order in which they are listed."""

from __future__ import annotations

from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tools import catalogue_tools, code_search, cortex, document_tools, index_tools


def all_tools() -> Registry:
    return Registry(
        [
            index_tools.CREATE_INDEX,
            index_tools.INDEX_CODEBASE,
            code_search.SEARCH_CODE,
            code_search.SEARCH_DOCS,
            code_search.SEARCH_BY_PATH,
            code_search.CODE_RESEARCH,
            code_search.CODE_CONTEXT,
            index_tools.GET_INDEX_STATUS,
            index_tools.LIST_PROJECTS,
            index_tools.REINDEX_PROJECT,
            index_tools.REINDEX_FILE,
            index_tools.DELETE_INDEX,
            cortex.CORTEX_SEARCH,
            document_tools.SEARCH_INDEX,
            document_tools.SEARCH_ADD_DOCUMENT,
            document_tools.SEARCH_CREATE_INDEX,
            catalogue_tools.SEARCH_TOOLS,
            catalogue_tools.GET_TOOL,
            catalogue_tools.CALL_TOOL,
        ]
    )
