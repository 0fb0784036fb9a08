"""An MCP server made with the SDK, whose tools do everything that a tool can do.

With a file as argument it appends a line to it for each call: the name of the tool and how it ended.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

PIXEL = base64.b64encode(b"not really a picture").decode()

READ_ONLY = {"readOnlyHint": True}
TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "everything": ({"type": "object"}, READ_ONLY),
    "fail": ({"type": "object"}, READ_ONLY),
    "refuse": ({"type": "object"}, READ_ONLY),
    "count": ({"type": "object"}, READ_ONLY),
    "wait": ({"type": "object"}, READ_ONLY),
    "ask": ({"type": "object"}, READ_ONLY),
    "add": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        {"readOnlyHint": False, "destructiveHint": False},
    ),
    "erase": ({"type": "object", "properties": {"what": {"type": "string"}}}, {"destructiveHint": True}),
    "plain": ({"type": "object"}, None),
}


def log(line: str) -> None:
    if len(sys.argv) > 1:
        with Path(sys.argv[1]).open("a") as file:
            file.write(line + "\n")


def text(value: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)], **more)


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    listed = [
        {"name": name, "description": f"Tool {name}.", "inputSchema": schema, "annotations": annotations}
        for name, (schema, annotations) in TOOLS.items()
    ]
    return types.ListToolsResult.model_validate({"tools": listed})


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    try:
        result = await answer(context, params.name, params.arguments or {})
    except anyio.get_cancelled_exc_class():
        log(f"{params.name} cancelled")
        raise
    log(f"{params.name} done")
    return result


async def answer(context: Any, name: str, given: dict[str, Any]) -> types.CallToolResult:
    session = context.session
    if name == "everything":
        return types.CallToolResult.model_validate(EVERYTHING)
    if name == "fail":
        return text("It did not work.", is_error=True)
    if name == "refuse":
        raise ValueError("no such thing")
    if name == "count":
        for number in range(1, 4):
            await session.report_progress(number, 3, f"step {number}")
        return text("counted")
    if name == "wait":
        log("wait started")
        await session.report_progress(1, None, "waiting")
        await anyio.sleep(3600)
    if name == "ask":
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        reply = await session.elicit_form("Who are you?", form, context.request_id)
        return text(f"{reply.action} {(reply.content or {}).get('name')}")
    if name == "add":
        total = given["a"] + given["b"]
        return text(str(total), structured_content={"status": total, "code": None})
    return text(f"{name} {given}")


EVERYTHING: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "a text", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "note://1", "text": "a note", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "note://2", "blob": PIXEL}},
        {"type": "resource_link", "uri": "note://3", "name": "third"},
    ],
    "structuredContent": {"status": 5, "nothing": None},
    "_meta": {"example.org/trace": "t1"},
}


async def main() -> None:
    server: Server[Any] = Server("everything", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
