"""The skill over MCP (SEP-2640), and the card of an HTTP server (SEP-2127)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.door import opened, request
from e2e.harness import Connection, Pipe
from findspot import __version__

MODERN = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/skills"
PLUGIN = Path(__file__).parents[2] / "plugins/findspot/skills/findspot-search/SKILL.md"
URI = "skill://findspot-search/SKILL.md"


def modern(**params: Any) -> dict[str, Any]:
    about: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"_meta": about, **params}


def test_the_skill_is_listed_and_read(server: Connection, home: Path, shop: Path) -> None:
    with Pipe(home, shop) as pipe:
        assert pipe.result("server/discover", modern())["capabilities"]["extensions"][EXTENSION] == {}
        listed = pipe.result("skills/list", modern())
        got = pipe.result("skills/get", modern(uri=URI))
        (content,) = pipe.result("resources/read", modern(uri=URI))["contents"]
        refused = pipe.error("skills/get", modern(uri="skill://other/SKILL.md"))
    whole = PLUGIN.read_bytes()
    assert content["text"].encode() == whole, "copy the plugin's SKILL.md into serve/mcp/skills"
    assert content["mimeType"] == "text/markdown"
    assert listed["skills"] == [got["skill"]]
    assert got["skill"] == {
        "uri": URI,
        "frontmatter": yaml.safe_load(whole.decode().split("---\n")[1]),
        "resources": [
            {"uri": URI, "digest": f"sha256:{hashlib.sha256(whole).hexdigest()}", "size": len(whole)}
        ],
    }
    for answer in (listed, got):
        assert answer["resultType"] == "complete"
        assert answer["ttlMs"] > 0
        assert answer["cacheScope"] == "public"
    assert refused == -32602


@pytest.mark.parametrize("options", [("--no-token",), ()])
def test_a_server_over_http_has_a_card(home: Path, empty_folder: Path, options: tuple[str, ...]) -> None:
    with opened(home, empty_folder, *options) as door:
        answer = request(door.address, "GET", path="/mcp/server-card")
        card = json.loads(answer.read())
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/mcp-server-card+json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (card["name"], card["version"]) == ("io.github.findspot/findspot", __version__)
    (remote,) = card["remotes"]
    assert (remote["type"], remote["url"]) == ("streamable-http", door.address)
    assert MODERN in remote["supportedProtocolVersions"]
    assert ("headers" in remote) == (not options)
