"""`search_index`, `search_add_document` and `search_create_index`: named full-text indexes."""

from __future__ import annotations

from typing import Any

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.documents.document_record import BLANK_CONTENT, Document
from findspot.serve.arguments import argument, count
from findspot.serve.mcp.tool import IDEMPOTENT, Answer, Arguments, Tool
from findspot.serve.mcp.tool_call import Call
from findspot.serve.shapes import ADDED_DOCUMENT, CREATED_INDEX, DOCUMENTS, warned

MAX_RESULTS = 1_000

_INDEX_NAME = argument("string", "Name of the index", default="default")


async def _search_index(call: Call, arguments: Arguments) -> Answer:
    query, k, name = arguments["query"], arguments["k"], arguments["index_name"]
    answer = await call.quick(lambda engine: engine.documents.search(query, k, name))
    values = DOCUMENTS(answer)
    if not query.strip():
        del values["query_parsed"]
    return Answer(warned(values, answer.query.warning))


async def _add_document(call: Call, arguments: Arguments) -> Answer:
    document = Document.checked(arguments["doc_id"], arguments["content"], arguments["metadata"])
    name = arguments["index_name"]
    (added,) = await call.quick(lambda engine: engine.documents.add([document], name))
    return Answer(ADDED_DOCUMENT(added))


async def _create_index(call: Call, arguments: Arguments) -> Answer:
    name, backend, config = (arguments[key] for key in ("index_name", "backend", "tokenizer_config"))
    made = await call.quick(lambda engine: engine.documents.create(name, backend, config))
    return Answer(CREATED_INDEX(made, status="created"))


def _failed(error: FindspotError) -> Answer:
    return Answer({"error": error.user_message}, is_error=True)


class _AddDocumentTool(Tool):
    """Answers missing content, and content that is not text, with the error for blank content."""

    def read(self, given: dict[str, Any], warnings: list[str]) -> Arguments:
        if not isinstance(given.get("content"), str):
            raise InvalidArgumentError(BLANK_CONTENT)
        return super().read(given, warnings)


SEARCH_INDEX = Tool(
    name="search_index",
    title="Search a named index",
    description="Search the documents stored in a named full-text index; returns scores and highlights.",
    search_hint="full-text search in stored documents and notes",
    arguments={
        "query": argument(
            "string",
            'Search query: plain terms, +term (must include), -term (must exclude), "phrase" (exact match)',
            'Words, +must, -not, "phrase"',
        ),
        "k": count("Maximum number of results", 1, MAX_RESULTS, default=10),
        "index_name": _INDEX_NAME,
    },
    required=("query",),
    output=DOCUMENTS.kinds,
    handler=_search_index,
    toolset="documents",
    clamped=frozenset({"k"}),
    failure=_failed,
)

SEARCH_ADD_DOCUMENT = _AddDocumentTool(
    name="search_add_document",
    title="Add a document",
    description="Store a document or note in a named full-text index, or replace it.",
    search_hint="store a document or note for full-text search",
    arguments={
        "doc_id": argument("string", "Identifier of the document"),
        "content": argument("string", "Text to index"),
        "metadata": argument("object", "Any values; search_index returns them unchanged"),
        "index_name": _INDEX_NAME,
    },
    required=("doc_id", "content"),
    output=ADDED_DOCUMENT.kinds,
    annotations=IDEMPOTENT,
    handler=_add_document,
    toolset="documents",
    failure=_failed,
)

SEARCH_CREATE_INDEX = Tool(
    name="search_create_index",
    title="Create a named index",
    description="Create a named full-text index for documents, in memory or on disk.",
    search_hint="create a full-text index for documents",
    arguments={
        "index_name": argument(
            "string",
            "Name of the new index: letters, digits, hyphens, underscores",
            "Letters, digits, - and _",
        ),
        "backend": argument(
            "string",
            "Where the index is: 'memory', or 'disk', which survives a restart",
            "Or 'disk', which survives a restart",
            default="memory",
        ),
        "tokenizer_config": {
            "type": "object",
            "properties": {
                "lowercase": {"type": "boolean", "default": True},
                "min_length": {"type": "integer", "minimum": 1, "default": 2},
            },
            "$comment": "Whether words are lower-cased, and the shortest that counts",
        },
    },
    required=("index_name",),
    output=CREATED_INDEX.kinds,
    annotations=IDEMPOTENT | {"idempotentHint": False},
    handler=_create_index,
    toolset="documents",
    failure=_failed,
)
