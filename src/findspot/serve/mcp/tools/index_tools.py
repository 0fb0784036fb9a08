"""The tools that make, change and describe indexes, from `create_index` to `list_projects`."""

from __future__ import annotations

from typing import Any

from findspot.core.model import IndexReport
from findspot.dependencies.project_dependencies import list_dependencies, summary
from findspot.serve.arguments import CONFIRM, PROJECT, flag, text
from findspot.serve.mcp.target import (
    Target,
    agree,
    agree_to_folder,
    find_project,
    find_to_index,
    from_index,
    index,
)
from findspot.serve.mcp.tool import (
    DESTRUCTIVE,
    IDEMPOTENT,
    QUESTION,
    Answer,
    Arguments,
    TaskSupport,
    Tool,
)
from findspot.serve.mcp.tool_call import Call
from findspot.serve.project_files import (
    asked_status,
    delete_question,
    described,
    enclosing_note,
    rebuild_question,
)
from findspot.serve.shapes import (
    COUNTS,
    LISTED_PROJECT,
    STATES,
    STATUS,
    among,
    report_object,
    settings_notes,
    warned,
)
from findspot.workspace import project_of

RAN = among("success", "cancelled", "confirmation_required")


def _indexed(target: Target, values: dict[str, Any], report: IndexReport) -> Answer:
    enclosing = enclosing_note(target.project, target.under) if target.under else None
    return Answer(warned(values, enclosing, *settings_notes(target.asked.settings), *report.notes))


async def _create_index(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["project"])
    project = target.asked
    about = {"projectPath": str(project.root)}
    if not await agree_to_folder(call, project, about):
        what = described(project)
        exists = await call.quick(lambda _: project.indexed)
        question = f"Bring the index of {what} up to date?" if exists else f"Index {what}?"
        await agree(call, question, about, needed=False)
    report = await index(call, project, about)
    message = "Index created successfully" if report.created else "The index existed and is now up to date"
    values = {"status": "success", **about, **COUNTS(report), "message": message}
    return _indexed(target, values, report)


async def _index_codebase(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["path"])
    about, force = {"path": str(target.asked.root)}, arguments["force"]
    await agree_to_folder(call, target.asked, about)
    report = await index(call, target.asked, about, force=force)
    return _indexed(target, report_object(report, forced=force), report)


CREATE_INDEX = Tool(
    name="create_index",
    title="Create index",
    description="Create or update the search index of the current project. Asks the user first.",
    search_hint="create or update the search index of this project",
    arguments={"project": PROJECT, "confirm": CONFIRM},
    output={"status": RAN, "projectPath": str, **COUNTS.kinds, **QUESTION},
    annotations=IDEMPOTENT,
    handler=_create_index,
)

INDEX_CODEBASE = Tool(
    name="index_codebase",
    title="Index a codebase",
    description=(
        "Index a folder or repository, or update its index. Outside the client's folders the user must agree."
    ),
    search_hint="index a folder or repository for code search",
    arguments={
        "path": {"type": "string", "minLength": 1, "description": "Absolute path"},
        "force": flag("Read unchanged files again"),
        "confirm": CONFIRM,
    },
    required=("path",),
    output={"status": RAN, "path": str, "forced": bool, **COUNTS.kinds, **QUESTION},
    annotations=IDEMPOTENT,
    handler=_index_codebase,
    task_support=TaskSupport.OPTIONAL,
)


async def _reindex_project(call: Call, arguments: Arguments) -> Answer:
    target = await find_to_index(call, arguments["project"])
    about = {"projectPath": str(target.project.root)}
    await agree(call, rebuild_question(target.project), about, needed=True)
    report = await index(call, target.project, about, force=True)
    values = {"status": "success", **about, **COUNTS(report), "message": "Index rebuilt successfully"}
    return _indexed(target, values, report)


async def _reindex_file(call: Call, arguments: Arguments) -> Answer:
    def reindexed(target: Target) -> tuple[str, int]:
        path = target.asked.roots.relative(arguments["path"])
        project, inside = project_of(target.asked, path)
        return path, project.reindex_file(inside)

    path, chunks = await from_index(call, arguments["project"], reindexed)
    message = "File re-indexed successfully"
    return Answer({"status": "success", "path": path, "chunksCreated": chunks, "message": message})


async def _delete_index(call: Call, arguments: Arguments) -> Answer:
    project = (await find_project(call, arguments["project"], exact=True)).project
    about = {"projectPath": str(project.root)}
    if await call.quick(lambda _: project.store.folder.exists()):
        await agree(call, delete_question(project), about, needed=True)
    deleted = await call.quick(lambda _: project.delete())
    if not deleted:
        return Answer({"status": "not_found", **about, "message": "There is no index to delete."})
    return Answer({"status": "success", **about, "message": "Index deleted successfully"})


REINDEX_PROJECT = Tool(
    name="reindex_project",
    title="Rebuild the index",
    description="Rebuild the project's index from scratch. Asks the user first.",
    search_hint="rebuild a damaged or outdated search index",
    arguments={"project": PROJECT, "confirm": CONFIRM},
    output={"status": RAN, "projectPath": str, **COUNTS.kinds, **QUESTION},
    annotations=DESTRUCTIVE,
    handler=_reindex_project,
    task_support=TaskSupport.OPTIONAL,
)

REINDEX_FILE = Tool(
    name="reindex_file",
    title="Re-index a file",
    description="Update the index of one file that changed.",
    search_hint="update the search index after editing one file",
    arguments={
        "path": text("Relative path of the file, such as 'src/auth/login.ts'"),
        "project": PROJECT,
    },
    required=("path",),
    output={"status": among("success"), "path": str, "chunksCreated": int, "message": str},
    annotations=IDEMPOTENT,
    handler=_reindex_file,
)

DELETE_INDEX = Tool(
    name="delete_index",
    title="Delete the index",
    description="Delete the project's index; its files stay. Asks the user first.",
    search_hint="remove the search index of this project",
    arguments={"project": PROJECT, "confirm": CONFIRM},
    output={
        "status": among("success", "not_found", "cancelled", "confirmation_required"),
        "projectPath": str,
        **QUESTION,
    },
    annotations=DESTRUCTIVE,
    handler=_delete_index,
)


async def _get_index_status(call: Call, arguments: Arguments) -> Answer:
    project = (await find_project(call, arguments["project"])).asked
    answer = await call.quick(lambda _: asked_status(project))
    dependencies = await call.quick(lambda _: summary(list_dependencies(project.root)))
    answer |= {"dependencies": dependencies} if dependencies else {}
    return Answer(warned(answer, *settings_notes(project.settings)))


async def _list_projects(call: Call, _arguments: Arguments) -> Answer:
    projects = await call.quick(lambda engine: engine.projects())
    listed = [LISTED_PROJECT(status, id=identity) for identity, status in projects]
    return Answer({"projects": listed, "total": len(listed)})


GET_INDEX_STATUS = Tool(
    name="get_index_status",
    title="Index status",
    description="Show whether the index is up to date, and files skipped while indexing.",
    search_hint="is this project indexed, index size, skipped files",
    arguments={"project": PROJECT},
    output={
        **STATUS.kinds,
        "workspace": str,
        "dependencies": dict,
        "members": [{"name": str, "status": STATES, "projectPath": str}],
    },
    handler=_get_index_status,
)

LIST_PROJECTS = Tool(
    name="list_projects",
    title="List indexed projects",
    description="List indexed projects with their size.",
    search_hint="which projects are indexed on this machine",
    arguments={},
    output={"projects": [LISTED_PROJECT], "total": int},
    handler=_list_projects,
)
