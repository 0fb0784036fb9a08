"""`metadata.json`, for people and other programs; Findspot itself reads its stores."""

from __future__ import annotations

from pathlib import Path

from findspot.core.files import folder_bytes, write_json
from findspot.core.model import Corpus
from findspot.store.lance.layout import DOCS_DATABASE
from findspot.store.protocol import Store


def write_metadata(store: Store, root: Path) -> None:
    """Write down what the specification has there: the totals that the status has, and the docs' part."""
    meta, counts = store.figures()
    files, chunks = counts.get(Corpus.CODE, (0, 0))
    docs, doc_chunks = counts.get(Corpus.DOCS, (0, 0))
    size = folder_bytes(store.folder)
    # Of the default store, whose files hold both, the share that the chunks have.
    docs_size = folder_bytes(store.folder / DOCS_DATABASE) or size * doc_chunks // max(1, chunks + doc_chunks)
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
