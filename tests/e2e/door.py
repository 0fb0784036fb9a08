"""`findspot serve --http` in its own process, and bare requests to it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from e2e.harness import COMMAND, PATIENCE_S, environment
from warm_start import Popen

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bare", "version": "1"},
    },
}


def request(
    address: str, method: str, body: bytes | None = None, path: str | None = None, **headers: str
) -> http.client.HTTPResponse:
    """Send one request on a connection of its own; `_` in the name of a header stands for `-`."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    connection.request(method, parts.path if path is None else path, body, sent)
    return connection.getresponse()


def post(address: str, message: Any = HELLO, **headers: str) -> http.client.HTTPResponse:
    """Send a message, or bytes as they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return request(address, "POST", body, **headers)


def message_in(body: bytes) -> dict[str, Any]:
    """The one message of a response, in JSON or as the last event of a stream."""
    events = [line[5:] for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip()]
    message: dict[str, Any] = json.loads(events[-1] if events else body)
    return message


class Door:
    """A server that has been started, and its standard error."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        said = self.line()
        assert said.startswith("Findspot serves at "), said
        self.address = said.split()[-1]

    def line(self) -> str:
        """Wait for the next line on standard error."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()


@contextmanager
def opened(home: Path, cwd: Path, *options: str, files: int | None = None, **settings: str) -> Iterator[Door]:
    """Start a server on a free port, with at most `files` open files; check that it ends cleanly."""
    command = [*COMMAND, "--http", "127.0.0.1:0", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with Popen(
        command, cwd=cwd, env=environment(home, **settings), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Door(process)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) in (0, 128 + signal.SIGTERM)


@contextmanager
def serving(home: Path, cwd: Path, *options: str, **settings: str) -> Iterator[str]:
    """Start a server that needs no token unless one is named; give its address."""
    guarded = any("token" in option for option in options) or "FINDSPOT_HTTP_TOKEN" in settings
    with opened(home, cwd, *options, *(() if guarded else ("--no-token",)), **settings) as door:
        yield door.address
