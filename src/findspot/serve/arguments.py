"""The arguments of tools, which commands and the page take as options of the same names.

Each is declared once, here. What a value may be spelled like, `core.model.Query` reads itself, so that it
means the same in the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from findspot.catalogue.tool_record import DEFAULT_MODE, DEFAULT_TOP_K, SearchMode
from findspot.catalogue.tool_record import MAX_TOP_K as MAX_TOOLS
from findspot.core.errors import InvalidArgumentError
from findspot.core.model import ChunkType, GroupBy, IncludeTests, Mode, Query
from findspot.research.findings import DEFAULT_DEPTH, MAX_DEPTH, MIN_DEPTH, Focus
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.chunk_answers import MAX_CONTEXT_TOKENS
from findspot.serve.context_answers import DEFAULT_TOKENS
from findspot.serve.search_answers import FORMATS

Schema = dict[str, Any]

DEFAULT_LIMIT, MAX_LIMIT = 10, 100
MAX_TOP_K = 50
_MAX_OFFSET = 10**18


def argument(kind: str, meaning: str, shown: str = "", **limits: Any) -> Schema:
    """Return the schema of an argument.

    The documentation and the command line say its whole `meaning`. A model reads what is `shown`, which is
    short: an argument whose name says enough has none.
    """
    return {"type": kind, **limits, **({"description": shown} if shown else {}), "$comment": meaning}


def text(meaning: str, shown: str = "", **limits: Any) -> Schema:
    """Return an argument that must not be blank."""
    return argument("string", meaning, shown, minLength=1, **limits)


def count(meaning: str, least: int, most: int | None = None, **limits: Any) -> Schema:
    limits |= {"maximum": most} if most else {}
    return argument("integer", meaning, minimum=least, **limits)


def share(meaning: str, shown: str = "", **limits: Any) -> Schema:
    """Return an argument from 0 to 1."""
    return argument("number", meaning, shown, minimum=0, maximum=1, **limits)


def flag(meaning: str, shown: str = "") -> Schema:
    return argument("boolean", meaning, shown, default=False)


def choice(values: Iterable[str], meaning: str, shown: str = "", **limits: Any) -> Schema:
    return argument("string", meaning, shown, enum=list(map(str, values)), **limits)


def texts(meaning: str, shown: str = "", among: Iterable[str] = ()) -> Schema:
    known = {"enum": list(map(str, among))} if among else {}
    return argument("array", meaning, shown, items={"type": "string", **known})


def _max_tokens(default: int) -> Schema:
    return count(f"Maximum tokens of the answer (characters / 4). Default: {default}", MIN_TOKENS)


PROJECT = text("Root path or index id of a project. Default: the current project")
PATH = text(
    "Folder of the indexed codebase, or one inside it. Default: the current project",
    "Project, or folder in it",
    default=".",
)
CONFIRM = flag("Set to true only after the user agreed to the question of a first call", "If the user agreed")

SEARCH: dict[str, Schema] = {
    "limit": count(f"Number of results. Default: {DEFAULT_LIMIT}", 1, MAX_LIMIT),
    "top_k": count("Number of results, if limit is not given", 1, MAX_TOP_K),
    "semantic_weight": share(
        "Weight of semantic search: 0 is keyword, 1 is semantic. Default: chosen by the query",
        "0 keyword, 1 semantic",
    ),
    "extensions": argument(
        "string", "Only files with these extensions, separated by commas", "Such as 'py,ts'"
    ),
    "path_filter": text("Only paths that match this glob", "Glob"),
    "exclude": text("Leave out paths that match this glob"),
    "changed_since": text(
        "Only files that differ from this git revision, uncommitted changes included", "Git ref"
    ),
    "mode": choice(
        Mode, "Search by meaning and keywords (hybrid), one of them, or a pattern", default=str(Mode.HYBRID)
    ),
    "format": choice(
        FORMATS,
        "Format of the text: 'compact' shows the code of the best results and a line for each of the others; "
        "'json' has every field, in the structured content too",
    ),
    "expand_query": flag("Search for related words too, by a model or the index"),
    "synthesize": flag("Summarise the results in a few sentences, with references"),
    "similar_to": text(
        "Find passages like this one instead of a query: 'path:start-end'", "'path:start-end'"
    ),
    "dependency": argument(
        "string",
        "Search an installed package instead: 'requests', 'requests@2.32.3', or '*' for all that the project "
        "names",
        "Package",
    ),
    "offset": count("Results to skip", 0, default=0),
    "max_tokens": _max_tokens(1200),
    "explain": flag("Explain each result's score"),
}
"""The arguments of a search for code or documentation."""

CODE_ONLY: dict[str, Schema] = {
    "languages": texts("Only these languages, such as 'python'"),
    "include_tests": choice(
        IncludeTests, "Tests: ranked below other code (auto, default), like other code (yes), left out (no)"
    ),
    "group_by": choice(GroupBy, "What each result is: a passage (default), a file or a definition"),
}
"""Further arguments of a search for code."""

_OF_A_QUERY = {field.name for field in fields(Query)} & {"corpus", *SEARCH, *CODE_ONLY}


def query_of(given: Mapping[str, Any], **decided: Any) -> Query:
    """Return the search that options ask for; `decided` is what no option says.

    None or an empty text means that an option was not given; a number may be text.
    """
    values = {name: given[name] for name in _OF_A_QUERY if given.get(name) not in (None, "")}
    top_k = number(given, "top_k", DEFAULT_LIMIT, 1, MAX_TOP_K)
    values |= {
        "text": given.get("query") or "",
        "limit": number(given, "limit", top_k, 1, MAX_LIMIT),
        "offset": number(given, "offset", 0, 0, _MAX_OFFSET),
    }
    return Query(**values | decided)


def number(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    try:
        value = int(given.get(name) or default)
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        raise InvalidArgumentError(f"'{name}' must be a whole number from {least} to {most}.")
    return value


FOLLOWED: dict[str, Schema] = {
    "include_tests": choice(
        IncludeTests,
        "Tests come after production code (auto, yes), or are left out and counted (no). Default: auto",
    ),
    "min_confidence": share(
        "Least confidence of references. Default: 0.5; less where there is no better one"
    ),
}
"""Which references of the graph are followed."""

DEPTH = count("How many hops to follow", MIN_DEPTH, MAX_DEPTH, default=DEFAULT_DEPTH)
SINCE = text("Revision for `impact` and `tests` of the working tree's diff; without `symbol`: HEAD")

RESEARCH: dict[str, Schema] = {
    "symbol": text(
        "A name, a qualified name such as `package.module.Type.method`, or `path:line`; for `importers` a "
        "file, folder or module",
        "Name or path:line",
    ),
    "to": text("Where a `path` ends: a symbol"),
    "focus": choice(Focus, "Optional focus area"),
    "max_tokens": _max_tokens(1200),
}
"""The arguments of `code_research`, apart from the question and the relation."""

CONTEXT_TOKENS = _max_tokens(DEFAULT_TOKENS)

CHUNKS: dict[str, Schema] = {
    "limit": count("Maximum number of results", 1, 100, default=15),
    "tags": texts(
        "Only chunks that have all of these tags, such as 'code', 'go', 'architecture'",
        "All of them, such as 'go'",
    ),
    "chunk_types": texts(
        "Only chunks of one of these types: 'documentation' (guides, design documents), 'symbols' (overviews "
        "of files), 'definitions' (functions and types), 'data' (constants, configuration). Leave empty to "
        "search all types",
        "Any of them; symbols are outlines of files, data are constants",
        among=ChunkType,
    ),
    "min_score": argument("number", "Only chunks at least this similar", minimum=-1, maximum=1, default=0.0),
    "include_stats": flag("Include what was searched and how long it took"),
    "max_tokens": count(
        "Maximum tokens of the answer; texts are shortened to their best passage, then the last results are "
        f"left out, and the answer says so. Default: {MAX_CONTEXT_TOKENS}",
        MIN_TOKENS,
    ),
}
TOOLS: dict[str, Schema] = {
    "mode": choice(
        SearchMode,
        "regex: patterns over names and texts; bm25: keywords; embedding: meaning; hybrid: keywords and "
        f"meaning. Default: {DEFAULT_MODE}; bm25 if there are no embeddings",
        f"Default: {DEFAULT_MODE}",
    ),
    "top_k": count("Number of tools", 1, MAX_TOOLS, default=DEFAULT_TOP_K),
    "threshold": share("Leave out tools with a lower score", "Lowest score", default=0),
    "server": text("Only tools of this server"),
}
