"""`reindex_project`, `reindex_file` and `delete_index`: changing an index that is there."""

from __future__ import annotations

from findspot.serve.mcp import icons
from findspot.serve.mcp.arguments import Arguments
from findspot.serve.mcp.call import Call
from findspot.serve.mcp.flows import agree, from_index, index
from findspot.serve.mcp.projects import Target, find_project, find_to_index
from findspot.serve.mcp.registry import Answer, TaskSupport, Tool
from findspot.serve.mcp.schemas import (
    CONFIRM,
    COUNT,
    DESTRUCTIVE,
    IDEMPOTENT,
    PROJECT,
    QUESTION,
    TEXT,
    gives,
    status_of,
    takes,
)
from findspot.serve.mcp.tools.indexing import COUNTS, RAN, enclosed, warned
from findspot.serve.shapes import counts

REBUILD_QUESTION = "This will rebuild the entire index. Continue?"
DELETE_QUESTION = "Delete the index for this project? This cannot be undone."


async def _reindex_project(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["project"])
    project, confirmed = target.project, arguments["confirm"]
    about = {"projectPath": str(project.root)}
    await agree(call, REBUILD_QUESTION, about, confirmed=confirmed, needed=True)
    report = await index(call, project, about, force=True, confirmed=confirmed)
    values = {"status": "success", **about, **counts(report), "message": "Index rebuilt successfully"}
    return Answer(warned(values, enclosed(target), *project.settings.warnings, *report.notes))


async def _reindex_file(call: Call, arguments: Arguments) -> Answer:
    def reindexed(target: Target) -> tuple[str, int]:
        path = target.project.roots.relative(arguments["path"])
        return path, target.project.reindex_file(path)

    path, chunks = await from_index(call, arguments["project"], reindexed)
    message = "File re-indexed successfully"
    return Answer({"status": "success", "path": path, "chunksCreated": chunks, "message": message})


async def _delete_index(call: Call, arguments: Arguments) -> Answer:
    project = (await find_project(call, arguments["project"], exact=True)).project
    about = {"projectPath": str(project.root)}
    if await call.quick(lambda _: project.store.folder.exists()):
        await agree(call, DELETE_QUESTION, about, confirmed=arguments["confirm"], needed=True)
    deleted = await call.quick(lambda _: project.delete())
    if not deleted:
        return Answer({"status": "not_found", **about, "message": "There is no index to delete."})
    return Answer({"status": "success", **about, "message": "Index deleted successfully"})


REINDEX_PROJECT = Tool(
    name="reindex_project",
    title="Rebuild the index",
    description="Rebuild the entire index of the current project from scratch. Asks the user first.",
    input_schema=takes({"project": PROJECT, "confirm": CONFIRM}),
    output_schema=gives({"status": RAN, "projectPath": TEXT, **COUNTS, **QUESTION}),
    annotations=DESTRUCTIVE,
    icon=icons.INDEX,
    handler=_reindex_project,
    task_support=TaskSupport.OPTIONAL,
)

REINDEX_FILE = Tool(
    name="reindex_file",
    title="Re-index a file",
    description="Re-index a single file, for instance one that was just changed.",
    input_schema=takes(
        {
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "Relative path to the file (e.g., 'src/auth/login.ts')",
            },
            "project": PROJECT,
        },
        required=("path",),
    ),
    output_schema=gives(
        {"status": status_of("success"), "path": TEXT, "chunksCreated": COUNT, "message": TEXT}
    ),
    annotations=IDEMPOTENT,
    icon=icons.INDEX,
    handler=_reindex_file,
)

DELETE_INDEX = Tool(
    name="delete_index",
    title="Delete the index",
    description=(
        "Delete the index of the current project; the project's own files are not touched. "
        "Asks the user first."
    ),
    input_schema=takes({"project": PROJECT, "confirm": CONFIRM}),
    output_schema=gives(
        {
            "status": status_of("success", "not_found", "cancelled", "confirmation_required"),
            "projectPath": TEXT,
            **QUESTION,
        }
    ),
    annotations=DESTRUCTIVE,
    icon=icons.REMOVE,
    handler=_delete_index,
)
