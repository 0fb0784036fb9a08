"""Calls, supertypes and imports of a PHP project as intelephense resolves them.

npm install intelephense
python -m benchmarks.graph.truth_php FOLDER --server "node …/intelephense.js --stdio" > truth.jsonl

The rows are those of `benchmarks.graph.measure`. `new T` is a call of `T`, whichever constructor runs.
Targets that are no function, method or type (`@method` in a comment, variables that hold a closure) do not
count.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tree_sitter_php
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from benchmarks.graph.truth_python import Server

PHP = Language(tree_sitter_php.language_php())
PLACES = Query(
    PHP,
    """
    (function_call_expression function: [(name) (qualified_name)] @call)
    (member_call_expression name: (name) @call)
    (nullsafe_member_call_expression name: (name) @call)
    (scoped_call_expression name: (name) @call)
    (object_creation_expression [(name) (qualified_name)] @new)
    (base_clause [(name) (qualified_name)] @inherit)
    (class_interface_clause [(name) (qualified_name)] @inherit)
    (declaration_list (use_declaration [(name) (qualified_name)] @inherit))
    (namespace_use_clause [(name) (qualified_name)] @import)
    """,
)
COMMENT = re.compile(r"^\s*(/?\*|//|#).*")
DEFINITION = r"\b(?:function\s+&?\s*|class\s+|interface\s+|trait\s+|enum\s+)({})\b"


def places(source: bytes) -> Iterator[tuple[str, Node]]:
    """Yield the kind and the node of each name that is called, inherited from or imported."""
    tree = Parser(PHP).parse(source)
    for kind, nodes in QueryCursor(PLACES).captures(tree.root_node).items():
        for node in nodes:
            last = node.named_children[-1] if node.type == "qualified_name" else node
            yield kind, last


class Asker:
    """Asks a language server where names lead."""

    def __init__(self, root: Path, command: str) -> None:
        self.root = root
        self.uri = root.as_uri() + "/"
        self.server = Server(command, root)
        self.texts: dict[str, list[str]] = {}
        self.server.wait_for("indexingEnded")

    def open(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        document = {"uri": path.as_uri(), "languageId": "php", "version": 1, "text": text}
        self.server.notify("textDocument/didOpen", {"textDocument": document})

    def targets(self, path: Path, node: Node, source: bytes) -> list[tuple[str, dict[str, Any]]]:
        row, column = node.start_point
        line = source.split(b"\n")[row]
        position = {"line": row, "character": len(line[:column].decode(errors="replace")) + 1}
        params = {"textDocument": {"uri": path.as_uri()}, "position": position}
        answer = self.server.request("textDocument/definition", params) or []
        answer = [answer] if isinstance(answer, dict) else answer
        return [(item["uri"], item["range"]) for item in answer]

    def line(self, path: str, number: int) -> str:
        if path not in self.texts:
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
            self.texts[path] = text.splitlines()
        return self.texts[path][number - 1]

    def row(self, path: Path, kind: str, node: Node, source: bytes) -> dict[str, Any]:
        """Return what the server says about one name."""
        name = (node.text or b"").decode()
        answer = self.targets(path, node, source)
        inside = [(uri.removeprefix(self.uri), where) for uri, where in answer if uri.startswith(self.uri)]
        known = [self.defined(target, where, name, kind) for target, where in inside]
        targets = [target for target in known if target]
        row = {"kind": kind, "path": path.relative_to(self.root).as_posix(), "line": node.start_point[0] + 1}
        if kind == "import":
            return row | {"targets": [{"path": target["path"]} for target in targets]}
        kind = "call" if kind == "new" else kind
        resolved = bool(answer) and len(targets) == len(inside)
        return row | {"kind": kind, "name": name, "targets": targets, "resolved": resolved}

    def defined(self, path: str, where: dict[str, Any], name: str, kind: str) -> dict[str, Any] | None:
        """Return the function, method or type that is meant; comments before it belong to the range."""
        words = {"new": (name, "__construct"), "import": (name, r"\w+")}.get(kind, (name,))
        for word in words:
            for at in range(where["start"]["line"] + 1, where["end"]["line"] + 2):
                line = self.line(path, at)
                found = (
                    None if COMMENT.match(line) else re.search(DEFINITION.format(word), line, re.IGNORECASE)
                )
                if found:
                    defined = self.type_around(path, at) if word == "__construct" else found[1]
                    return {"path": path, "line": at, "name": defined}
        return None

    def type_around(self, path: str, at: int) -> str | None:
        for number in range(at, 0, -1):
            found = re.match(r"\s*(?:\w+\s+)*(?:class|trait|enum)\s+(\w+)", self.line(path, number))
            if found:
                return found[1]
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--sample", type=int, default=3_000, help="calls, drawn with a fixed seed")
    options = parser.parse_args()
    root = options.root.resolve()
    found = []
    sources = {path: path.read_bytes() for path in sorted(root.rglob("*.php"))}
    for path, source in sources.items():
        found += [(path, kind, node) for kind, node in places(source)]
    calls = [index for index, item in enumerate(found) if item[1] in ("call", "new")]
    drawn = set(random.Random(7).sample(calls, min(options.sample, len(calls))))
    asker = Asker(root, options.server)
    opened = None
    for index, (path, kind, node) in enumerate(found):
        if kind in ("call", "new") and index not in drawn:
            continue
        if path != opened:
            asker.open(path)
            opened = path
        sys.stdout.write(json.dumps(asker.row(path, kind, node, sources[path])) + "\n")
    asker.server.close()


if __name__ == "__main__":
    main()
