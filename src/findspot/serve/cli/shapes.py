"""The JSON objects of `--json`: the same fields that the MCP tools answer with."""

from __future__ import annotations

from typing import Any

from findspot.core.model import IndexReport, IndexStatus, Skip
from findspot.serve.cli.output import duration, size


def report_object(report: IndexReport, *, forced: bool) -> dict[str, Any]:
    """`index_codebase`."""
    return {
        "status": "success",
        "path": report.project_path,
        "forced": forced,
        "filesIndexed": report.files_indexed,
        "filesUnchanged": report.files_unchanged,
        "filesRemoved": report.files_removed,
        "filesSkipped": report.files_skipped,
        "chunksCreated": report.chunks_created,
        "totalFiles": report.total_files,
        "totalChunks": report.total_chunks,
        "errors": [{"path": skip.path, "reason": skip.detail or str(skip.reason)} for skip in report.errors],
        "duration": duration(report.seconds),
    }


def status_object(status: IndexStatus) -> dict[str, Any]:
    """`get_index_status`."""
    value: dict[str, Any] = {
        "status": str(status.state),
        "projectPath": status.project_path,
        "indexPath": status.index_path,
        "totalFiles": status.total_files,
        "totalChunks": status.total_chunks,
        "totalDocs": status.total_docs,
        "totalDocChunks": status.total_doc_chunks,
        "lastUpdated": status.last_updated,
        "storageSize": size(status.storage_bytes),
        "watcherActive": status.watcher_active,
        "queryReady": status.query_ready,
        "pendingChanges": status.pending_changes,
        "model": status.model,
        "store": status.store,
        "strategy": status.strategy,
        "languages": status.languages,
        "skipped": status.skipped,
    }
    if status.progress:
        done = status.progress
        value["progress"] = {"done": done.done, "total": done.total, "phase": done.phase}
    if status.last_error:
        value["lastError"] = status.last_error
    if status.notes:
        value["notes"] = list(status.notes)
    return value


def project_object(identity: str, status: IndexStatus) -> dict[str, Any]:
    """One entry of `list_projects`."""
    return {
        "id": identity,
        "path": status.project_path,
        "status": str(status.state),
        "totalFiles": status.total_files,
        "totalChunks": status.total_chunks,
        "storageSize": size(status.storage_bytes),
        "lastUpdated": status.last_updated,
    }


def skip_object(skip: Skip) -> dict[str, str]:
    return {"path": skip.path, "reason": str(skip.reason), "detail": skip.detail}
