"""`code_context`."""

from __future__ import annotations

from findspot.research.task_signals import WORKTREE, Request
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.context_answers import DEFAULT_TOKENS, context_object, context_text
from findspot.serve.mcp.client import structured_results
from findspot.serve.mcp.target import indexed_project
from findspot.serve.mcp.tool import (
    COUNT,
    FLAG,
    PROJECT,
    READ_ONLY,
    SEARCH_ICON,
    TEXT,
    Answer,
    Arguments,
    TaskSupport,
    Tool,
    gives,
    objects,
    takes,
)
from findspot.serve.mcp.tool_call import Call

_DESCRIPTION = (
    "What a task needs next, from an issue, test output, stack trace, diff or line: code to change, who "
    "relies on it, tests"
)


async def _code_context(call: Call, arguments: Arguments) -> Answer:
    target = await indexed_project(call, arguments["project"])
    request = Request(
        arguments["signal"], arguments["diff"], arguments["path"], arguments["line"], target.under
    )
    context = await call.long(lambda _, cancel: target.project.context(request, cancel), reports=False)
    limit = arguments["max_tokens"] or DEFAULT_TOKENS
    values = context_object(context, limit)
    if structured_results(call.client.name, target.project.settings.serve) == "only":
        return Answer(values, context.summary)
    return Answer(values, context_text(context, limit))


CODE_CONTEXT = Tool(
    name="code_context",
    title="Get context for a task",
    description=_DESCRIPTION,
    enhanced_description=f"{_DESCRIPTION}. **TIP:** `diff: worktree` is for your uncommitted changes.",
    always_loaded=True,
    input_schema=takes(
        {
            "signal": {
                "type": "string",
                "minLength": 1,
                "$comment": "An issue, an intent, a review comment, a stack trace or the output of tests",
            },
            "diff": {
                "type": "string",
                "minLength": 1,
                "description": "Or worktree",
                "$comment": f"A unified diff, `{WORKTREE}` for the uncommitted changes, or a revision",
            },
            "path": {"type": "string", "minLength": 1, "$comment": "A file that the task is about"},
            "line": {"type": "integer", "minimum": 1, "$comment": "A line of that file"},
            "max_tokens": {
                "type": "integer",
                "minimum": MIN_TOKENS,
                "$comment": f"Maximum tokens of the answer (characters / 4). Default: {DEFAULT_TOKENS}",
            },
            "project": PROJECT,
        },
    ),
    output_schema=gives(
        {
            "signal": TEXT,
            "summary": TEXT,
            "nothingFits": FLAG,
            "regions": objects(
                {
                    "path": TEXT,
                    "startLine": COUNT,
                    "endLine": COUNT,
                    "symbol": TEXT,
                    "kind": TEXT,
                    "reason": TEXT,
                    "why": TEXT,
                    "text": TEXT,
                }
            ),
            "leftOut": COUNT,
        }
    ),
    annotations=READ_ONLY,
    icon=SEARCH_ICON,
    handler=_code_context,
    task_support=TaskSupport.OPTIONAL,
)
