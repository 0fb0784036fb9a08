"""What we use of the MCP SDK beyond its public interface; a release that changes it fails here."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

import findspot
from findspot.serve.mcp import sdk

SOURCE = Path(findspot.__file__).parent
PRIVATE = {"_connection", "_request_outbound"}
INHERITED = {
    StreamableHTTPSessionManager(app=Server("any")): {
        "_admit_session", "_server_instances", "_session_owners",
    },
    StreamableHTTPServerTransport(None): {
        "_check_content_type", "_clean_up_memory_streams", "_create_error_response", "_create_event_data",
        "_create_json_response", "_create_session_message", "_handle_post_request", "_read_stream_writer",
        "_request_streams", "_validate_accept_header", "_validate_request_headers",
    },
}  # fmt: skip
"""What `http_sessions.py` overrides or uses of the classes that it derives from."""


def _used(path: Path) -> set[str]:
    """The private attributes that a module reads of objects other than its own."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls", "super()", "os")
    }


def _imported(path: Path) -> set[str]:
    """The private modules and names that a module imports from the SDK."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("mcp", "mcp_types"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if any(part.startswith("_") for part in name.split("."))}


def test_private_attributes_are_used_in_one_module_and_named_here() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "sdk.py"]
    assert _used(SOURCE / "serve" / "mcp" / "sdk.py") == PRIVATE
    assert [path.name for path in modules if _used(path) & PRIVATE] == []
    assert [path.name for path in SOURCE.rglob("*.py") if _imported(path)] == []
    mcp = [path for path in modules if path.is_relative_to(SOURCE / "serve" / "mcp")]
    assert {path.name: _used(path) for path in mcp if _used(path)} == {}


def test_inherited_attributes_exist_and_are_named_here() -> None:
    text = (SOURCE / "serve" / "mcp" / "http_sessions.py").read_text("utf-8")
    for instance, names in INHERITED.items():
        assert {name for name in names if not hasattr(instance, name) or name not in text} == set()


def test_a_server_starts_without_the_parts_of_the_sdk_that_it_does_not_use() -> None:
    script = (
        "import sys, findspot.resident.in_process\n"
        "assert not {'mcp.client', 'mcp.server.mcpserver'} & set(sys.modules)\n"
        "import mcp\n"
        "from mcp.server import MCPServer\n"
        "assert mcp.Client.__module__ == 'mcp.client.client'\n"
        "assert not hasattr(mcp, 'no_such_name')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_connection_remembers_notifies_and_ends() -> None:
    ended: list[str] = []
    memories: list[dict[str, Any]] = []

    async def call(context: sdk.Context, _: types.CallToolRequestParams) -> types.CallToolResult:
        memory = sdk.connection_memory(context)
        memories.append(memory)
        if "calls" not in memory:
            sdk.on_disconnect(context, lambda: ended.append("disconnected"))
        memory["calls"] = memory.get("calls", 0) + 1
        params = {"level": "info", "data": "hello"}
        await sdk.notify(context.session, "notifications/message", params)
        return types.CallToolResult(content=[], is_error=sdk.is_cancelled(context.session))

    async def list_tools(_: sdk.Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="count", input_schema={"type": "object"})])

    async def run() -> tuple[list[Any], list[str]]:
        heard: list[str] = []

        async def log(params: types.LoggingMessageNotificationParams) -> None:
            heard.append(str(params.data))

        server: Server[Any] = Server("counter", on_call_tool=call, on_list_tools=list_tools)
        async with Client(server, mode="legacy", logging_callback=log) as client:
            results = [await client.call_tool("count", {}) for _ in range(2)]
            assert not ended
        return results, heard

    results, heard = anyio.run(run)
    assert [result.is_error for result in results] == [False, False]
    assert memories[0] is memories[1]
    assert memories[0]["calls"] == 2
    assert heard == ["hello", "hello"]
    assert ended == ["disconnected"]


def test_a_cancelled_request_says_so() -> None:
    seen: list[bool] = []
    started = anyio.Event()

    async def call(context: sdk.Context, _: types.CallToolRequestParams) -> types.CallToolResult:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(sdk.is_cancelled(context.session))
        raise AssertionError

    async def list_tools(_: sdk.Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="wait", input_schema={"type": "object"})])

    async def run() -> None:
        server: Server[Any] = Server("waiter", on_call_tool=call, on_list_tools=list_tools)
        async with Client(server, mode="legacy") as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "wait", {})
                await started.wait()
                group.cancel_scope.cancel()
            await client.list_tools()

    anyio.run(run)
    assert seen == [True]


_NEWEST = """
import sys
import findspot.serve.mcp
from mcp_types import methods
from pydantic import TypeAdapter, ValidationError

assert isinstance(vars(TypeAdapter)["_defer_build"], property), "what defers the adapters"
assert "mcp_types._v2026_07_28" not in sys.modules
answer = {"resultType": "complete", "content": [{"type": "text", "text": "hi"}], "isError": False}
assert methods.serialize_server_result("tools/call", "2025-11-25", answer)["content"] == answer["content"]
assert "mcp_types._v2026_07_28" not in sys.modules
assert methods.serialize_server_result("tools/call", "2026-07-28", answer) == answer
assert "mcp_types._v2026_07_28" in sys.modules
try:
    methods.validate_client_request("tools/call", "2026-07-28", {"arguments": {}})
except ValidationError:
    sys.exit(0)
sys.exit(1)
"""


def test_messages_of_the_newest_version_are_imported_when_one_comes() -> None:
    assert subprocess.run([sys.executable, "-c", _NEWEST], check=False).returncode == 0


_PLUGIN = """
seen = []
class Plugin:
    def new_schema_validator(self, schema, schema_type, schema_type_path, *others):
        seen.append(schema_type_path.name)
        return None, None, None
plugin = Plugin()
"""

_CALLER = """
import findspot, pydantic, the_plugin
findspot.add_cortex_search_tool
class Mine(pydantic.BaseModel):
    name: str
assert any("Mine" in name for name in the_plugin.seen), the_plugin.seen
"""


def test_the_library_leaves_its_caller_the_plugins_of_pydantic(tmp_path: Path) -> None:
    (tmp_path / "the_plugin.py").write_text(_PLUGIN)
    installed = tmp_path / "the_plugin-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: the-plugin\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[pydantic]\nthe_plugin = the_plugin:plugin\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", _CALLER], env=environment, check=False).returncode == 0


_FIELDS = """
import sys
if "ours" in sys.argv:
    import findspot.serve.mcp
import mcp_types._types, mcp_types._v2025_11_25, mcp_types._v2026_07_28
from pydantic import BaseModel

def models(base):
    for model in base.__subclasses__():
        yield model
        yield from models(model)

for model in sorted(models(BaseModel), key=lambda model: (model.__module__, model.__qualname__)):
    if model.__module__.startswith("mcp_types"):
        print(model, {name: str(field.annotation) for name, field in model.model_fields.items()})
"""


def test_the_fields_of_messages_are_those_of_the_sdk() -> None:
    plain, ours = (
        subprocess.run(
            [sys.executable, "-c", _FIELDS, way], capture_output=True, text=True, check=True
        ).stdout
        for way in ("plain", "ours")
    )
    assert plain.count("\n") > 200
    assert ours == plain
