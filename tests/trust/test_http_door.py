"""`serve --http` lets in whom it should, and nobody can keep the others out."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.harness import COMMAND, PATIENCE_S, Pipe, environment
from program import Program

from .conftest import MakeFolder

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
CODE = {"pyproject.toml": "[project]\nname = 'shop'\n", "pay.py": "def pay():\n    pass\n"}


class Door:
    """A server that was started with some options, and what it said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self.process = process
        self.said = [process.stderr.readline()]
        self.netloc = urlsplit(self.said[0].split()[-1]).netloc

    def token(self) -> str:
        assert self.process.stderr is not None
        self.said.append(self.process.stderr.readline())
        return self.said[-1].partition("Authorization: Bearer ")[2].strip()

    def ask(
        self, method: str = "POST", body: bytes | None = None, path: str = "/mcp", **headers: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.netloc, timeout=PATIENCE_S)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(HELLO).encode() if body is None and method == "POST" else body
        connection.request(method, path, body, sent)
        return connection.getresponse()


@contextmanager
def opened(home: Path, cwd: Path, *options: str, files: int | None = None, **settings: str) -> Iterator[Door]:
    command = [*COMMAND, "--http", "127.0.0.1:0", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(home, **settings),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Door(process)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def test_a_token_is_made_and_odd_requests_are_answered(home: Path, make: MakeFolder) -> None:
    """security 12, surface 8.9; protocol smaller and AWKWARD (resumption, TLS origins), B8 over HTTP."""
    hosts = json.dumps(["search.example"])
    with opened(home, make(CODE), FINDSPOT_HTTP_ALLOWED_HOSTS=hosts) as door:
        token = door.token()
        assert len(token) >= 32
        assert door.ask().status == 401
        bearer = {"Authorization": f"Bearer {token}"}
        greeted = door.ask(**bearer)
        assert greeted.status == 200
        session = bearer | {
            "Mcp_Session_Id": greeted.headers["mcp-session-id"],
            "MCP_Protocol_Version": "2025-11-25",
        }
        assert door.ask("GET", **session, Last_Event_ID="7").status == 200
        assert door.ask(**bearer, Origin="https://search.example").status == 200
        assert door.ask(**bearer, Origin="https://other.example").status == 403
        cut = b'{"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "x:\\ud83d"}}'
        assert b"-32002" in door.ask(body=cut, **session).read()
        assert token not in "".join(file.read_text() for file in (home / "logs").iterdir())


def test_where_the_token_comes_from(home: Path, make: MakeFolder, findspot: Program) -> None:
    """security 12 and 19: from a file or the environment, not from a command line; none only if asked."""
    folder = make(CODE)
    file = folder.parent / "token"
    file.write_text("kept-in-a-file\n")
    with opened(home, folder, "--token-file", str(file)) as door:
        assert door.ask().status == 401
        assert door.ask(Authorization="Bearer kept-in-a-file").status == 200
    with opened(home, folder, "--no-token") as door:
        assert door.ask().status == 200
    for options in (["--token", "x"], ["--token-file", "x"], ["--no-token"], ["--tokens", "x"]):
        refused = findspot("serve", *options, cwd=folder)
        assert refused.code == 2
        assert f"{options[0]} needs --http" in refused.err
    assert findspot("serve", "--http", "--token-file", folder / "none", cwd=folder).code != 0
    assert "needs a token" in findspot("serve", "--http", "0.0.0.0:0", "--no-token", cwd=folder).err


def test_read_only_works_on_standard_input_too(home: Path, make: MakeFolder) -> None:
    """protocol MISSING."""
    with Pipe(home, make(CODE), "--read-only") as pipe:
        pipe.initialize()
        names = {tool["name"] for tool in pipe.result("tools/list", {})["tools"]}
        assert "search_code" in names
        assert not {"index_codebase", "delete_index"} & names
        assert pipe.error("tools/call", {"name": "index_codebase", "arguments": {"path": "."}}) == -32602


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux has all of 127.0.0.0/8")
def test_silent_connections_do_not_keep_others_out(home: Path, make: MakeFolder) -> None:
    """security 11: they are closed, one address cannot take all, and nothing floods the log."""
    with opened(home, make(CODE), "--no-token", files=256) as door, ExitStack() as held:
        host, port = door.netloc.split(":")
        source = ("127.0.0.2", 0)
        silent = [
            held.enter_context(socket.create_connection((host, int(port)), PATIENCE_S, source))
            for _ in range(300)
        ]
        silent[0].sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert door.ask("GET", path="/health").status == 200
        assert door.ask().status == 200
        for connection in silent:
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        door.process.terminate()
        assert door.process.stderr is not None
        assert len(door.process.stderr.readlines()) < 20
