"""`serve --http` lets in whom it should, and nobody can keep the others out."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from e2e.door import opened, post, request
from e2e.harness import PATIENCE_S
from findspot.serve.cli.app import findspot as program
from program import Program

from .conftest import MakeFolder

CODE = {"pyproject.toml": "[project]\nname = 'shop'\n", "pay.py": "def pay():\n    pass\n"}


def test_a_token_is_made_and_odd_requests_are_answered(home: Path, make: MakeFolder) -> None:
    """security 12, surface 8.9; protocol smaller and AWKWARD (resumption, TLS origins)."""
    hosts = json.dumps(["search.example"])
    with opened(home, make(CODE), FINDSPOT_HTTP_ALLOWED_HOSTS=hosts) as door:
        token = door.line().partition("Authorization: Bearer ")[2].strip()
        assert len(token) >= 32
        refused = post(door.address)
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert post(door.address, Authorization="Bearer wrong").status == 401
        bearer = {"Authorization": f"Bearer {token}"}
        greeted = post(door.address, **bearer)
        assert greeted.status == 200
        session = bearer | {
            "Mcp_Session_Id": greeted.headers["mcp-session-id"],
            "MCP_Protocol_Version": "2025-11-25",
        }
        assert request(door.address, "GET", **session, Last_Event_ID="7").status == 200
        assert post(door.address, **bearer, Origin="https://search.example").status == 200
        assert post(door.address, **bearer, Origin="https://other.example").status == 403
        assert token not in "".join(file.read_text() for file in (home / "logs").iterdir())


def test_where_the_token_comes_from(home: Path, make: MakeFolder, findspot: Program) -> None:
    """security 12 and 19: from a file or the environment, not from a command line; none only if asked."""
    folder = make(CODE)
    file = folder.parent / "token"
    file.write_text("kept-in-a-file\n")
    with opened(home, folder, "--token-file", str(file)) as door:
        assert post(door.address).status == 401
        assert post(door.address, Authorization="Bearer kept-in-a-file").status == 200
    assert findspot("serve", "--http", "--token-file", folder / "none", cwd=folder).code != 0
    refused = findspot("serve", "--token-file", "x", cwd=folder)
    assert (refused.code, "--token-file needs --http" in refused.err) == (2, True)
    for options in (["--no-token"], ["--tokens", "x"]):
        in_process = CliRunner().invoke(program, ["serve", *options])
        assert (in_process.exit_code, f"{options[0]} needs --http" in in_process.output) == (2, True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux has all of 127.0.0.0/8")
def test_silent_connections_do_not_keep_others_out(home: Path, make: MakeFolder) -> None:
    """security 11: they are closed, one address cannot take all, and nothing floods the log."""
    with opened(home, make(CODE), "--no-token", files=256) as door, ExitStack() as held:
        host, port = urlsplit(door.address).netloc.split(":")
        source = ("127.0.0.2", 0)
        silent = [
            held.enter_context(socket.create_connection((host, int(port)), PATIENCE_S, source))
            for _ in range(300)
        ]
        silent[0].sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert request(door.address, "GET", path="/health").status == 200
        assert post(door.address).status == 200
        for connection in silent:
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        door.process.terminate()
        assert door.process.stderr is not None
        assert len(door.process.stderr.readlines()) < 20
