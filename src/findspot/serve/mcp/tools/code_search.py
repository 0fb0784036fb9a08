"""`search_code`, `search_docs`, `search_by_path`, `code_research` and `code_context`."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import partial
from mimetypes import guess_type
from typing import Any

from anyio import from_thread

from findspot.core.model import Assistance, Corpus, Progress, Results
from findspot.core.paths import SCHEME, Roots
from findspot.core.progress import ProgressSink, ignore_progress
from findspot.research.findings import Aim, Inquiry
from findspot.research.task_signals import WORKTREE, Request
from findspot.search.token_budget import MIN_TOKENS, token_count
from findspot.serve.arguments import (
    CODE_ONLY,
    CONTEXT_TOKENS,
    DEPTH,
    FOLLOWED,
    PATH,
    PROJECT,
    RESEARCH,
    SEARCH,
    SINCE,
    choice,
    count,
    query_of,
    text,
)
from findspot.serve.context_answers import CONTEXT, DEFAULT_TOKENS, context_object, context_text
from findspot.serve.history_answers import COMMIT, ask_history, commits_answer
from findspot.serve.mcp.client import Client, structured_results
from findspot.serve.mcp.target import Target, from_index, indexed_project
from findspot.serve.mcp.tool import Answer, Arguments, TaskSupport, Tool, undescribed
from findspot.serve.mcp.tool_call import Call
from findspot.serve.project_files import find_files
from findspot.serve.research_answers import FINDINGS, fitted_findings, fitted_report, report_line
from findspot.serve.search_answers import (
    COMPACT,
    FULL,
    LINE,
    SYNTHESIS,
    fitted_text,
    fitted_values,
    lean_answer,
    single_line,
    without_tail,
)
from findspot.serve.shapes import MADE_BY, Shape, warned
from findspot.workspace import Asked

_WHERE = choice(
    ["code", "history"],
    "What is searched: the code of today, or the commits: why and when something changed",
)


def _output(*hits: Shape, **more: Any) -> dict[str, Any]:
    return {
        "results": [{name: kind for hit in hits for name, kind in hit.kinds.items()}],
        "totalResults": int,
        "searchTimeMs": float,
        "query searchMode expandedQuery more": str,
        "expandedBy": MADE_BY,
        "synthesis": SYNTHESIS,
        "followUps": [str],
        **more,
    }


async def _search_code(call: Call, arguments: Arguments) -> Answer:
    if arguments["where"] == "history":
        return await _search_history(call, arguments)
    return await _search(call, arguments, Corpus.CODE)


async def _search_history(call: Call, arguments: Arguments) -> Answer:
    """Answer with commits; a file, lines or a symbol as the query is asked for those that shaped it."""

    def answer(target: Target) -> Answer:
        query = query_of(arguments)
        room = arguments["max_tokens"] or max(target.asked.settings.serve.max_tokens, MIN_TOKENS)
        found = ask_history(target.asked, query.text, query.limit, query.offset)
        shown, values = commits_answer(found, room)
        return Answer(values, shown)

    return await from_index(call, arguments["path"], answer, by_path=True)


async def _search(call: Call, arguments: Arguments, corpus: Corpus) -> Answer:
    assistance = Assistance(arguments["expand_query"], arguments["synthesize"])
    client = call.client.sampler() if assistance else None

    query = query_of(arguments, corpus=corpus, related=True)
    adjusted, call.warnings = call.warnings, []  # said within the limit of tokens

    def answer(target: Target) -> Answer:
        results = target.asked.search(replace(query, under=target.under), assistance, client)
        found = replace(results, warning=" ".join(filter(None, (*adjusted, results.warning))) or None)
        return _rendered(target.asked, found, arguments, corpus, call.client.name)

    if not assistance and query.dependency is None:
        return await from_index(call, arguments["path"], answer, by_path=True)
    target = await indexed_project(call, arguments["path"])
    return await call.patient(lambda _: answer(target))


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
        return Answer(values, single_line(len(values["results"]), nothing_fits=results.nothing_fits))
    link = _link(roots, values["results"][0]) if values["results"] else None
    room = limit - (token_count(json.dumps(link)) if link else 0)
    text = fitted_text(results, corpus, form, max(room, MIN_TOKENS // 2))
    return Answer(values, text, links=(link,) if link else ())


def _link(roots: Roots, result: dict[str, Any]) -> dict[str, Any]:
    """Return the lines of the best result, for a client whose user can open them."""
    path, lines = result["path"], f"{result['startLine']}-{result['endLine']}"
    address = path if path.startswith(SCHEME) else (roots / path).as_uri()
    return {
        "type": "resource_link",
        "uri": f"{address}#L{result['startLine']}-L{result['endLine']}",
        "name": f"{path}:{lines}",
        "description": result.get("symbol") or result.get("breadcrumb") or "",
        "mimeType": guess_type(path)[0] or "text/plain",
        "annotations": {"audience": ["user"]},
    }


async def _search_by_path(call: Call, arguments: Arguments) -> Answer:
    pattern, limit, offset = arguments["pattern"], arguments["limit"], arguments["offset"]
    paths, warning = await from_index(
        call, arguments["project"], lambda target: find_files(target.asked, target.under, pattern)
    )
    values = {"matches": paths[offset : offset + limit], "totalMatches": len(paths)}
    return Answer(warned(values, warning))


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
    arguments={
        "query": text(
            "A question, a name, an error, or an issue as it is; required without similar_to",
            "Question, concept or identifier",
        ),
        "path": PATH,
        **SEARCH,
        "where": _WHERE,
        **CODE_ONLY,
    },
    output=_output(FULL[Corpus.CODE], COMMIT, where=str),
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
    arguments={
        "query": text("The question or topic to search for; required without similar_to"),
        **{name: undescribed(schema) for name, schema in ({"path": PATH} | SEARCH).items()},
    },
    output=_output(FULL[Corpus.DOCS], LINE),
    handler=partial(_search, corpus=Corpus.DOCS),
    instead={"query": "similar_to"},
)

SEARCH_BY_PATH = Tool(
    name="search_by_path",
    title="Find files by path",
    description="Find files by name or path with a glob, instead of find or ls; indexed files only.",
    search_hint="find files by name, glob, path pattern",
    arguments={
        "pattern": text(
            "Glob pattern to match, such as '**/auth*.ts' or 'src/**/*.md'", "Such as '**/auth*.ts'"
        ),
        "limit": count("Maximum number of results", 1, 100, default=20),
        "offset": SEARCH["offset"],
        "project": PROJECT,
    },
    required=("pattern",),
    output={"matches": [str], "totalMatches": int},
    handler=_search_by_path,
)


_JSON = "json"
_RELATIONS = [aim for aim in Aim if aim not in (Aim.SUPERTYPES, Aim.IMPORTS)]


async def _code_research(call: Call, arguments: Arguments) -> Answer:
    target = await indexed_project(call, arguments["path"])
    project, hops = target.asked, _each_hop(call.client)
    findings = await call.long(
        lambda _, cancel: project.research(_inquiry(arguments, target.under), progress=hops, cancel=cancel),
        reports=False,
    )
    serve = project.settings.serve
    limit = arguments["max_tokens"] or max(serve.max_tokens, MIN_TOKENS)
    form = arguments["format"] or serve.default_format
    values = fitted_findings(findings, limit, full=form == _JSON)
    if structured_results(call.client.name, serve) == "only":
        return Answer(values, report_line(findings))
    return Answer(values) if form == _JSON else Answer(values, fitted_report(findings, limit))


def _inquiry(arguments: Arguments, under: str | None) -> Inquiry:
    names = {field.name for field in fields(Inquiry)}
    given = {name: value for name, value in arguments.items() if name in names and value is not None}
    return Inquiry(arguments["query"] or "", under=under, **given)


def _each_hop(client: Client) -> ProgressSink:
    """Return what reports every hop to the client, however quick: there are five at most."""
    if not client.wants_progress:
        return ignore_progress

    def tell(progress: Progress) -> None:
        message = f"Hop {progress.done} of {progress.total}"
        from_thread.run(client.report, progress.done, progress.total, message)

    return tell


CODE_RESEARCH = Tool(
    name="code_research",
    title="Trace callers and relations",
    description="Find where a function is used, who calls it, implementations, importers, how A reaches B, "
    "instead of grep: multi-hop search over the reference graph",
    search_hint="callers, implementations, importers, impact, tests, architecture",
    arguments={
        "query": text("A question, such as `what calls NAME`. Not needed with `relation` and `symbol`"),
        "relation": choice(_RELATIONS, "What to find for `symbol`"),
        **RESEARCH,
        **FOLLOWED,
        "since": SINCE,
        "path": PATH,
        "depth": DEPTH,
        "format": choice(
            [COMPACT, _JSON],
            "Format of the text: a report (default), or the full structured answer as JSON",
        ),
    },
    instead={"query": "relation"},
    output=FINDINGS.kinds,
    handler=_code_research,
    task_support=TaskSupport.OPTIONAL,
)


async def _code_context(call: Call, arguments: Arguments) -> Answer:
    target = await indexed_project(call, arguments["project"])
    request = Request(
        arguments["signal"], arguments["diff"], arguments["path"], arguments["line"], target.under
    )
    context = await call.long(lambda _, cancel: target.asked.context(request, cancel), reports=False)
    limit = arguments["max_tokens"] or DEFAULT_TOKENS
    values = context_object(context, limit)
    if structured_results(call.client.name, target.asked.settings.serve) == "only":
        return Answer(values, context.summary)
    return Answer(values, context_text(context, limit))


CODE_CONTEXT = Tool(
    name="code_context",
    title="Get context for a task",
    description="What a task needs next, from an issue, test output, stack trace, diff or line: code to "
    "change, who relies on it, tests",
    always_loaded=True,
    arguments={
        "signal": text("An issue, an intent, a review comment, a stack trace or the output of tests"),
        "diff": text(
            f"A unified diff, `{WORKTREE}` for the uncommitted changes, or a revision", "Or worktree"
        ),
        "path": text("A file that the task is about"),
        "line": count("A line of that file", 1),
        "max_tokens": CONTEXT_TOKENS,
        "project": PROJECT,
    },
    output=CONTEXT.kinds,
    handler=_code_context,
    task_support=TaskSupport.OPTIONAL,
)
