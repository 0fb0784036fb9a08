"""Print the calls, base classes and includes of a C or C++ project as libclang resolves them.

apt-get install python3-clang g++
/usr/bin/python3 benchmarks/graph/truth_c.py FOLDER [--flag=-DNAME ...] > truth.jsonl

One JSON object per line, as `measure.py` describes. A function or method that is declared in a header and
defined in a source is one symbol: all of its places are targets. A constructor call counts where the type is
written and called (`Shape(1)`, `Shape{1}`, `new Shape`), as a call of the type. In the body of a function a
use of a macro with arguments is a call of it; its definitions for other systems are `others`. Operators,
destructors and implicit calls do not count. Calls of variables and fields are `others`. What a template
leaves open is not resolved.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from clang.cindex import (  # type: ignore[import-not-found]
    Config,
    CursorKind,
    Index,
    TranslationUnit,
    conf,
)

Config.set_library_file(os.environ.get("LIBCLANG", "/usr/lib/llvm-14/lib/libclang.so.1"))

SOURCES = {".c": "c11", ".cc": "c++17", ".cpp": "c++17", ".cxx": "c++17"}
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp")
FUNCTIONS = {
    CursorKind.FUNCTION_DECL,
    CursorKind.CXX_METHOD,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CONVERSION_FUNCTION,
}
TYPES = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE, CursorKind.UNION_DECL}
DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


class Project:
    """One project: what its translation units say, joined by the names that linkers use."""

    def __init__(self, root: Path, flags: list[str]) -> None:
        self.root = root
        self.flags = flags
        self.places: dict[str, dict[tuple[str, int, str], None]] = defaultdict(dict)
        self.calls: dict[tuple[str, int, int, str], tuple[str, str]] = {}
        self.bases: dict[tuple[str, int, str], tuple[str, bool]] = {}
        self.texts: dict[str, bytes] = {}
        self.bodies: dict[str, set[tuple[int, int]]] = defaultdict(set)
        self.macros: dict[str, dict[tuple[str, int, str], None]] = defaultdict(dict)
        paths = [path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts]
        self.sources = [path for path in paths if path.suffix in SOURCES]
        self.headers = [path for path in paths if path.suffix in HEADERS]
        folders = {path.parent for path in self.headers}
        tops = {
            top for folder in folders for top in (folder, *folder.parents) if top.name in ("include", "src")
        }
        self.includes = [root, *sorted(tops), *sorted(folders)]

    def relative(self, file: Any) -> str | None:
        name = os.path.realpath(str(file)) if file is not None else ""
        return name[len(str(self.root)) + 1 :] if name.startswith(f"{self.root}/") else None

    def text(self, path: str) -> bytes:
        if path not in self.texts:
            self.texts[path] = (self.root / path).read_bytes()
        return self.texts[path]

    def read(self, source: Path) -> None:
        arguments = [f"-std={SOURCES[source.suffix]}", "-ferror-limit=0", *self.flags]
        arguments += [f"-I{folder}" for folder in self.includes]
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        unit = Index.create().parse(str(source), args=arguments, options=options)
        for cursor in unit.cursor.get_children():
            path = self.relative(cursor.location.file)
            if path is None:
                continue
            if cursor.kind is CursorKind.MACRO_INSTANTIATION:
                self.macro(cursor, path)
            elif cursor.kind is CursorKind.MACRO_DEFINITION:
                self.define(f"macro {cursor.spelling}", cursor, path)
            elif not cursor.kind.is_preprocessing():
                self.walk(cursor)

    def define(self, usr: str, cursor: Any, path: str) -> None:
        self.places[usr][path, cursor.location.line, cursor.spelling.partition("<")[0]] = None

    def walk(self, top: Any) -> None:
        waiting = [top]
        while waiting:
            cursor = waiting.pop()
            kind = cursor.kind
            if kind in FUNCTIONS or kind in TYPES:
                path = self.relative(cursor.location.file)
                if path is not None:
                    self.define(cursor.get_usr(), cursor, path)
                    if cursor.is_definition() and kind in FUNCTIONS:
                        self.bodies[path].add((cursor.extent.start.offset, cursor.extent.end.offset))
            elif kind is CursorKind.CALL_EXPR:
                self.call(cursor)
            elif kind is CursorKind.CXX_BASE_SPECIFIER:
                self.base(cursor)
            waiting.extend(cursor.get_children())

    def macro(self, cursor: Any, path: str) -> None:
        name, offset = cursor.spelling, cursor.location.offset
        after = self.text(path)[offset + len(name) : offset + len(name) + 40]
        if self.text(path)[offset:].startswith(name.encode()) and after.lstrip().startswith(b"("):
            key = (path, cursor.location.line, offset, name)
            self.calls[key] = ("macro", f"macro {name}")

    def call(self, cursor: Any) -> None:
        target = cursor.referenced
        place = self.written(cursor, target)
        if place is None:
            return
        path, line, offset, name = place
        if target is None:
            self.calls.setdefault((path, line, offset, name), ("unresolved", ""))
            return
        if target.kind is CursorKind.CONSTRUCTOR:
            parent = target.semantic_parent
            meaning = ("type", parent.get_usr())
        elif target.kind in FUNCTIONS:
            meaning = ("function", self.general(target).get_usr())
        elif target.kind is CursorKind.OVERLOADED_DECL_REF:
            meaning = ("unresolved", "")
        else:
            meaning = ("variable", "")
        self.calls[path, line, offset, name] = meaning

    def general(self, target: Any) -> Any:
        """Return the template that a function was made from, or the function itself."""
        template = conf.lib.clang_getSpecializedCursorTemplate(target)
        return template if template is not None and template.kind is not CursorKind.INVALID_FILE else target

    def written(self, cursor: Any, target: Any) -> tuple[str, int, int, str] | None:
        """Return where the name of what is called is written; None where it is not."""
        name = (target.spelling if target is not None else cursor.spelling).partition("<")[0]
        if not name or name.startswith(("operator", "~")):
            return None
        places = [cursor.location]
        if target is not None and target.kind is CursorKind.CONSTRUCTOR:
            start = cursor.extent.start
            places = [
                start,
                *(child.location for child in cursor.get_children() if child.kind.is_reference()),
            ]
        else:
            places += [child.location for child in cursor.get_children()]
            places += [inner.location for child in cursor.get_children() for inner in child.get_children()]
        for location in places:
            path = self.relative(location.file)
            if path is None:
                continue
            text = self.text(path)
            if target is not None and target.kind is CursorKind.CONSTRUCTOR:
                found = re.match(
                    rb"(?:new\s+)?(?:\w+::)*" + re.escape(name.encode()) + rb"\b", text[location.offset :]
                )
                after = text[location.offset + found.end() :].lstrip()[:1] if found else b""
                if found and (after in (b"(", b"{", b"<") or found[0].startswith(b"new")):
                    return path, location.line, location.offset, name
            elif re.match(re.escape(name.encode()) + rb"\b", text[location.offset :]):
                return path, location.line, location.offset, name
        return None

    def base(self, cursor: Any) -> None:
        path = self.relative(cursor.location.file)
        target = cursor.referenced
        if path is not None:
            known = target is not None and target.kind in TYPES
            usr = self.general(target).get_usr() if known else ""
            name = re.split(r"[<\s]", cursor.spelling.replace("class ", "").replace("struct ", ""))[0]
            self.bases[path, cursor.location.line, name.rpartition("::")[2]] = (usr, known)

    def rows(self) -> None:
        for path in {place[0] for places in self.places.values() for place in places}:
            for found in DEFINE.finditer(self.text(path)):
                line = self.text(path).count(b"\n", 0, found.start(1)) + 1
                self.macros[found[1].decode()][path, line, found[1].decode()] = None
        for (path, line, offset, name), (kind, usr) in sorted(self.calls.items()):
            if kind == "macro" and not any(start <= offset < end for start, end in self.bodies[path]):
                continue
            targets = [{"path": p, "line": at, "name": n} for p, at, n in self.places.get(usr, ())]
            row = {"kind": "call", "path": path, "line": line, "name": name, "targets": targets}
            others = [{"path": path, "line": line, "name": name}] if kind == "variable" else []
            if kind == "macro" and targets:
                others = [{"path": p, "line": at, "name": n} for p, at, n in self.macros[name]]
            write({**row, "others": others, "resolved": kind not in ("unresolved", "variable")})
        for (path, line, name), (usr, known) in sorted(self.bases.items()):
            targets = [{"path": p, "line": at, "name": n} for p, at, n in self.places.get(usr, ())]
            row = {"kind": "inherit", "path": path, "line": line, "name": name, "targets": targets}
            write({**row, "others": [], "resolved": known})
        for source in (*self.sources, *self.headers):
            self.included(source)

    def included(self, source: Path) -> None:
        path = str(source.relative_to(self.root))
        text = self.text(path)
        for found in INCLUDE.finditer(text):
            written = found[2].decode("utf-8", "replace")
            folders = [source.parent, *self.includes] if found[1] == b'"' else self.includes
            file = next((folder / written for folder in folders if (folder / written).is_file()), None)
            target = self.relative(file) if file is not None else None
            line = text.count(b"\n", 0, found.start()) + 1
            targets = [{"path": target}] if target is not None else []
            write({"kind": "import", "path": path, "line": line, "targets": targets, "others": []})


def write(row: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--flag", action="append", default=[])
    options = parser.parse_args()
    project = Project(options.folder.resolve(), options.flag)
    for source in project.sources:
        project.read(source)
    project.rows()


if __name__ == "__main__":
    main()
