"""A small MCP server, good or bad as its first argument says.

notes            three tools, over two pages
endless          three tools on a list that never ends
silent           never answers
dying            dies when it is asked for its tools
tools NAME...    these tools; each start is a line of the file `started` in the home folder. `env` tells the
                 variables that it got, `banner` greets first, `fail` ends at once, `hang` never answers

It needs nothing but Python, so that it starts thirty times faster than a server with the SDK.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

METHOD_NOT_FOUND = -32601


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "title": name.replace("_", " ").title(),
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {"readOnlyHint": True},
    }


NOTES = [
    tool("read_note", "Read the text of one note.", id={"type": "string", "description": "Which note"}),
    tool("write_note", "Save a note.", color={"type": "string", "enum": ["crimson", "teal"]}),
    tool("weather", "Tomorrow's forecast for a city.", city={"type": "string"}),
]


class Example:
    def __init__(self, kind: str, arguments: list[str]) -> None:
        self.kind = kind
        self.arguments = arguments

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message:
                send(id=message["id"], **self.answer(message["method"], message.get("params") or {}))

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {
                "result": {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "example", "version": "1"},
                }
            }
        if method == "tools/list":
            return {"result": self.list_tools(params.get("cursor"))}
        return {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}

    def list_tools(self, cursor: str | None) -> dict[str, Any]:
        if self.kind == "dying":
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(3)
        if self.kind == "tools":
            about = " ".join(sorted(os.environ)) if "env" in self.arguments else "A tool."
            return {"tools": [tool(name, about) for name in self.arguments]}
        if self.kind == "endless":
            return {"tools": NOTES, "nextCursor": f"{cursor}+"}
        if cursor is None:
            return {"tools": NOTES[:2], "nextCursor": "2"}
        return {"tools": NOTES[2:]}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def start(names: list[str]) -> None:
    with Path.home().joinpath("started").open("a") as log:
        log.write(f"{os.getpid()} {' '.join(names)}\n")
    if "banner" in names:
        sys.stdout.write("Welcome to my server!\n{}\n")
    if "fail" in names:
        sys.exit("no luck today")
    if "hang" in names:
        signal.pause()


def main(kind: str, arguments: list[str]) -> None:
    example = Example(kind, arguments)
    if kind == "tools":
        start(arguments)
    if kind == "silent":
        sys.stdin.read()
    else:
        example.serve()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
