"""Calls, base types and imports of a C# project as Mono's compiler resolves them (C# 7 at most).

apt-get install mono-mcs mono-devel libmono-cecil-private-cil
python -m benchmarks.graph.truth_csharp FOLDER --sources src/Library [--reference NAME] > truth.jsonl

The sources of one assembly are compiled, and the calls are read from its code (`truth_csharp.cs`), so
overloads, extension methods and lambdas are as the compiler sees them. A call counts where its name is
written. Overloads with the same number of parameters count as one. `new T` is a call of `T`. `using N` leads
to the files of the namespace that define a type which the file names; its other files are `others`.
Properties, operators and `: base(…)` do not count. The compiler names the first declaration of a virtual
method; an override in the caller's own hierarchy is a target as well, another one may be found (`others`).
The rows are those of `benchmarks.graph.measure`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import tree_sitter_c_sharp
from tree_sitter import Language, Node, Parser

LIBRARIES = ("Mono.Cecil/0.11*", "Mono.CompilerServices.SymbolWriter/*")
TYPES = (
    "class_declaration",
    "struct_declaration",
    "interface_declaration",
    "enum_declaration",
    "delegate_declaration",
)
NO_CODE = re.compile(r"//.*|/\*[^*]*\*/|@?\"(?:[^\"\\\n]|\\.)*\"")
CSHARP = Language(tree_sitter_c_sharp.language())


class Definitions:
    """Where the types and methods of a project are defined."""

    def __init__(self, root: Path, files: list[Path]) -> None:
        self.types: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.methods: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
        self.bases: list[tuple[str, str, int, str]] = []
        self.usings: list[tuple[str, int, str]] = []
        self.texts: dict[str, list[str]] = {}
        for file in files:
            source = file.read_bytes()
            path = file.relative_to(root).as_posix()
            self.texts[path] = source.decode("utf-8", "replace").split("\n")
            self.visit(Parser(CSHARP).parse(source).root_node, path, "")

    def visit(self, node: Node, path: str, outer: str) -> None:
        for child in node.named_children:
            name = child.child_by_field_name("name")
            text = (name.text or b"").decode() if name else ""
            if child.type in ("namespace_declaration", *TYPES):
                inner = f"{outer}.{text}" if outer else text
                if child.type in TYPES and name:
                    self.types[inner].append({"path": path, "line": name.start_point[0] + 1, "name": text})
                self.visit(child, path, inner)
                continue
            if child.type in ("method_declaration", "constructor_declaration") and name:
                parameters = child.child_by_field_name("parameters")
                count = (
                    sum(each.type == "parameter" for each in parameters.named_children) if parameters else 0
                )
                if parameters and b"params " in (parameters.text or b"") and count == 0:
                    count = 1
                what = ".ctor" if child.type == "constructor_declaration" else text
                place = {"path": path, "line": name.start_point[0] + 1, "name": text}
                self.methods[outer, what, count].append(place)
            elif child.type == "base_list":
                for each in child.named_children:
                    word = re.match(r"[\w.]+", (each.text or b"").decode())
                    if word:
                        self.bases.append((path, outer, each.start_point[0] + 1, word[0].rpartition(".")[2]))
            elif child.type == "using_directive" and b"=" not in (child.text or b""):
                used = re.sub(r"using|static|;|\s", "", (child.text or b"").decode())
                self.usings.append((path, child.start_point[0] + 1, used))
            self.visit(child, path, outer)


def compiled(root: Path, files: list[Path], references: list[str]) -> list[list[str]]:
    """Return what the compiler made of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        libraries = [next(Path("/usr/lib/mono/gac").glob(f"{each}/*.dll")) for each in LIBRARIES]
        copies = [shutil.copy(each, build) for each in libraries]
        reader = build / "truth.exe"
        code = Path(__file__).with_suffix(".cs")
        links = [f"-r:{copy}" for copy in copies]
        subprocess.run(["mcs", f"-out:{reader}", *links, str(code)], check=True)
        assembly = build / "project.dll"
        command = ["mcs", "-target:library", "-debug", "-nowarn:1591", f"-out:{assembly}"]
        command += [f"-r:{each}" for each in references]
        subprocess.run([*command, *map(str, files)], check=True, cwd=root, capture_output=True)
        printed = subprocess.run(
            ["mono", str(reader), str(assembly)], check=True, capture_output=True, text=True
        )
    return [line.split("\t") for line in printed.stdout.splitlines()]


def calls(rows: list[list[str]], root: Path, defined: Definitions) -> list[dict[str, Any]]:
    sites: dict[tuple[str, int, str], list[list[str]]] = defaultdict(list)
    for _, file, number, name, *target in (row for row in rows if row[0] == "call"):
        sites[Path(file).resolve().relative_to(root).as_posix(), int(number), name].append(target)
    found = []
    for (path, line, name), targets in sites.items():
        word = rf"\bnew\s+[\w.]*\b{name}\b" if targets[0][1] == ".ctor" else rf"\b{re.escape(name)}\s*[(<]"
        if path not in defined.texts or not re.search(word, defined.texts[path][line - 1]):
            continue
        places: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for owner, method, count, overrides in targets:
            own, _, distant = overrides.partition("|")
            for each in (owner, *own.split(",")):
                places += defined.methods.get((each, method, int(count)), [])
            for each in distant.split(","):
                others += defined.methods.get((each, method, int(count)), [])
            places += defined.types.get(owner, []) if method == ".ctor" else []
        resolved = bool(places) or all(owner == "-" for owner, *_ in targets)
        row = {"kind": "call", "path": path, "line": line, "name": name}
        found.append(row | {"targets": places, "others": others, "resolved": resolved})
    return found


def bases(rows: list[list[str]], defined: Definitions) -> list[dict[str, Any]]:
    above = {(row[1], row[2]): row[3] for row in rows if row[0] == "base"}
    found = []
    for path, outer, line, name in defined.bases:
        target = above.get((outer, name))
        if target is not None:
            places = [] if target == "-" else defined.types.get(target, [])
            row = {"kind": "inherit", "path": path, "line": line, "name": name}
            found.append(row | {"targets": places, "resolved": True})
    return found


def imports(defined: Definitions) -> list[dict[str, Any]]:
    inside: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, places in defined.types.items():
        inside[name.rpartition(".")[0]] += [(place["path"], place["name"]) for place in places]
    found = []
    for path, line, namespace in defined.usings:
        words = set(re.findall(r"\w+", NO_CODE.sub("", "\n".join(defined.texts[path]))))
        files = {file for file, name in inside[namespace] if name in words}
        others = {file for file, _ in inside[namespace]} - files
        row = {"kind": "import", "path": path, "line": line}
        targets = [{"path": file} for file in sorted(files)]
        found.append(row | {"targets": targets, "others": [{"path": file} for file in sorted(others)]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sources", action="append", required=True, help="folder of an assembly's sources")
    parser.add_argument("--reference", action="append", default=[], help="assembly that it needs")
    options = parser.parse_args()
    root = options.folder.resolve()
    files = sorted(file for folder in options.sources for file in (root / folder).rglob("*.cs"))
    rows = compiled(root, files, options.reference)
    defined = Definitions(root, files)
    for row in calls(rows, root, defined) + bases(rows, defined) + imports(defined):
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
