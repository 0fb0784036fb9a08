"""Calls, implementations and imports of a Rust crate as rustc resolves them.

python -m benchmarks.graph.truth_rust FOLDER --flag='--cfg=feature="std"' src/lib.rs tests/*.rs > truth.jsonl

The trees that the compiler prints (`-Zunpretty`) name the definition that every call, trait and `use` leads
to. The first root is the library; the others may use it under the name of FOLDER, or of `--crate`. Tests are
included. Code that a macro makes does not count, the arguments of macros do. A call of a trait's method on a
type of the crate may lead to the trait or to the implementation for that type. Tuple structs and variants are
not judged. The rows are those of `benchmarks.graph.measure`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SPAN = re.compile(r"(\S+\.rs):(\d+):(\d+): (\d+):(\d+) \(#(\d+)\)")
DEFINITION = re.compile(r"DefId\(\d+:\d+ ~ (\w+)\[\w+\](::[^)]+)?\)")
CALLED = re.compile(r"ty: FnDef\((DefId\([^)]*\)), \[(.*)\]\)$")
OWN = re.compile(r"^(?:&(?:'\S+ )?(?:mut )?)*([\w:]+)")
IMPLEMENTATION = re.compile(r"\{impl#\d+\}")


def key(text: str) -> str:
    """Return the path of a definition, with its crate."""
    found = DEFINITION.search(text)
    return found[1] + (found[2] or "") if found else ""


def owners(lines: Iterator[str]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each item, with what is printed of it up to its own span, line by line with indentation."""
    owner, depth = "", -1
    inside: list[tuple[int, str]] = []
    for text in lines:
        line = text.strip()
        indent = len(text) - len(text.lstrip())
        if indent == 0 and "=> OwnerNodes" in line:
            owner, depth, inside = key(line), -1, []
        elif owner:
            inside.append((indent, line))
            if depth < 0 and line.startswith("owner_id: ") and key(line) == owner:
                depth = indent
            elif indent == depth and line.startswith("span: "):
                yield owner, inside
                owner = ""


def named(kind: str, inside: list[tuple[int, str]]) -> Iterator[dict[str, Any]]:
    """Yield the first path that is printed, and what its parts lead to."""
    found = next((span for _, line in inside if (span := SPAN.match(line.removeprefix("span: ")))), None)
    if found and found[6] == "0":
        names = [key(line) for _, line in inside if "DefId(" in line and "_id" not in line]
        yield {"kind": kind, "path": found[1], "line": int(found[4]), "names": names}


class Crate:
    """What the compiler prints of one root file, and where the definitions of all of them are."""

    def __init__(self, root: Path, name: str, flags: list[str]) -> None:
        self.root, self.name, self.flags = root, name, flags
        self.places: dict[str, tuple[str, int]] = {}
        self.modules: dict[str, str] = {}
        self.implemented: dict[str, str] = {}

    def tree(self, kind: str, file: str, library: Path | None) -> Iterator[str]:
        command = ["rustc", "--test", f"-Zunpretty={kind}", "--cap-lints=allow", *self.flags, file]
        command += ["--crate-name", self.name if library is None else Path(file).stem.replace("-", "_")]
        if library:
            command += ["--extern", f"{self.name}={library}"]
        environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
        with subprocess.Popen(
            command, cwd=self.root, stdout=subprocess.PIPE, env=environment, text=True
        ) as process:
            assert process.stdout
            yield from process.stdout

    def target(self, path: str) -> dict[str, Any] | None:
        place = self.places.get(path)
        return {"path": place[0], "line": place[1], "name": path.rpartition("::")[2]} if place else None

    def items(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        """Note where definitions are; yield implementations and imports."""
        for owner, inside in owners(lines):
            depth = next(indent for indent, line in inside if line.startswith("owner_id: "))
            here = SPAN.search(inside[-1][1])
            if here and here[6] == "0":
                self.places.setdefault(owner, (here[1], int(here[2])))
            kind = next((line for indent, line in inside if indent == depth and line[:6] == "kind: "), "")
            if kind == "kind: Mod(":
                inner = next((line for _, line in inside if line.startswith("inner_span: ")), "")
                found = SPAN.search(inner)
                self.modules |= {owner: found[1]} if found else {}
                if found and here and found[1] != here[1]:
                    yield {"kind": "import", "path": here[1], "line": int(here[2]), "names": [owner]}
            elif kind == "kind: Use(":
                yield from named("import", inside)
            elif IMPLEMENTATION.search(owner.rpartition("::")[2]):
                own = next((at for at, (_, line) in enumerate(inside) if line.startswith("self_ty: ")), 0)
                of_type = next((key(line) for _, line in inside[own:] if line.startswith("DefId(")), "")
                self.implemented[owner] = of_type.rpartition("::")[2]
                starts = [at for at, (_, line) in enumerate(inside) if line == "of_trait: Some("]
                yield from named("inherit", inside[starts[0] :]) if starts else ()

    def calls(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        """Yield the calls that are written in the source."""
        called = None
        for text in lines:
            line = text.strip()
            if line == "Call {":
                called = ""
            elif called == "":
                called = line if CALLED.match(line) else None
            elif called and line.startswith("from_hir_call: false"):
                called = None
            elif called and line.startswith("span: "):
                found, what = SPAN.search(line), CALLED.match(called)
                called = None
                if found and what and found[6] == "0":
                    yield {"span": found, "to": key(what[1]), "of": what[2]}


def name_at(sources: dict[str, list[str]], root: Path, span: re.Match[str]) -> tuple[str, int] | None:
    """Return the last name of a path in the source, and its line."""
    path, first, start, last, end = span[1], int(span[2]), int(span[3]), int(span[4]), int(span[5])
    lines = sources.setdefault(path, (root / path).read_text(encoding="utf-8").splitlines())
    parts = [lines[number - 1] for number in range(first, last + 1)]
    parts[-1] = parts[-1][: end - 1]
    parts[0] = parts[0][start - 1 :]
    text = re.sub(r"::\s*<.*$", "", "\n".join(parts), flags=re.DOTALL)
    found = re.search(r"(\w+)\s*$", text)
    return (found[1], first + text[: found.start()].count("\n")) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("roots", nargs="+", help="files of crates, the library first")
    parser.add_argument("--crate", default="")
    parser.add_argument("--edition", default="2021")
    parser.add_argument("--flag", action="append", default=[])
    options = parser.parse_args()
    folder = options.folder.resolve()
    crate = Crate(folder, options.crate or folder.name, [f"--edition={options.edition}", *options.flag])
    rows: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as build:
        library = Path(build) / f"lib{crate.name}.rlib"
        command = ["rustc", "--crate-type=lib", "--cap-lints=allow", f"--crate-name={crate.name}"]
        command += [*crate.flags, "-o", str(library), options.roots[0]]
        subprocess.run(command, cwd=folder, check=True, env=os.environ | {"RUSTC_BOOTSTRAP": "1"})
        crate.modules[crate.name] = options.roots[0]
        for number, file in enumerate(options.roots):
            used = library if number else None
            rows += crate.items(crate.tree("hir-tree", file, used))
            calls += crate.calls(crate.tree("thir-tree", file, used))
    write(crate, rows, calls)


def write(crate: Crate, rows: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    sources: dict[str, list[str]] = {}
    written = []
    for row in rows:
        names = row.pop("names")
        targets = [target for target in map(crate.target, names) if target]
        if row["kind"] == "import":
            files = {crate.modules[name] for name in names if name in crate.modules}
            files |= {target["path"] for target in targets}
            first = crate.modules.get(names[0]) if names else None
            defining = crate.target(names[0]) if names and first is None else None
            main = first or (defining["path"] if defining else "")
            row["targets"] = [{"path": main}] if main else []
            written.append(row | {"others": [{"path": file} for file in sorted(files - {main})]})
        elif names:
            target = crate.target(names[0])
            name = names[0].rpartition("::")[2]
            written.append(row | {"name": name, "targets": [target] if target else [], "resolved": True})
    for call in calls:
        place = name_at(sources, crate.root, call["span"])
        if place:
            row = {"kind": "call", "path": call["span"][1], "line": place[1], "name": place[0]}
            written.append(row | {"targets": targets_of(crate, call), "resolved": True})
    written += left_out(crate)
    seen = dict.fromkeys(json.dumps(row) for row in written)
    sys.stdout.write("".join(f"{line}\n" for line in seen))


def left_out(crate: Crate) -> Iterator[dict[str, Any]]:
    """Yield the modules that this build leaves out: they may be found."""
    for path in sorted(set(crate.modules.values())):
        text = (crate.root / path).read_text(encoding="utf-8")
        for name in re.findall(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);", text, re.MULTILINE):
            beside = Path(path).parent
            inside = beside if Path(path).stem in ("lib", "main", "mod") else Path(path).with_suffix("")
            for folder in (beside, inside):
                for file in (folder / f"{name}.rs", folder / name / "mod.rs"):
                    if (crate.root / file).exists():
                        others = [{"path": file.as_posix()}]
                        yield {"kind": "import", "path": path, "line": 0, "targets": [], "others": others}


def targets_of(crate: Crate, call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the function or method that is called, and what implements it for the type it is called on."""
    path = call["to"]
    found, trait = OWN.match(call["of"]), path.split("::")[-2:][0]
    targets = [crate.target(path)]
    if found and trait[:1].isupper():
        of_type, name = found[1].rpartition("::")[2], path.rpartition("::")[2]
        impls = [impl for impl, of in crate.implemented.items() if of == of_type]
        targets += [crate.target(f"{impl}::{name}") for impl in impls]
    return [target for target in targets if target]


if __name__ == "__main__":
    main()
