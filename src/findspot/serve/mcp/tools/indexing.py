"""`create_index` and `index_codebase`: making an index, or bringing it up to date."""

from __future__ import annotations

from typing import Any

from findspot.serve.mcp import icons
from findspot.serve.mcp.arguments import Arguments
from findspot.serve.mcp.call import Call
from findspot.serve.mcp.flows import agree, agree_to_folder, index
from findspot.serve.mcp.projects import Target, find_to_index
from findspot.serve.mcp.registry import Answer, TaskSupport, Tool
from findspot.serve.mcp.schemas import (
    CONFIRM,
    COUNT,
    FLAG,
    IDEMPOTENT,
    PROJECT,
    QUESTION,
    TEXT,
    Schema,
    gives,
    objects,
    status_of,
    takes,
)
from findspot.serve.scope import enclosing_note
from findspot.serve.shapes import counts, report_object

RAN = status_of("success", "cancelled", "confirmation_required")

COUNTS: dict[str, Schema] = {
    "filesIndexed": COUNT,
    "filesUnchanged": COUNT,
    "filesRemoved": COUNT,
    "filesSkipped": COUNT,
    "chunksCreated": COUNT,
    "totalFiles": COUNT,
    "totalChunks": COUNT,
    "errors": objects({"path": TEXT, "reason": TEXT}),
    "duration": TEXT,
}


def warned(values: dict[str, Any], *warnings: str | None) -> dict[str, Any]:
    """Return the values with everything a reader should know beside them."""
    said = " ".join(filter(None, warnings))
    return values | {"warning": said} if said else values


def enclosed(target: Target) -> str | None:
    """Return what says that a folder was indexed with the project around it, where it was."""
    return enclosing_note(target.project, target.under) if target.under else None


async def _create_index(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["project"])
    project, confirmed = target.project, arguments["confirm"]
    about = {"projectPath": str(project.root)}
    if not await agree_to_folder(call, project, about, confirmed=confirmed):
        exists = await call.quick(lambda _: project.store.exists)
        question = "Bring the index of this project up to date?" if exists else "Index this project?"
        await agree(call, question, about, confirmed=confirmed, needed=False)
    report = await index(call, project, about, confirmed=confirmed)
    message = "Index created successfully" if report.created else "The index existed and is now up to date"
    values = {"status": "success", **about, **counts(report), "message": message}
    return Answer(warned(values, enclosed(target), *project.settings.warnings, *report.notes))


async def _index_codebase(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["path"])
    project, force, confirmed = target.project, arguments["force"], arguments["confirm"]
    about = {"path": str(project.root)}
    await agree_to_folder(call, project, about, confirmed=confirmed)
    report = await index(call, project, about, force=force, confirmed=confirmed)
    values = report_object(report, forced=force)
    return Answer(warned(values, enclosed(target), *project.settings.warnings, *report.notes))


CREATE_INDEX = Tool(
    name="create_index",
    title="Create index",
    description=(
        "Create the search index of the current project, or bring it up to date. "
        "Asks the user first where the client allows it."
    ),
    input_schema=takes({"project": PROJECT, "confirm": CONFIRM}),
    output_schema=gives({"status": RAN, "projectPath": TEXT, **COUNTS, **QUESTION}),
    annotations=IDEMPOTENT,
    icon=icons.INDEX,
    handler=_create_index,
)

INDEX_CODEBASE = Tool(
    name="index_codebase",
    title="Index a codebase",
    description=(
        "Index a codebase for search. Only files that changed are read again, unless force is set. "
        "A folder outside the client's own is indexed only if the user agrees."
    ),
    input_schema=takes(
        {
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "Absolute path to the directory to index",
            },
            "force": {
                "type": "boolean",
                "default": False,
                "description": "Force re-indexing even if files haven't changed",
            },
            "confirm": CONFIRM,
        },
        required=("path",),
    ),
    output_schema=gives({"status": RAN, "path": TEXT, "forced": FLAG, **COUNTS, **QUESTION}),
    annotations=IDEMPOTENT,
    icon=icons.INDEX,
    handler=_index_codebase,
    task_support=TaskSupport.OPTIONAL,
)
