"""A remote server is used with a login that the user made, and nothing else gets its token."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from program import TIMEOUT_S, Outcome, Program
from remote_server import RemoteServer, browse
from trust.conftest import MakeFolder, Serve


def log_in(findspot: Program, project: Path, **popen: Any) -> tuple[str, Outcome]:
    """Run `tools login`, and open the address that it prints, as a person would."""
    arguments = ("tools", "login", "web", "--no-browser", "--json")
    with findspot.start(*arguments, cwd=project, **popen) as process:
        assert process.stderr is not None
        shown = [process.stderr.readline() for _ in range(2)]
        page = browse(shown[1].strip())
        out, err = process.communicate(timeout=TIMEOUT_S)
    return page, Outcome(process.returncode, out, "".join(shown) + err)


def test_a_server_with_a_login(findspot: Program, make: MakeFolder, serve: Serve, home: Path) -> None:
    """documents-chunks-tools B2: OAuth was ignored, and no command logged in."""
    with RemoteServer() as server:
        project = make({".mcp.json": json.dumps({"mcpServers": {"web": {"url": server.url}}})})
        own = {"env": {"HOME": str(make({}, "user"))}}
        early = findspot("tools", "login", "web", cwd=project, **own)
        assert (early.code, "There is no remote server 'web'" in early.err) == (2, True)

        refused = findspot("tools", "index", "--yes", cwd=project, **own)
        assert refused.code == 1
        assert "web: The server asks for a login. Run `findspot tools login web`." in refused.err
        assert "/authorize" not in server.paths()

        stopped = findspot.interrupted(
            signal.SIGINT, "tools", "login", "web", "--no-browser", cwd=project, **own
        )
        assert (stopped.code, list((home / "logins").glob("*.json"))) == (130, [])

        page, done = log_in(findspot, project, **own)
        assert (done.code, done.json) == (0, {"server": "web", "status": "logged_in"})
        assert "You can close this window" in page
        assert "Read its tools: `findspot tools index`\n" in done.err

        indexed = findspot("tools", "index", cwd=project, **own)
        assert (indexed.code, "1 tool in" in indexed.out) == (0, True), indexed.err

        pipe = serve(project, HOME=own["env"]["HOME"])
        called = {"name": "web__add", "arguments": {"a": 1, "b": 2}, "confirm": True}
        assert pipe.call("call_tool", **called)["content"][0]["text"] == "3"
        server.expire()
        assert pipe.call("call_tool", **called)["content"][0]["text"] == "3"
        for issued in (*server.tokens, *server.refresh_tokens):
            holders = [
                path for path in home.rglob("*") if path.is_file() and issued in path.read_text("latin-1")
            ]
            assert [path.parent for path in holders] == [home / "logins"]
            assert not any(issued in text for run in (done, indexed) for text in (run.out, run.err))

        assert findspot("tools", "logout", "web", cwd=project, **own).out == "Logged out of web.\n"
        server.expire()
        refused = pipe.call("call_tool", **called)
        assert refused["isError"]
        assert "findspot tools login web" in json.dumps(refused)
        assert "not known whether" not in json.dumps(refused), "it was refused before anything was done"
        assert list((home / "logins").glob("*.json")) == []
