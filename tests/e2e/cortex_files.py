"""Chunk files of another program, and the service that embeds questions about them."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

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


class EmbeddingService:
    """A real service on a loopback port, which can be made to misbehave."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.health_checks = 0
        self.answer: Any = None
        """Instead of vectors, if set: a status, or a body."""
        self.blocked = threading.Event()
        self.blocked.set()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.health_checks += 1
                self._send(200, b'{"status":"ok"}')

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append({"path": self.path, **body})
                service.blocked.wait(60)
                if isinstance(service.answer, int):
                    self._send(service.answer, b"no")
                elif service.answer is not None:
                    self._send(200, json.dumps(service.answer).encode())
                else:
                    vectors = [embedding(text) for text in body["texts"]]
                    self._send(200, json.dumps({"embeddings": vectors}).encode())

            def _send(self, status: int, data: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self.blocked.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
