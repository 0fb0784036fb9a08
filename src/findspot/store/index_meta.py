"""What an index says about itself: how far it is built, and `metadata.json` with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from findspot.core.files import folder_bytes, write_json
from findspot.core.model import Corpus
from findspot.store.store_protocol import Store

INCOMPLETE = "incomplete"
"""Being built, or interrupted: whoever keeps the index fresh goes on with it."""

STOPPED = "stopped"
"""Stopped on request: it stays as it is until somebody asks for it again."""

COMPLETE = "complete"


def was_stopped(meta: Mapping[str, str]) -> bool:
    """Return whether building the index was stopped on request."""
    return meta.get("build") == STOPPED


def unfinished(meta: Mapping[str, str], files: int, *, being_written: bool) -> str | None:
    """Return what answers from an unfinished index of `files` have to say; None where it is complete."""
    if meta.get("build") == COMPLETE:
        return None
    total = max(files, int(meta.get("total", 0)))
    held = f"only {files} of {total} files are indexed"
    if was_stopped(meta):
        return f"Indexing was stopped: {held}. Index the project again to go on."
    if being_written:
        return f"The index is still being built: {meta.get('done', 0)} of {total} files."
    return f"Indexing was interrupted: {held} so far. Index the project again to go on."


def write_metadata(store: Store, root: Path) -> None:
    """Write down what the specification has there: the totals that the status has, and the docs' part."""
    meta, counts = store.figures()
    files, chunks = counts.get(Corpus.CODE, (0, 0))
    docs, doc_chunks = counts.get(Corpus.DOCS, (0, 0))
    size = folder_bytes(store.folder)
    docs_size = size * doc_chunks // max(1, chunks + doc_chunks)  # the files hold both
    updated = meta.get("updated_at")
    write_json(
        store.folder / "metadata.json",
        {
            "version": "1.0.0",
            "projectPath": str(root),
            "createdAt": meta.get("created_at"),
            "lastFullIndex": meta.get("last_full_index"),
            "lastIncrementalUpdate": updated,
            "stats": {
                "totalFiles": files + docs,
                "totalChunks": chunks + doc_chunks,
                "storageSizeBytes": size,
            },
            "docsStats": {
                "totalDocs": docs,
                "totalDocChunks": doc_chunks,
                "docsStorageSizeBytes": docs_size,
            },
            "lastDocsIndex": updated if docs else None,
        },
    )
