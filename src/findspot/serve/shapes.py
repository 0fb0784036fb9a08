"""The JSON objects of answers: the same fields on the command line, over MCP and in the page."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from findspot.core.errors import FindspotError
from findspot.core.model import IndexReport, IndexStatus, Skip
from findspot.core.settings import COMMITTED_FILES, Settings

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import ToolAccess
    from findspot.catalogue.catalogue_build import Built
    from findspot.catalogue.tool_record import CallRecord, ToolDefinition, ToolResults
    from findspot.documents import AddedDocument, IndexInfo, SearchAnswer
    from findspot.serve.activity import Entry
    from findspot.workspace import Asked


def size(number_of_bytes: int) -> str:
    """Return a size such as `812B` or `45MB`."""
    amount = float(number_of_bytes)
    for unit in ("B", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.1f}{unit}" if amount < 10 and unit != "B" else f"{amount:.0f}{unit}"
        amount /= 1024
    return f"{amount:.1f}GB"


def duration(seconds: float) -> str:
    """Return a duration such as `0.4s`, `45s` or `3m 20s`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def warned(values: dict[str, Any], *warnings: str | None) -> dict[str, Any]:
    """Return the values with the warnings, joined to one text."""
    text = " ".join(filter(None, warnings))
    return values | {"warning": text} if text else values


_SPELLED_OUT = 3
_NAMED = 20


def settings_notes(settings: Settings) -> list[str]:
    """Return what is wrong with a project's settings: a few sentences, and the names of the other keys.

    The user's own settings come first: a committed file cannot push them out.
    """
    warnings = sorted(settings.warnings, key=lambda warning: warning.startswith(COMMITTED_FILES))
    notes = [f"{warning}." for warning in warnings[:_SPELLED_OUT]]
    names = [re.findall(r"'([\w.]+)'", warning) for warning in warnings[_SPELLED_OUT:]]
    if names:
        listed = ", ".join([found[0] for found in names if found][:_NAMED])
        about = f" ({listed})" if listed else ""
        notes.append(f"{len(names)} more settings are not used{about}. `findspot config` says why.")
    return notes


def fields_of(value: object, names: str) -> dict[str, Any]:
    """Return attributes by their names in answers, where `total_files` is `totalFiles`; None is left out."""
    values = {name: getattr(value, name) for name in names.split()}
    return {_camel(name): _plain(each) for name, each in values.items() if each is not None}


def known(**values: Any) -> dict[str, Any]:
    """Return the values that there are."""
    return {name: value for name, value in values.items() if value}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, StrEnum) else value


def error_object(error: FindspotError) -> dict[str, Any]:
    return fields_of(error, "code user_message developer_message")


def counts(report: IndexReport) -> dict[str, Any]:
    done = "files_indexed files_unchanged files_removed files_skipped chunks_created total_files total_chunks"
    errors = [{"path": skip.path, "reason": skip.detail or str(skip.reason)} for skip in report.errors]
    return fields_of(report, done) | {"errors": errors, "duration": duration(report.seconds)}


def report_object(report: IndexReport, *, forced: bool) -> dict[str, Any]:
    """Return the answer of `index_codebase`."""
    return {"status": "success", "path": report.project_path, "forced": forced, **counts(report)}


def status_object(status: IndexStatus) -> dict[str, Any]:
    """Return the answer of `get_index_status`."""
    held = "repository commit index_path total_files total_chunks total_docs total_doc_chunks last_updated"
    stands = "watcher_active query_ready pending_changes"
    made = "last_error model store strategy languages skipped"
    return {
        "status": str(status.state),
        "projectPath": status.project_path,
        **fields_of(status, held),
        "storageSize": size(status.storage_bytes),
        **fields_of(status, stands),
        **known(progress=status.progress and fields_of(status.progress, "done total phase")),
        **fields_of(status, made),
        **known(notes=list(status.notes)),
    }


def asked_status(asked: Asked) -> dict[str, Any]:
    """Return the status of a project, or of a workspace with each of its members."""
    from findspot.workspace import Workspace, is_workspace  # a server starts without it

    around = {"workspace": str(asked.folder)} if isinstance(asked, Workspace) else {}
    values = status_object(asked.status()) | around
    if is_workspace(asked):
        statuses = asked.statuses(check_disk=False)
        values["members"] = [{"name": name, **status_object(each)} for name, each in statuses.items()]
    return values


def described(asked: Asked) -> str:
    """Return what is asked, in words."""
    from findspot.workspace import is_workspace  # a server starts without it

    return f"the {len(asked.members)} projects of this workspace" if is_workspace(asked) else "this project"


def project_object(identity: str, status: IndexStatus) -> dict[str, Any]:
    """Return one entry of `list_projects`."""
    about = {"id": identity, "path": status.project_path, **fields_of(status, "repository commit")}
    figures = fields_of(status, "total_files total_chunks last_updated")
    return about | {"status": str(status.state), **figures, "storageSize": size(status.storage_bytes)}


def skip_object(skip: Skip) -> dict[str, str]:
    return {"path": skip.path, "reason": str(skip.reason), "detail": skip.detail}


def tool_results_object(results: ToolResults) -> dict[str, Any]:
    """Return the answer of `search_tools`."""
    fields = "name description server_name score match_type"
    listed = [fields_of(tool, fields) | known(title=tool.title) for tool in results.tools]
    answer: dict[str, Any] = {"tools": listed, **fields_of(results, "total total_indexed")}
    answer["searchTimeMs"] = round(results.elapsed_ms, 1)
    if results.message:
        answer |= {"message": results.message, "nearest": list(results.nearest)}
    return warned(answer, results.warning)


def tool_object(tool: ToolDefinition, access: ToolAccess, warning: str | None = None) -> dict[str, Any]:
    """Return the answer of `get_tool`: the tool, and whether and how it can be called."""
    from findspot.catalogue.indexfile import definition_object

    values = {
        "tool": definition_object(tool),
        "serverName": tool.server_name,
        "access": _access(tool, access),
    }
    return warned(values, warning)


def _access(tool: ToolDefinition, access: ToolAccess) -> dict[str, str]:
    is_ready = access.state == "ready"
    return known(
        state=str(access.state),
        transport=access.transport,
        configuration=str(access.spec.source) if access.spec else None,
        use=f"call_tool, or findspot tools call {tool.name} --args JSON" if is_ready else None,
        reason=" ".join(filter(None, (f"{access.reason}." if access.reason else "", access.hint))),
    )


def call_object(call: CallRecord) -> dict[str, Any]:
    about = {"serverName": call.server, "durationMs": round(call.duration_ms, 1)}
    return fields_of(call, "time tool client outcome argument_bytes answer_bytes") | about


def activity_object(entry: Entry) -> dict[str, Any]:
    names = "time client project tool question answers found outcome duration_ms tokens"
    return fields_of(entry, names)


def catalogue_object(path: str, built: Built) -> dict[str, Any]:
    index = built.index
    about = {"status": "success" if built.answered else "failed", "path": path, "embedded": built.embedded}
    held = {"totalTools": len(index.tools), "hasEmbeddings": index.has_embeddings}
    servers = [
        {"name": each.name, "status": str(each.outcome), "tools": each.tools} | known(error=each.error)
        for each in built.servers
    ]
    remarks = {"changedTools": list(built.changed), "notes": list(built.notes)}
    return about | held | {"embeddingProvider": index.provider, "servers": servers} | remarks


def document_results_object(answer: SearchAnswer) -> dict[str, Any]:
    """Return the answer of `search_index`."""
    results = [
        {"doc_id": each.doc_id, "score": each.score}
        | {"highlights": list(each.highlights), "metadata": dict(each.metadata)}
        for each in answer.results
    ]
    parsed = answer.query.as_lists()
    return {"results": results, "total_matches": answer.total_matches, "query_parsed": parsed}


def added_document_object(added: AddedDocument) -> dict[str, Any]:
    """Return the answer of `search_add_document`."""
    return {"status": added.status, "doc_id": added.doc_id, "token_count": added.token_count}


def created_index_object(made: IndexInfo) -> dict[str, Any]:
    """Return the answer of `search_create_index`."""
    return {"status": "created", "index_name": made.name, "backend": made.backend}
