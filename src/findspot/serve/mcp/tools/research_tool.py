"""`code_research`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import from_thread

from findspot.core.model import Progress
from findspot.core.progress import ProgressSink, ignore_progress
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.mcp.client import Client, structured_results
from findspot.serve.mcp.target import indexed_project
from findspot.serve.mcp.tool import (
    COUNT,
    MADE_BY,
    NUMBER,
    PATH,
    READ_ONLY,
    SEARCH_ICON,
    TEXT,
    TEXTS,
    Answer,
    Arguments,
    TaskSupport,
    Tool,
    gives,
    objects,
    takes,
)
from findspot.serve.mcp.tool_call import Call

if TYPE_CHECKING:
    from findspot.research.findings import Findings, Inquiry

_FOCUSES = ["architecture", "dependencies", "patterns", "flow"]
_DESCRIPTION = (
    "Find who calls a function or method, where it is used, all implementations, what imports a module or "
    "how A reaches B, instead of grep: multi-hop search over the reference graph."
)


async def _code_research(call: Call, arguments: Arguments) -> Answer:
    target = await indexed_project(call, arguments["path"])
    project, client = target.project, call.client.sampler()
    hops = _each_hop(call.client)
    findings = await call.long(
        lambda _, cancel: project.research(
            _inquiry(arguments, target.under), client=client, progress=hops, cancel=cancel
        ),
        reports=False,
    )
    serve = project.settings.serve
    limit = arguments["max_tokens"] or max(serve.max_tokens, MIN_TOKENS)
    return _rendered(findings, limit, structured_results(call.client.name, serve))


def _inquiry(arguments: Arguments, under: str | None) -> Inquiry:
    from findspot.research.findings import Focus, Inquiry

    focus = Focus(arguments["focus"]) if arguments["focus"] else None
    return Inquiry(arguments["query"], arguments["depth"], focus, under)


def _rendered(findings: Findings, limit: int, shape: str) -> Answer:
    from findspot.serve.research_answers import fitted_findings, fitted_report, report_line

    text = report_line(findings) if shape == "only" else fitted_report(findings, limit)
    return Answer(fitted_findings(findings, limit), text)


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
    description=_DESCRIPTION,
    enhanced_description=(
        f"{_DESCRIPTION} **TIP:** Ask `what calls NAME()`, `all implementations of NAME`, "
        "`how does A reach B`, `what imports PATH`, or a question in plain words."
    ),
    always_loaded=True,
    input_schema=takes(
        {
            "query": {"type": "string", "minLength": 1, "description": "Such as 'what calls NAME'"},
            "path": PATH,
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 5,
                "default": 2,
                "$comment": "How many hops to follow",
            },
            "focus": {"type": "string", "enum": _FOCUSES, "$comment": "Optional focus area"},
            "max_tokens": {
                "type": "integer",
                "minimum": MIN_TOKENS,
                "$comment": "Maximum tokens of the answer (characters / 4). Default: 1200",
            },
        },
        required=("query",),
    ),
    output_schema=gives(
        {
            "query": TEXT,
            "depth": COUNT,
            "focus": TEXT,
            "summary": TEXT,
            "nodes": objects(
                {
                    "id": TEXT,
                    "name": TEXT,
                    "kind": TEXT,
                    "path": TEXT,
                    "startLine": COUNT,
                    "endLine": COUNT,
                    "hop": COUNT,
                }
            ),
            "edges": objects(
                {
                    "from": TEXT,
                    "to": TEXT,
                    "relation": TEXT,
                    "path": TEXT,
                    "line": COUNT,
                    "confidence": NUMBER,
                }
            ),
            "chains": {"type": "array", "items": TEXTS},
            "passages": objects(
                {"path": TEXT, "startLine": COUNT, "endLine": COUNT, "symbol": TEXT, "text": TEXT}
            ),
            "files": TEXTS,
            "citations": objects({"path": TEXT, "line": COUNT, "text": TEXT}),
            "relatedTopics": TEXTS,
            "unresolved": TEXTS,
            "madeBy": MADE_BY,
        }
    ),
    annotations=READ_ONLY,
    icon=SEARCH_ICON,
    handler=_code_research,
    task_support=TaskSupport.OPTIONAL,
)
