"""Chunk files of another program, and the service that embeds questions about them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from loopback import Loopback, embed_service

DIMENSIONS = 48
MODEL = "some-model"


def embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector by the words of a text: texts with words in common are near."""
    vector = np.zeros(dimensions)
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % dimensions] += 1
    return [float(value) for value in vector]


def chunk(
    name: str, text: str, kind: str = "definitions", tags: Iterable[str] = (), **more: Any
) -> dict[str, Any]:
    return {
        "id": name,
        "chunk_type": kind,
        "title": f"title of {name}",
        "text": text,
        "embedding": embedding(text),
        "tags": list(tags),
        "metadata": {"source": "code", "file_path": f"{name}.go", "language": "go"},
        "created_at": "2025-10-16T12:35:00Z",
        "updated_at": "2025-10-16T12:36:00Z",
        **more,
    }


def file_value(kind: str, chunks: Iterable[dict[str, Any]], **head: Any) -> dict[str, Any]:
    about = {"model": MODEL, "dimensions": DIMENSIONS, "chunk_type": kind, "version": "2.0.0"}
    return {"_metadata": {**about, "generated": "2025-10-16T12:35:00Z", **head}, "chunks": list(chunks)}


def write_file(folder: Path, name: str, value: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def write_samples(folder: Path) -> None:
    """One file of each kind."""
    write_file(
        folder,
        "code-definitions.json",
        file_value(
            "definitions",
            [
                chunk("login", "check the password of a user", tags=["code", "go", "auth"]),
                chunk("logout", "end the session of a user", tags=["code", "typescript", "auth"]),
                chunk("invoice", "sum the lines of an invoice", tags=["code", "go"]),
            ],
        ),
    )
    write_file(
        folder,
        "code-symbols.json",
        file_value(
            "symbols", [chunk("overview", "password session invoice", "symbols", ["code", "go", "symbols"])]
        ),
    )
    write_file(
        folder,
        "doc-chunks.json",
        file_value(
            "documentation",
            [chunk("guide", "how the password is kept", "documentation", ["documentation", "Architecture"])],
        ),
    )
    write_file(
        folder,
        "code-data.json",
        file_value("data", [chunk("limits", "password length limit", "data", ["code"])]),
    )


def embedding_service() -> Loopback:
    """A service on a loopback port for which texts with words in common are near."""
    return Loopback(partial(embed_service, of=embedding))
