"""A small MCP server with the SDK, good or bad as its first argument says.

notes            three tools, over two pages
http             the same over streamable HTTP; writes its port to the file that is the second argument
changing FIFO    gains a tool, and says so, whenever a line comes through the FIFO
large            a tool with a description of ten megabytes
secret           a tool whose description tells the variable TOKEN and the second argument
silent           never answers
dying            dies when it is asked for its tools
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server


def tool(name: str, description: str, **properties: Any) -> types.Tool:
    return types.Tool(
        name=name,
        title=name.replace("_", " ").title(),
        description=description,
        input_schema={"type": "object", "properties": properties},
        annotations=types.ToolAnnotations(read_only_hint=True),
    )


NOTES = [
    tool("read_note", "Read the text of one note.", id={"type": "string", "description": "Which note"}),
    tool("write_note", "Save a note.", color={"type": "string", "enum": ["crimson", "teal"]}),
    tool("weather", "Tomorrow's forecast for a city.", city={"type": "string"}),
]


class Example:
    def __init__(self, kind: str, arguments: list[str]) -> None:
        self.kind = kind
        self.arguments = arguments
        self.added: list[types.Tool] = []
        self.listening = False

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        if self.kind == "dying":
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(3)
        if self.kind == "large":
            return types.ListToolsResult(tools=[tool("vast", "boundless " * 1_048_576), *NOTES[:1]])
        if self.kind == "secret":
            words = f"{os.environ.get('TOKEN')} {' '.join(self.arguments)}"
            return types.ListToolsResult(tools=[tool("tell", words)])
        if self.kind == "changing":
            self.listen(context.session)
            return types.ListToolsResult(tools=[*NOTES[:1], *self.added])
        if params is None or params.cursor is None:
            return types.ListToolsResult(tools=NOTES[:2], next_cursor="2")
        return types.ListToolsResult(tools=NOTES[2:])

    def listen(self, session: Any) -> None:
        if not self.listening:
            self.listening = True
            portal = anyio.lowlevel.current_token()
            threading.Thread(target=self.hear, args=(session, portal), daemon=True).start()

    def hear(self, session: Any, token: Any) -> None:
        with Path(self.arguments[0]).open() as names:
            for line in names:
                self.added.append(tool(line.strip(), f"A tool called {line.strip()}."))
                anyio.from_thread.run(session.send_tool_list_changed, token=token)


async def main(kind: str, arguments: list[str]) -> None:
    example = Example(kind, arguments)
    server: Server[Any] = Server("example", version="1", on_list_tools=example.list_tools)
    if kind == "http":
        await serve_http(server, Path(arguments[0]))
        return
    changes = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, changes)


async def serve_http(server: Server[Any], port_file: Path) -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    port_file.write_text(str(listener.getsockname()[1]))
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "silent":
        sys.stdin.read()
    anyio.run(main, sys.argv[1], sys.argv[2:])
