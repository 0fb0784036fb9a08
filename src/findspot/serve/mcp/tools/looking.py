"""`search_by_path`, `get_index_status` and `list_projects`: looking, and changing nothing."""

from __future__ import annotations

from typing import Any

from findspot.serve.mcp import icons
from findspot.serve.mcp.arguments import Arguments
from findspot.serve.mcp.call import Call
from findspot.serve.mcp.flows import from_index
from findspot.serve.mcp.projects import Target, find_project
from findspot.serve.mcp.registry import Answer, Tool
from findspot.serve.mcp.schemas import (
    COUNT,
    COUNTS,
    FLAG,
    PROJECT,
    READ_ONLY,
    TEXT,
    TEXTS,
    gives,
    objects,
    status_of,
    takes,
)
from findspot.serve.mcp.tools.indexing import warned
from findspot.serve.scope import files_in, pattern_hint
from findspot.serve.shapes import project_object, status_object

STATES = status_of("not_found", "indexing", "ready", "incomplete", "failed")


async def _search_by_path(call: Call, arguments: Arguments) -> Answer:
    pattern, limit, offset = arguments["pattern"], arguments["limit"], arguments["offset"]
    found, hint = await from_index(call, arguments["project"], lambda target: _files(target, pattern))
    values = {"matches": found[offset : offset + limit], "totalMatches": len(found)}
    return Answer(warned(values, *arguments.warnings, *filter(None, [hint])))


def _files(target: Target, pattern: str) -> tuple[list[str], str | None]:
    """Return the paths that match, or what to ask for instead."""
    found = files_in(target.project, target.under, pattern)
    return found, None if found else pattern_hint(target.project, target.under, pattern)


async def _get_index_status(call: Call, arguments: Arguments) -> Answer:
    project = (await find_project(call, arguments["project"])).project
    status = await call.quick(lambda _: project.status())
    return Answer(warned(status_object(status), *project.settings.warnings))


async def _list_projects(call: Call, _arguments: Arguments) -> Answer:
    found = await call.quick(lambda engine: engine.projects())
    listed: list[dict[str, Any]] = [project_object(identity, status) for identity, status in found]
    return Answer({"projects": listed, "total": len(listed)})


SEARCH_BY_PATH = Tool(
    name="search_by_path",
    title="Find files by path",
    description="Find indexed files whose path matches a glob pattern",
    input_schema=takes(
        {
            "pattern": {
                "type": "string",
                "minLength": 1,
                "description": "Glob pattern to match (e.g., '**/auth*.ts', 'src/**/*.md')",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 20,
                "description": "Maximum results to return",
            },
            "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Results to pass over"},
            "project": PROJECT,
        },
        required=("pattern",),
    ),
    output_schema=gives({"matches": TEXTS, "totalMatches": COUNT}),
    annotations=READ_ONLY,
    icon=icons.SEARCH,
    handler=_search_by_path,
)

GET_INDEX_STATUS = Tool(
    name="get_index_status",
    title="Index status",
    description="Show the state of the project's index: what it holds, what was skipped, what is pending.",
    input_schema=takes({"project": PROJECT}),
    output_schema=gives(
        {
            "status": STATES,
            "projectPath": TEXT,
            "indexPath": TEXT,
            "totalFiles": COUNT,
            "totalChunks": COUNT,
            "totalDocs": COUNT,
            "totalDocChunks": COUNT,
            "lastUpdated": TEXT,
            "storageSize": TEXT,
            "watcherActive": FLAG,
            "queryReady": FLAG,
            "pendingChanges": COUNT,
            "progress": {"type": "object", "properties": {"done": COUNT, "total": COUNT, "phase": TEXT}},
            "lastError": TEXT,
            "model": TEXT,
            "secondModel": {"type": "object", "properties": {"model": TEXT, "done": COUNT, "total": COUNT}},
            "store": TEXT,
            "strategy": TEXT,
            "languages": COUNTS,
            "skipped": COUNTS,
            "notes": TEXTS,
        }
    ),
    annotations=READ_ONLY,
    icon=icons.STATUS,
    handler=_get_index_status,
)

LIST_PROJECTS = Tool(
    name="list_projects",
    title="List indexed projects",
    description="List every indexed project with its figures.",
    input_schema=takes({}),
    output_schema=gives(
        {
            "projects": objects(
                {
                    "id": TEXT,
                    "path": TEXT,
                    "status": STATES,
                    "totalFiles": COUNT,
                    "totalChunks": COUNT,
                    "storageSize": TEXT,
                    "lastUpdated": TEXT,
                }
            ),
            "total": COUNT,
        }
    ),
    annotations=READ_ONLY,
    icon=icons.STATUS,
    handler=_list_projects,
)
