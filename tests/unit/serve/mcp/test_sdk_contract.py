"""What we use of the MCP SDK beyond its public interface; a release that changes it fails here."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server

import findspot
from findspot.serve.mcp import sdk

SOURCE = Path(findspot.__file__).parent
PRIVATE = {"_connection", "_request_outbound"}


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
    texts = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    naming = [path for path in modules if any(name in texts[path] for name in PRIVATE)]
    assert [path.name for path in naming if _used(path) & PRIVATE] == []
    assert [path.name for path, text in texts.items() if "from mcp" in text and _imported(path)] == []
    mcp = [path for path in modules if path.is_relative_to(SOURCE / "serve" / "mcp")]
    assert {path.name: _used(path) for path in mcp if _used(path)} == {}


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
