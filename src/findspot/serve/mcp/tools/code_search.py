"""`search_code`, `search_docs` and `search_by_path`."""

from __future__ import annotations

import json
from dataclasses import replace
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any

from findspot.core.model import Assistance, Corpus, GroupBy, IncludeTests, Mode, Results
from findspot.core.paths import SCHEME, Roots
from findspot.search.token_budget import MIN_TOKENS, token_count
from findspot.serve.history_answers import ask_history, commits_answer
from findspot.serve.mcp.client import structured_results
from findspot.serve.mcp.target import Target, from_index, indexed_project
from findspot.serve.mcp.tool import (
    COUNT,
    MADE_BY,
    NUMBER,
    PATH,
    PROJECT,
    READ_ONLY,
    SEARCH_ICON,
    TEXT,
    TEXTS,
    Answer,
    Arguments,
    Link,
    Schema,
    Tool,
    gives,
    objects,
    takes,
    undescribed,
)
from findspot.serve.mcp.tool_call import Call
from findspot.serve.mcp.tool_results import link_content
from findspot.serve.project_files import find_files
from findspot.serve.query_options import DEFAULT_LIMIT, MAX_LIMIT, MAX_TOP_K, query_of
from findspot.serve.search_answers import (
    COMPACT,
    FORMATS,
    fitted_text,
    fitted_values,
    lean_answer,
    single_line,
    without_tail,
)
from findspot.serve.shapes import warned

if TYPE_CHECKING:
    from findspot.workspace import Asked

_ARGUMENTS: dict[str, Schema] = {
    "path": PATH,
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_LIMIT,
        "$comment": f"Number of results. Default: {DEFAULT_LIMIT}",
    },
    "top_k": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_TOP_K,
        "$comment": "Number of results, if limit is not given",
    },
    "semantic_weight": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "0 keyword, 1 semantic",
        "$comment": "Weight of semantic search: 0 is keyword, 1 is semantic. Default: chosen by the query",
    },
    "extensions": {
        "type": "string",
        "description": "Such as 'py,ts'",
        "$comment": "Only files with these extensions, separated by commas",
    },
    "path_filter": {
        "type": "string",
        "minLength": 1,
        "description": "Glob",
        "$comment": "Only paths that match this glob",
    },
    "exclude": {
        "type": "string",
        "minLength": 1,
        "$comment": "Leave out paths that match this glob",
    },
    "changed_since": {
        "type": "string",
        "minLength": 1,
        "description": "Git ref",
        "$comment": "Only files that differ from this git revision, uncommitted changes included",
    },
    "mode": {
        "type": "string",
        "enum": [str(mode) for mode in Mode],
        "default": str(Mode.HYBRID),
        "$comment": "How the query is matched",
    },
    "format": {
        "type": "string",
        "enum": list(FORMATS),
        "$comment": "Format of the text: 'compact' shows the code of the best results and a line for each of "
        "the others; 'json' has every field, in the structured content too",
    },
    "expand_query": {"type": "boolean", "default": False, "$comment": "Use LLM to expand query"},
    "synthesize": {"type": "boolean", "default": False, "$comment": "Generate LLM summary"},
    "similar_to": {
        "type": "string",
        "minLength": 1,
        "description": "'path:start-end'",
        "$comment": "Find passages like this one instead of a query: 'path:start-end'",
    },
    "dependency": {
        "type": "string",
        "description": "Package",
        "$comment": "Search an installed package instead: 'requests', 'requests@2.32.3', or '*' for all that "
        "the project names",
    },
    "offset": {"type": "integer", "minimum": 0, "default": 0, "$comment": "Results to skip"},
    "max_tokens": {
        "type": "integer",
        "minimum": MIN_TOKENS,
        "$comment": "Maximum tokens of the answer (characters / 4). Default: 1200",
    },
    "explain": {"type": "boolean", "default": False, "$comment": "Explain each result's score"},
}

_CODE_ARGUMENTS: dict[str, Schema] = {
    "where": {
        "type": "string",
        "enum": ["code", "history"],
        "$comment": "What is searched: the code of today, or the commits: why and when something changed",
    },
    "languages": {"type": "array", "items": TEXT, "$comment": "Only these languages, such as 'python'"},
    "include_tests": {
        "type": "string",
        "enum": [str(choice) for choice in IncludeTests],
        "$comment": "Tests: ranked below other code (auto, default), like other code (yes), left out (no)",
    },
    "group_by": {
        "type": "string",
        "enum": [str(choice) for choice in GroupBy],
        "$comment": "What each result is: a passage (default), a file or a definition",
    },
}

_HIT: dict[str, Schema] = {
    "path": TEXT,
    "project": TEXT,
    "text": TEXT,
    "score": NUMBER,
    "startLine": COUNT,
    "endLine": COUNT,
    "symbol": TEXT,
    "kind": TEXT,
    "strength": TEXT,
    "breadcrumb": TEXT,
    "relevancePercent": COUNT,
    "why": {"type": "object", "additionalProperties": NUMBER},
    "lines": {"type": "array", "items": COUNT},
}
_CODE_HIT: dict[str, Schema] = {
    "symbols": TEXTS,
    "signature": TEXT,
    "docComment": TEXT,
    "language": TEXT,
    "constants": TEXTS,
    "callers": TEXTS,
    "more": TEXTS,
}
_COMMIT: dict[str, Schema] = {
    "commit": TEXT,
    "date": TEXT,
    "author": TEXT,
    "subject": TEXT,
    "sentence": TEXT,
    "changed": objects({"path": TEXT, "definitions": TEXTS}),
    "removed": TEXTS,
}


_SYNTHESIS: Schema = {
    "type": "object",
    "properties": {
        "summary": TEXT,
        "keyInsights": TEXTS,
        "codeReferences": objects({"path": TEXT, "line": COUNT, "text": TEXT, "symbol": TEXT}),
        "confidence": NUMBER,
        "followUps": TEXTS,
        "madeBy": MADE_BY,
    },
}


def _output(hit: dict[str, Schema], **more: Schema) -> Schema:
    return gives(
        {
            "results": objects(hit),
            "totalResults": COUNT,
            "searchTimeMs": NUMBER,
            "query": TEXT,
            "searchMode": TEXT,
            "expandedQuery": TEXT,
            "expandedBy": MADE_BY,
            "synthesis": _SYNTHESIS,
            "followUps": TEXTS,
            "more": TEXT,
            **more,
        }
    )


async def _search_code(call: Call, arguments: Arguments) -> Answer:
    if arguments["where"] == "history":
        return await _search_history(call, arguments)
    return await _search(call, arguments, Corpus.CODE)


async def _search_history(call: Call, arguments: Arguments) -> Answer:
    """Answer with commits; a file, lines or a symbol as the query is asked for those that shaped it."""

    def answer(target: Target) -> Answer:
        limit = arguments["limit"] or arguments["top_k"] or DEFAULT_LIMIT
        room = arguments["max_tokens"] or max(target.asked.settings.serve.max_tokens, MIN_TOKENS)
        found = ask_history(target.asked, str(arguments["query"] or ""), limit, arguments["offset"])
        shown, values = commits_answer(found, room)
        return Answer(warned(values, *arguments.warnings), shown)

    return await from_index(call, arguments["path"], answer, by_path=True)


async def _search_docs(call: Call, arguments: Arguments) -> Answer:
    return await _search(call, arguments, Corpus.DOCS)


async def _search(call: Call, arguments: Arguments, corpus: Corpus) -> Answer:
    assistance = Assistance(arguments["expand_query"], arguments["synthesize"])
    client = call.client.sampler() if assistance else None

    query = query_of(arguments.values, corpus=corpus, related=True)

    def answer(target: Target) -> Answer:
        results = target.asked.search(replace(query, under=target.under), assistance, client)
        call.searched = target.asked.roots, results.hits
        return _rendered(target.asked, _warned(results, arguments), arguments, corpus, call.client.name)

    if not assistance and query.dependency is None:
        return await from_index(call, arguments["path"], answer, by_path=True)
    target = await indexed_project(call, arguments["path"])
    return await call.patient(lambda _: answer(target))


def _warned(results: Results, arguments: Arguments) -> Results:
    """Return the results with everything a reader should know about them."""
    warnings = [*arguments.warnings, results.warning]
    return replace(results, warning=" ".join(filter(None, warnings)) or None)


def _rendered(
    project: Asked, results: Results, arguments: Arguments, corpus: Corpus, client: str | None
) -> Answer:
    """Return the two forms of the answer, each within the limit on its own."""
    settings = project.settings
    serve, roots = settings.serve, project.roots
    limit = arguments["max_tokens"] or max(serve.max_tokens, MIN_TOKENS)
    form = arguments["format"] or serve.default_format or COMPACT
    shape = structured_results(client, serve)
    if form != "json" and not (arguments["limit"] or arguments["top_k"]):
        results = without_tail(results)
    slim = shape == "slim"
    if form == COMPACT and shape != "only":
        text, values = lean_answer(results, corpus, limit, slim=slim)
        return Answer(values, text)
    values = fitted_values(results, corpus, limit, full=form == "json", slim=slim)
    if shape == "only":
        return Answer(values, single_line(results, len(values["results"])))
    link = _link(roots, values["results"][0]) if values["results"] else None
    room = limit - (token_count(json.dumps(link_content(link))) if link else 0)
    text = fitted_text(results, corpus, form, max(room, MIN_TOKENS // 2))
    return Answer(values, text, links=(link,) if link else ())


def _link(roots: Roots, result: dict[str, Any]) -> Link:
    """Return the lines of the best result, for a client whose user can open them."""
    path, lines = result["path"], f"{result['startLine']}-{result['endLine']}"
    address = path if path.startswith(SCHEME) else (roots / path).as_uri()
    return Link(
        uri=f"{address}#L{result['startLine']}-L{result['endLine']}",
        name=f"{path}:{lines}",
        description=result.get("symbol") or result.get("breadcrumb") or "",
        mime_type=guess_type(path)[0] or "text/plain",
    )


async def _search_by_path(call: Call, arguments: Arguments) -> Answer:
    pattern, limit, offset = arguments["pattern"], arguments["limit"], arguments["offset"]
    paths, warning = await from_index(
        call, arguments["project"], lambda target: find_files(target.asked, target.under, pattern)
    )
    values = {"matches": paths[offset : offset + limit], "totalMatches": len(paths)}
    return Answer(warned(values, *arguments.warnings, warning))


SEARCH_CODE = Tool(
    name="search_code",
    title="Search code",
    description=(
        "Search your codebase for relevant code instead of grep or reading files: "
        "find code by what it does or by name."
    ),
    enhanced_description=(
        "Search your codebase for relevant code using natural language. **TIP:** Prefer this over reading "
        "full files when looking for specific functions, patterns, or implementations."
    ),
    always_loaded=True,
    input_schema=takes(
        {
            "query": {
                "type": "string",
                "minLength": 1,
                "description": "Question, concept or identifier",
                "$comment": "A question, a name, an error, or an issue as it is; required without similar_to",
            },
            **_ARGUMENTS,
            **_CODE_ARGUMENTS,
        }
    ),
    output_schema=_output(
        _HIT | _CODE_HIT | _COMMIT,
        suggestions=objects({"path": TEXT, "reason": TEXT}),
        where=TEXT,
    ),
    annotations=READ_ONLY,
    icon=SEARCH_ICON,
    handler=_search_code,
    instead={"query": "similar_to"},
)

SEARCH_DOCS = Tool(
    name="search_docs",
    title="Search documentation",
    description=(
        "Search documentation files (.md, .txt) instead of reading them. Arguments as in search_code."
    ),
    enhanced_description=(
        "Search documentation files (.md, .txt). **TIP:** For follow-up questions about a doc already in "
        "context, use this tool instead of re-reading the entire file - more precise results, less context "
        "usage."
    ),
    search_hint="search documentation, README, guides, manual",
    input_schema=takes(
        {
            "query": {
                "type": "string",
                "minLength": 1,
                "$comment": "The question or topic to search for; required without similar_to",
            },
            **{name: undescribed(schema) for name, schema in _ARGUMENTS.items()},
        }
    ),
    output_schema=_output(_HIT),
    annotations=READ_ONLY,
    icon=SEARCH_ICON,
    handler=_search_docs,
    instead={"query": "similar_to"},
)

SEARCH_BY_PATH = Tool(
    name="search_by_path",
    title="Find files by path",
    description="Find files by name or path with a glob, instead of find or ls; indexed files only.",
    search_hint="find files by name, glob, path pattern",
    input_schema=takes(
        {
            "pattern": {
                "type": "string",
                "minLength": 1,
                "description": "Such as '**/auth*.ts'",
                "$comment": "Glob pattern to match, such as '**/auth*.ts' or 'src/**/*.md'",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 20,
                "$comment": "Maximum number of results",
            },
            "offset": {"type": "integer", "minimum": 0, "default": 0, "$comment": "Results to skip"},
            "project": PROJECT,
        },
        required=("pattern",),
    ),
    output_schema=gives({"matches": TEXTS, "totalMatches": COUNT}),
    annotations=READ_ONLY,
    icon=SEARCH_ICON,
    handler=_search_by_path,
)
