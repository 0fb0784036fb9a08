"""An S3 server on loopback, and a proxy before it that fails where a test says so."""

from __future__ import annotations

import contextlib
import http.client
import logging
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from moto.server import ThreadedMotoServer

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
}

_PATIENCE_S = 180
"""For one answer of the server behind, which is on this machine."""


class Bucket:
    """A bucket on a server of its own."""

    def __init__(self, name: str = "bucket") -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        host, port = self.server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")).close()


def of_objects(method: str, path: str) -> bool:
    """Whether a request is for one object: lists are asked for six times before lancedb gives up."""
    return "list-type" not in path


@dataclass
class Fault:
    """What happens to a request in place of its answer."""

    status: int = 0
    code: str = ""
    """With a status: the error that the service names."""
    how: str = "answer"
    """`answer` with the status, `drop` the connection, `cut` the answer short, or `stall`: say nothing."""
    concerns: Callable[[str, str], bool] = of_objects
    times: int | None = None
    """How often; for ever where it is None."""
    met: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def takes(self, method: str, path: str) -> bool:
        if self.met == self.times or not self.concerns(method, path):
            return False
        self.met += 1
        self.reached.set()
        return True


class FaultyProxy:
    """Hands requests on to a server, but for those that the fault concerns."""

    def __init__(self, endpoint: str) -> None:
        self._fault: Fault | None = None
        self.requests: list[str] = []
        self._behind = urlsplit(endpoint).netloc
        self._guard = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextlib.contextmanager
    def failing(self, fault: Fault) -> Iterator[Fault]:
        """While it lasts, requests meet the fault; somebody must."""
        self._fault = fault
        try:
            yield fault
            assert fault.met
        finally:
            self._fault = None
            fault.over.set()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                with contextlib.suppress(ConnectionError):  # a client that did not wait
                    proxy._serve(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 - the names that the base class looks for

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        with self._guard:
            self.requests.append(request.path)
            fault = self._fault
            met = fault is not None and fault.takes(request.command, request.path)
        if fault is None or not met:
            _send(request, *self._answer(request, body))
        elif fault.how == "answer":
            text = f"<Error><Code>{fault.code}</Code><Message>No.</Message></Error>"
            _send(request, fault.status, {"Content-Type": "application/xml"}, text.encode())
        else:
            request.close_connection = True
            if fault.how == "stall":
                fault.over.wait()
            elif fault.how == "cut":
                _send(request, *self._answer(request, body), whole=False)

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self._behind, timeout=_PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(request.command, request.path, body, dict(request.headers))
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()


def _send(
    request: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str],
    content: bytes,
    *,
    whole: bool = True,
) -> None:
    about = {name.lower(): value for name, value in headers.items()}
    if request.command != "HEAD":
        about["content-length"] = str(len(content))
    request.send_response_only(status)
    for name, value in about.items():
        if name not in ("transfer-encoding", "connection"):
            request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content if whole else content[: len(content) // 2])
