"""`code_research` and `code_context`."""

from __future__ import annotations

from anyio import from_thread

from findspot.core.model import Progress
from findspot.core.progress import ProgressSink, ignore_progress
from findspot.research.findings import Aim, Inquiry
from findspot.research.task_signals import WORKTREE, Request
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.arguments import (
    CONTEXT_TOKENS,
    DEPTH,
    FOLLOWED,
    PATH,
    PROJECT,
    RESEARCH,
    SINCE,
    choice,
    count,
    text,
)
from findspot.serve.context_answers import CONTEXT, DEFAULT_TOKENS, context_object, context_text
from findspot.serve.mcp.client import Client, structured_results
from findspot.serve.mcp.target import indexed_project
from findspot.serve.mcp.tool import Answer, Arguments, TaskSupport, Tool
from findspot.serve.mcp.tool_call import Call
from findspot.serve.research_answers import FINDINGS, fitted_findings, fitted_report, report_line
from findspot.serve.search_answers import COMPACT

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
    return Inquiry(
        arguments["query"] or "",
        arguments["depth"],
        arguments["focus"],
        under,
        arguments["relation"],
        arguments["symbol"],
        arguments["to"],
        arguments["include_tests"] or True,
        arguments["min_confidence"],
        arguments["since"],
    )


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
