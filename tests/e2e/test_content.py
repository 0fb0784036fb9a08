"""What answers carry beside text: links, annotations, sound; and the resources that links lead to."""

from __future__ import annotations

from pathlib import Path

import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp import Client

from e2e.conformance_server import TOOLS, WAV
from e2e.harness import Connection
from findspot.engine import Engine
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
        client = Client(make_server(Registry(TOOLS), Engine(watching=True)))
        with portal.wrap_async_context_manager(client):
            result = portal.call(client.call_tool, "test_audio_content", {})
        assert result.content == [types.AudioContent(data=WAV, mime_type="audio/wav")]


class TestResources:
    def read(self, server: Connection, uri: str) -> str:
        (contents,) = server.portal.call(server.client.read_resource, uri).contents
        assert isinstance(contents, types.TextResourceContents)
        return contents.text

    def test_some_lines_of_an_indexed_file(self, server: Connection, shop: Path) -> None:
        assert server.portal.call(server.client.list_resources).resources == []
        templates = server.portal.call(server.client.list_resource_templates).resource_templates
        assert [template.uri_template for template in templates] == ["file:///{+path}", "dep://{+path}"]
        address = (shop / "src/auth/login.py").as_uri()
        whole = self.read(server, address)
        assert self.read(server, f"{address}#L3-L4") == "\n".join(whole.split("\n")[2:4])
