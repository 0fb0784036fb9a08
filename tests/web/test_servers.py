"""MCP servers on the page: a person agrees to one, tries its tools, disables it and logs in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from remote_server import RemoteServer, browse

from .conftest import Visit
from .served import Home, Served, make_project, serving

pytestmark = pytest.mark.programs

CALLING = Path(__file__).parents[1] / "calling_server.py"


def known_servers(folder: Path, **entries: dict[str, Any]) -> tuple[Home, Path]:
    """A project whose catalogue knows servers that nobody has agreed to, besides one that fails."""
    home, root = Home(folder), make_project(folder / "shop")
    servers = folder / "servers.json"
    failing = {"failing": {"command": "/no/such/program"}}
    servers.write_text(json.dumps({"mcpServers": failing}))
    home.run("tools", "index", servers, "--yes", cwd=root, code=1)
    servers.write_text(json.dumps({"mcpServers": failing | entries}))
    return home, root


def test_a_server_is_agreed_to_tried_and_disabled(visit: Visit, tmp_path: Path) -> None:
    home, root = known_servers(tmp_path, calling={"command": sys.executable, "args": [str(CALLING)]})
    with serving(home, root) as served:
        window = visit(f"{served.address}#/tools")
        server = window.get_by_label("Server calling")
        expect(server.locator(".pill")).to_have_text("Not agreed")
        agree = server.get_by_role("button", name="Agree to calling")
        agree.press("Enter")
        dialog = window.get_by_role("dialog")
        expect(dialog).to_contain_text(str(CALLING))
        dialog.get_by_role("button", name="Cancel").click()
        expect(server.locator(".pill")).to_have_text("Not agreed")
        agree.press("Enter")
        dialog.get_by_role("button", name="Agree").click()
        expect(server.locator(".pill")).to_have_text("Ready")
        server.locator("summary").first.press("Enter")
        echo = server.locator(".tool", has_text="echo")
        echo.locator("summary").first.press("Enter")
        echo.get_by_role("button", name="Call", exact=True).press("Enter")
        expect(echo.get_by_role("region", name="Answer")).to_contain_text('"pid"')
        expect(window.get_by_role("region", name="Calls", exact=True)).to_contain_text("calling__echo")
        echo.get_by_role("button", name="Disable calling__echo").click()
        expect(server.locator("summary").first).to_contain_text("1 disabled")
        server.get_by_role("button", name="Disable calling", exact=True).click()
        expect(server.locator(".pill")).to_have_text("Disabled")
        server.get_by_role("button", name="Enable calling", exact=True).click()
        expect(server.locator(".pill")).to_have_text("Ready")
        window.get_by_label("Find a tool").fill("structured")
        found = window.locator("#found-tools .tool")
        expect(found.first).to_contain_text("calling__structured")
        window.keyboard.press("Escape")
        expect(server).to_be_visible()


def test_only_what_was_shown_is_agreed_to(tmp_path: Path) -> None:
    home, root = known_servers(tmp_path, calling={"command": sys.executable, "args": [str(CALLING)]})
    with serving(home, root) as served:
        named = {server["name"]: server for server in served.ask("servers")[1]["servers"]}
        changed = {"command": sys.executable, "args": [str(CALLING), "offers"]}
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"calling": changed}}))
        seen = named["calling"]["version"]
        status, refused = served.ask("servers/calling/agree", "POST", version=seen)
        assert (status, refused["hint"]) == (400, "Look at it again before you agree.")
        assert served.ask("servers/calling/agree", "POST")[0] == 400
        assert served.ask("servers")[1]["servers"][0]["state"] == "new"


DESTRUCTIVE = """
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
server = MCPServer("store", log_level="CRITICAL")
@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def drop(name: str) -> str:
    return f"dropped {name}"
server.run()
"""


def test_a_call_asks_before_it_may_destroy_something(visit: Visit, tmp_path: Path) -> None:
    home, root = known_servers(tmp_path, store={"command": sys.executable, "args": ["-c", DESTRUCTIVE]})
    with serving(home, root) as served:
        window = visit(f"{served.address}#/tools", expect_errors=True)
        server, dialog = window.get_by_label("Server store"), window.get_by_role("dialog")
        server.get_by_role("button", name="Agree to store").click()
        dialog.get_by_role("button", name="Agree").click()
        expect(server.locator(".pill")).to_have_text("Ready")
        server.locator("summary").first.click()
        server.locator(".tool summary").first.click()
        server.get_by_label("name string, required").fill("orders")
        call = server.get_by_role("button", name="Call", exact=True)
        call.click()
        expect(dialog).to_contain_text("It may change or delete things.")
        dialog.get_by_role("button", name="Cancel").click()
        expect(server.locator(".answer")).to_be_hidden()
        call.click()
        dialog.get_by_role("button", name="Call it").click()
        expect(server.get_by_role("region", name="Answer")).to_have_text("dropped orders")


def test_what_a_tool_answers_and_what_is_refused(tmp_path: Path) -> None:
    home, root = known_servers(tmp_path, calling={"command": sys.executable, "args": [str(CALLING)]})
    with serving(home, root) as served:

        def call(tool: str, **given: Any) -> tuple[int, dict[str, Any]]:
            return served.ask(f"tools/calling__{tool}/call", "POST", **given)

        (version,) = (s["version"] for s in served.ask("servers")[1]["servers"] if s["name"] == "calling")
        assert served.ask("servers/calling/agree", "POST", version=version)[0] == 200
        assert call("length", arguments='{"text": "four"}')[1]["content"][0]["text"] == "4"
        assert call("failing")[1]["isError"]
        assert call("echo", arguments="[1]")[1]["userMessage"] == "The arguments are no JSON object."
        assert call("nothing")[0] == 400
        assert served.ask("servers/nothing/enable", "POST", on=0)[0] == 400


def test_a_login(visit: Visit, tmp_path: Path) -> None:
    with RemoteServer() as remote:
        home, root = known_servers(tmp_path, web={"url": remote.url})
        with serving(home, root) as served:
            window = visit(f"{served.address}#/tools")
            server = window.get_by_label("Server web")
            server.get_by_role("button", name="Agree to web").click()
            window.get_by_role("dialog").get_by_role("button", name="Agree").click()
            expect(server.locator(".pill")).to_have_text("Needs login")
            server.get_by_role("button", name="Log in at web").click()
            link = server.get_by_role("link", name="Log in at 127.0.0.1")
            expect(link).to_be_focused()
            assert "You can close this window" in browse(link.get_attribute("href") or "")
            expect(server.locator(".pill")).to_have_text("Ready")
            server.locator("summary").first.click()
            server.locator(".tool summary").first.click()
            server.get_by_label("a integer, required").fill("2")
            server.get_by_label("b integer, required").fill("3")
            server.get_by_role("button", name="Call", exact=True).click()
            expect(server.get_by_role("region", name="Answer")).to_have_text("5")


def test_the_catalogue_and_its_calls(visit: Visit, page: Served) -> None:
    window = visit(f"{page.address}#/tools")
    servers = window.locator(".server")
    expect(servers).to_have_count(4)
    expect(window.get_by_label("Server later").locator(".pill")).to_have_text("Not agreed")
    expect(window.get_by_label("Server broken")).to_contain_text("/no/such/program --key")
    listed = window.get_by_label("Server fs")
    listed.locator("summary").first.click()
    listed.locator(".tool summary").first.click()
    expect(listed.locator(".tool")).to_contain_text("Which file")
    expect(listed.get_by_role("button", name="Call", exact=True)).to_have_count(0)
    expect(listed.locator(".arguments")).to_contain_text("No configuration of the catalogue names")
    calls = window.get_by_role("region", name="Calls", exact=True).locator("tbody tr")
    expect(calls.nth(0)).to_contain_text("<b>client</b>OK12 ms1.5 KB2.0 MB")
    expect(calls.nth(1)).to_contain_text("31 s")
