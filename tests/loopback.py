"""A real HTTP server on a loopback port whose answers a test decides."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 6


@dataclass
class Reply:
    """What the server sends; `promised` is the length its head gives, if not the body's."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    """What the server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Loopback:
    """Answers with `answer(request)`; keeps every request."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._serve(None)

            def do_HEAD(self) -> None:
                self._serve(None)

            def do_POST(self) -> None:
                self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _serve(self, body: Any) -> None:
                asked = Request(
                    self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body
                )
                outer.requests.append(asked)
                reply = outer.answer(asked)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(reply.promised or len(reply.data)))
                with contextlib.suppress(ConnectionError):  # a client that did not wait
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(reply.data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def vector(text: str) -> list[float]:
    """A vector that tells texts apart."""
    return [1.0, float(len(text)), *[float(text.count(letter)) for letter in "aeio"]]


def embeddings_api(request: Request) -> Reply:
    """What OpenAI's and Voyage's services answer; out of order, as the field `index` allows."""
    rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(request.body["input"])]
    return Reply(body={"object": "list", "data": rows[::-1], "model": request.body["model"]})


def embed_service(request: Request, of: Callable[[str], list[float]] = vector) -> Reply:
    """What a service of the provider `http` answers."""
    if request.method == "GET":
        return Reply(body={"status": "ok"})
    return Reply(body={"embeddings": [of(text) for text in request.body["texts"]]})
