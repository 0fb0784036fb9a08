"""Calls and supertypes of a Python project as pyright resolves them, and its imports by `ast`.

python -m benchmarks.graph.truth_python FOLDER --pyright COMMAND > truth.jsonl

FOLDER is a checkout of its own: settings for the checker are written into it, and stubs beside their
sources are removed, since the checker would lead to them. COMMAND starts the
language server, such as `node node_modules/pyright/langserver.index.js --stdio`.
The truth is written in the format of `benchmarks.graph.measure`.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.graph.python_imports import Imports, sources

SETTINGS = {"extraPaths": ["src"], "venvPath": ".", "venv": "none", "reportMissingImports": False}
"""The project's own packages, and none that happen to be installed here."""


class Server:
    """A language server on a pipe."""

    def __init__(self, command: str, root: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(shlex.split(command), stdin=pipe, stdout=pipe)
        self._number = 0
        folders = [{"uri": root.as_uri(), "name": root.name}]
        asked: dict[str, Any] = {
            "processId": None,
            "rootUri": root.as_uri(),
            "workspaceFolders": folders,
            "capabilities": {},
        }
        self.request("initialize", asked)
        self.notify("initialized", {})

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")
            self._answer(message)

    def wait_for(self, method: str) -> None:
        """Return when the server sends this notification."""
        message: dict[str, Any] = {}
        while message.get("method") != method:
            message = self._read()
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        """Give the server nothing where it asks for something."""
        if "id" in message:
            items = message.get("params", {}).get("items", [])
            self._send({"id": message["id"], "result": [None] * len(items)})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        size = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message

    def close(self) -> None:
        self.request("shutdown", {})
        self.notify("exit", {})
        self._process.wait(30)


def names(tree: ast.AST, text: list[str]) -> Iterator[tuple[str, str, int, int]]:
    """Kind, name, line and column of what is called or inherited from."""
    decorators = {id(node) for each in ast.walk(tree) for node in getattr(each, "decorator_list", ())}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in decorators:
            yield from _place("call", node.func, text)
        elif isinstance(node, ast.ClassDef):
            for base in node.bases:
                yield from _place("inherit", base, text)


def _place(kind: str, node: ast.expr, text: list[str]) -> Iterator[tuple[str, str, int, int]]:
    if isinstance(node, ast.Name):
        yield kind, node.id, node.lineno, node.col_offset
    elif isinstance(node, ast.Attribute) and node.end_lineno and node.end_col_offset:
        line = text[node.end_lineno - 1].encode()
        column = len(line[: node.end_col_offset - len(node.attr.encode())].decode())
        yield kind, node.attr, node.end_lineno, column


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--pyright", required=True)
    parser.add_argument(
        "--sample", type=int, default=3_000, help="calls to ask about, drawn with a fixed seed"
    )
    options = parser.parse_args()
    root = options.root.resolve()
    for stub in root.rglob("*.pyi"):
        if stub.with_suffix(".py").exists():
            stub.unlink()
    for row in Imports(root).rows():
        sys.stdout.write(json.dumps(row) + "\n")
    (root / "pyrightconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    found = []
    for path in sources(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        found += [(path, *place) for place in names(tree, text.splitlines())]
    calls = [item for item in found if item[1] == "call"]
    kept = random.Random(7).sample(calls, min(options.sample, len(calls)))
    ask(root, sorted(kept + [item for item in found if item[1] == "inherit"]), options.pyright)


def ask(root: Path, places: list[tuple[Path, str, str, int, int]], command: str) -> None:
    server = Server(command, root)
    open_file = None
    for path, kind, name, line, column in places:
        uri = path.as_uri()
        if path != open_file:
            if open_file:
                server.notify("textDocument/didClose", {"textDocument": {"uri": open_file.as_uri()}})
            text = path.read_text(encoding="utf-8", errors="replace")
            document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
            server.notify("textDocument/didOpen", {"textDocument": document})
            open_file = path
        position = {"line": line - 1, "character": column}
        answer = server.request(
            "textDocument/definition", {"textDocument": {"uri": uri}, "position": position}
        )
        places_found = [(item.get("uri") or item["targetUri"], _line(item)) for item in answer or []]
        inside = [
            {"path": place.removeprefix(root.as_uri() + "/"), "line": at, "name": name}
            for place, at in places_found
            if place.startswith(root.as_uri() + "/")
        ]
        row = {"kind": kind, "path": path.relative_to(root).as_posix(), "line": line, "name": name}
        sys.stdout.write(json.dumps(row | {"targets": inside, "resolved": bool(places_found)}) + "\n")
    server.close()


def _line(item: dict[str, Any]) -> int:
    where = item.get("targetSelectionRange") or item.get("targetRange") or item["range"]
    return int(where["start"]["line"]) + 1


if __name__ == "__main__":
    main()
