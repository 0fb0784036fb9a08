"""What answers carry beside text: links, annotations, sound; resources, completions and prompts."""

from __future__ import annotations

import json
from pathlib import Path

import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal
from mcp import Client, MCPError

from e2e.conformance_server import TOOLS, WAV
from e2e.harness import Connection
from findspot.serve.library import Library
from findspot.serve.mcp.server import make_server
from findspot.serve.mcp.tool import Registry


class TestContent:
    def test_links_lead_to_the_lines(self, server: Connection, shop: Path) -> None:
        result = server.call("search_code", query="verify_password", format="human")
        links = [block for block in result.content if isinstance(block, types.ResourceLink)]
        assert isinstance(result.structured_content, dict)
        first = result.structured_content["results"][0]
        lines = f"{first['startLine']}-{first['endLine']}"
        assert links[0].name == f"src/auth/login.py:{lines}"
        assert str(links[0].uri) == f"{(shop / 'src/auth/login.py').as_uri()}#L{lines.replace('-', '-L')}"
        assert links[0].mime_type == "text/x-python"
        assert links[0].description
        assert links[0].annotations is not None
        assert links[0].annotations.audience == ["user"]
        assert len(links) == 1

    def test_texts_say_for_whom_they_are(self, server: Connection) -> None:
        result = server.call("search_code", query="")
        told, hint = result.content[0], server.call("search_code", query="x", path="/tmp").content[0]
        for block in (told, hint):
            assert block.annotations is not None
            assert block.annotations.audience == ["user", "assistant"]
            assert block.annotations.priority == 1.0

    def test_audio_passes_unharmed(self, portal: BlockingPortal) -> None:
        """A tool of another registry, on the same layer."""
        client = Client(make_server(Registry(TOOLS), Library()))
        with portal.wrap_async_context_manager(client):
            result = portal.call(client.call_tool, "test_audio_content", {})
        assert result.content == [types.AudioContent(data=WAV, mime_type="audio/wav")]


class TestResources:
    def read(self, server: Connection, uri: str) -> str:
        (contents,) = server.portal.call(server.client.read_resource, uri).contents
        assert isinstance(contents, types.TextResourceContents)
        return contents.text

    def test_they_are_listed(self, server: Connection) -> None:
        listed = server.portal.call(server.client.list_resources).resources
        assert [str(resource.uri) for resource in listed] == ["findspot://status"]
        templates = server.portal.call(server.client.list_resource_templates).resource_templates
        assert [template.uri_template for template in templates] == [
            "findspot://outline/{+path}",
            "findspot://chunk/{line}/{+path}",
            "file:///{+path}",
            "dep://{+path}",
            "findspot://results/{id}/{page}",
        ]

    def test_the_status(self, server: Connection, shop: Path) -> None:
        assert json.loads(self.read(server, "findspot://status"))["projectPath"] == str(shop)

    def test_the_outline_of_a_file(self, server: Connection) -> None:
        assert "verify_password" in self.read(server, "findspot://outline/src/auth/login.py")

    def test_the_chunk_at_a_line(self, server: Connection) -> None:
        assert "hash_password(given)" in self.read(server, "findspot://chunk/8/src/auth/login.py")

    @pytest.mark.parametrize(
        "uri",
        [
            "findspot://nothing",
            "findspot://outline/gone.py",
            "findspot://outline/../../etc/passwd",
            "findspot://chunk/x/src/auth/login.py",
            "findspot://chunk/99999/src/auth/login.py",
            "file:///etc/passwd",
        ],
    )
    def test_what_is_not_there(self, server: Connection, uri: str) -> None:
        with pytest.raises(MCPError) as refused:
            server.portal.call(server.client.read_resource, uri)
        assert refused.value.error.code == -32002
        assert refused.value.error.data == {"uri": uri}

    def test_paths_are_completed(self, server: Connection) -> None:
        about = types.ResourceTemplateReference(uri="findspot://outline/{+path}")
        asked = {"name": "path", "value": "src/b"}
        given = server.portal.call(server.client.complete, about, asked).completion.values
        assert given == ["src/billing/invoice.ts", "src/billing/retry.go"]
        inside = {"name": "path", "value": "LOGIN"}
        given = server.portal.call(server.client.complete, about, inside).completion.values
        assert given == ["src/auth/login.py", "tests/test_login.py"]


class TestPrompts:
    def test_they_are_listed_and_filled_in(self, server: Connection) -> None:
        listed = server.portal.call(server.client.list_prompts).prompts
        assert [prompt.name for prompt in listed] == ["explore_codebase", "find_where_to_change"]
        change = {"change": "invoices are sent {twice}"}
        (message,) = server.portal.call(server.client.get_prompt, "find_where_to_change", change).messages
        assert isinstance(message.content, types.TextContent)
        assert "invoices are sent {twice}" in message.content.text
        (message,) = server.portal.call(server.client.get_prompt, "explore_codebase", {}).messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text.startswith("Explore this codebase and")

    @pytest.mark.parametrize(("name", "given"), [("no_such", {}), ("find_where_to_change", {"change": " "})])
    def test_what_is_missing(self, server: Connection, name: str, given: dict[str, str]) -> None:
        with pytest.raises(MCPError) as refused:
            server.portal.call(server.client.get_prompt, name, given)
        assert refused.value.error.code == -32602
