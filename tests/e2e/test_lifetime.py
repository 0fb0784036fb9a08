"""How the server lives and ends: nothing but protocol on its output, and a clean end however it comes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.conftest import Connect
from e2e.harness import COMMAND, PATIENCE_S, Connection, Pipe, environment
from e2e.sample import make_large
from held import Gate
from warm_start import Popen

NOISE = """
import os, sys
print("stray line of a library")
sys.stdout.flush()
os.write(1, b"stray bytes of an extension\\n")
os.system("echo stray line of a child; cat")
def dumps(value):
    print("and another")
    return "noise"
"""


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "closed input"])
def test_it_ends_cleanly_when_idle(end: str, home: Path, shop: Path) -> None:
    with Pipe(home, shop) as pipe:
        pipe.initialize()
        pipe.answer(pipe.ask_tool("get_index_status", {}))
        if end == "closed input":
            pipe.close_input()
        else:
            pipe.process.send_signal(getattr(signal, end))
        assert pipe.ended() == 0
        assert pipe.errors == []


def test_it_ends_cleanly_when_the_client_vanishes_while_indexing(tmp_path: Path) -> None:
    project = make_large(tmp_path / "project", 100)
    gate = Gate(project, tmp_path / "gate")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {
        "name": "index_codebase",
        "arguments": {"path": str(project), "confirm": True},
        "_meta": {"progressToken": 1},
    }
    with Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path / "home", PYTHONPATH=gate.path),
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for number, (method, params) in enumerate((("initialize", hello), ("tools/call", call))):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        while json.loads(process.stdout.readline()).get("params", {}).get("progress", 0) == 0:
            pass
        process.stdout.close()
        process.stdin.close()
        errors = process.stderr.read().decode()
        assert process.wait(PATIENCE_S) == 0
        assert errors == ""


def test_input_that_ends_before_it_begins_is_no_error(pipe: Pipe) -> None:
    pipe.close_input()
    assert pipe.ended() == 0
    assert pipe.errors == []


def test_stray_output_never_reaches_the_client(
    server: Connection, tmp_path: Path, home: Path, shop: Path
) -> None:
    """A library that prints, an extension that writes and a child that echoes and reads."""
    (tmp_path / "toon_format.py").write_text(NOISE)
    with Pipe(home, shop, PYTHONPATH=str(tmp_path)) as pipe:
        pipe.initialize()
        asked = {"query": "login", "format": "toon"}
        answer = pipe.answer(pipe.ask_tool("search_code", asked))["result"]
        assert answer["content"][0]["text"] == "noise"
        assert pipe.answer(pipe.ask_tool("list_projects", {}))["result"]["isError"] is False
        pipe.close_input()
        assert pipe.ended() == 0
        assert pipe.impure == []
        assert "stray line of a child\n" in pipe.errors


def test_an_unexpected_error_tells_no_internals(
    connect: Connect, server: Connection, shop: Path, home: Path, tmp_path: Path
) -> None:
    """A broken package must not break the server, nor show its trace to the client."""
    (tmp_path / "toon_format.py").write_text("def dumps(value):\n    raise RuntimeError('the disk melted')\n")
    with connect(shop, env={"PYTHONPATH": str(tmp_path)}) as broken:
        result = broken.call("search_code", query="login", format="toon")
        assert result.is_error
        assert isinstance(result.structured_content, dict)
        assert result.structured_content["code"] == "INTERNAL_ERROR"
        assert "Traceback" not in result.model_dump_json()
        assert broken.values("search_code", query="login")["results"]
    assert "the disk melted" in (home / "logs" / "findspot.log").read_text()
