"""Compare where Findspot says an imported function is defined with what an editor's tools say, call by call.

    python -m benchmarks.external_calls PROJECT ... [--calls 60] [--jedi PYTHON] [--typescript FOLDER]

Each PROJECT is a project with its packages installed, in `.venv` or `node_modules`. Sampled are calls whose
name, or the module before it, is imported from an installed package, one per imported name. Python is
compared with jedi (`--jedi`: a Python that has it), TypeScript with its own language service (`--typescript`:
a folder whose `node_modules` has TypeScript 5). Calls that these do not resolve, or resolve outside of the
packages, are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.graph.measure import every_node
from findspot import Engine
from findspot.core.facts import Relation
from findspot.core.paths import SCHEME
from findspot.dependencies.package_modules import providing
from findspot.graph import Graph
from findspot.graph.resolve import EXTERNAL
from findspot.project import Project

_SEED = 4
_DECLARED = re.compile(r"\b(?:def|function|class|const|type|interface|enum)\s+([\w$]+)")
_TYPESCRIPT = ("typescript", "tsx")
_ORACLE = """
import json, re, sys, jedi
project = jedi.Project(sys.argv[1], environment_path=sys.argv[1] + "/.venv")
for line in sys.stdin:
    path, row, name, bare = json.loads(line)
    text = open(path, encoding="utf-8").read()
    before = "(?<![.\\w])" if bare else "(?<=[.])"
    columns = [m.start() for m in re.finditer(before + name + "[(]", text.split("\\n")[row - 1])]
    found = []
    if columns:
        try:
            script = jedi.Script(text, path=path, project=project)
            found = script.goto(row, columns[-1], follow_imports=True)
            # Of compiled names it finds the import; their stubs have the definition.
            defines = [re.search(r"\\b(def|class)\\s|[:=]", each.get_line_code() or "") for each in found]
            if not any(defines):
                found = script.goto(row, columns[-1], follow_imports=True, only_stubs=True)
        except Exception:
            found = []
    print(json.dumps([[str(each.module_path), each.line] for each in found if each.module_path]), flush=True)
"""


_TYPESCRIPT_ORACLE = """
const [root, modules] = process.argv.slice(1);
const ts = require(modules + "/node_modules/typescript");
const fs = require("fs");
const asked = fs.readFileSync(0, "utf8").trim().split("\\n").map((line) => JSON.parse(line));
const config = ts.getParsedCommandLineOfConfigFile(root + "/tsconfig.json", {}, {...ts.sys,
  onUnRecoverableConfigFileDiagnostic() {}});
const files = [...new Set([...asked.map(([path]) => path), ...config.fileNames])];
const service = ts.createLanguageService({
  getCompilationSettings: () => config.options, getScriptFileNames: () => files, getScriptVersion: () => "1",
  getScriptSnapshot: (f) =>
    fs.existsSync(f) ? ts.ScriptSnapshot.fromString(fs.readFileSync(f, "utf8")) : undefined,
  getCurrentDirectory: () => root, getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories, realpath: ts.sys.realpath});
for (const [path, row, name, bare] of asked) {
  const lines = fs.readFileSync(path, "utf8").split("\\n");
  const before = bare ? "(?<![.\\\\w$])" : "(?<=[.])";
  const column = lines[row - 1].search(new RegExp(before + name.replace(/[$]/g, "\\\\$&") + "\\\\s*[(<`]"));
  const at = lines.slice(0, row - 1).reduce((sum, line) => sum + line.length + 1, 0) + column;
  let found = [];
  try { found = column < 0 ? [] : service.getDefinitionAtPosition(path, at) || []; } catch {}
  console.log(JSON.stringify(found.map((each) => {
    const text = fs.readFileSync(each.fileName, "utf8").slice(0, each.textSpan.start);
    return [each.fileName, text.split("\\n").length];
  })));
}
"""


class Call(NamedTuple):
    """A call of something that a package defines, and what Findspot says about it."""

    path: str
    line: int
    name: str
    module: str
    names: tuple[str, ...]
    language: str
    bare: bool
    """Whether nothing stands before the name."""


def main() -> None:
    """Print for each project how many of the sampled calls lead to the right definition."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--jedi", default=sys.executable)
    parser.add_argument("--typescript", type=Path, default=Path())
    given = parser.parse_args()
    for root in given.projects:
        project = Engine().project(root)
        project.update()
        found = sorted({(call.module, call.names): call for call in _calls(project)}.values())
        calls = random.Random(_SEED).sample(found, min(given.calls, len(found)))
        command = [given.jedi, "-c", _ORACLE, str(project.root)]
        if calls and calls[0].language in _TYPESCRIPT:
            command = ["node", "-e", _TYPESCRIPT_ORACLE, str(project.root), str(given.typescript.resolve())]
        truth = _oracle(command, project, calls)
        judged = [(call, places) for call, places in zip(calls, truth, strict=True) if places]
        said = [project.packages.describe(call.language, call.module, call.names) for call, _ in judged]
        wrong = [
            f"  {call.path}:{call.line} {call.name}: {answer} instead of {places[0]}\n"
            for (call, places), answer in zip(judged, said, strict=True)
            if not _is_right(answer, places)
        ]
        right, unsaid = len(judged) - len(wrong), said.count(None)
        sys.stdout.write(f"{root.name}: {right} of {len(judged)} right, {unsaid} not resolved\n")
        sys.stderr.write("".join(wrong))


def _calls(project: Project) -> Iterator[Call]:
    """Yield the calls of names that are imported from an installed package."""
    listed = project.packages.listed()
    with project.reader() as reader:
        graph = Graph(reader.snapshot)
        languages = {file.path: file.language for file in reader.snapshot.files.files}
        for node in every_node(graph):
            language = languages.get(node.path, "")
            for use in graph.unresolved(node) if language in ("python", *_TYPESCRIPT) else ():
                taken = graph.leftovers.import_of(use) if use.reason == EXTERNAL else None
                if use.relation is Relation.CALL and taken is not None:
                    module, names = taken
                    if providing(listed, language, module):
                        yield Call(
                            use.path, use.line, use.name, module, tuple(names), language, not use.receiver
                        )


def _oracle(command: list[str], project: Project, calls: list[Call]) -> list[list[tuple[str, int]]]:
    asked = "".join(json.dumps([str(project.root / c.path), c.line, c.name, c.bare]) + "\n" for c in calls)
    answers = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    places = [[(path, line) for path, line in json.loads(answer) if line] for answer in answers.splitlines()]
    packages = (f"{project.root}/.venv/", f"{project.root}/node_modules/")
    return [[each for each in found if each[0].startswith(packages)] for found in places]


def _is_right(said: str | None, places: list[tuple[str, int]]) -> bool:
    """Return whether the lines are the same, or declare the same name once more in the same package.

    A function has overloads, and what a package declares in its build output it defines in its sources.
    """
    if said is None:
        return False
    where, _, shown = said.removeprefix(SCHEME).partition(" ")
    path, _, line = where.rpartition(":")
    label, _, inside = path.rpartition("@")
    folder, inside = f"/{label.partition('/')[2]}/", inside.partition("/")[2]
    for file, row in places:
        declaration = Path(file).read_text(encoding="utf-8", errors="replace").split("\n")[row - 1]
        same = file.endswith(f"/{inside}") or (
            folder in file and file.endswith((".d.ts", ".d.mts", ".d.cts"))
        )
        names = set(_DECLARED.findall(declaration)) & set(_DECLARED.findall(shown))
        if (file.endswith(f"/{inside}") and abs(int(line) - row) <= 3) or (same and names):
            return True
    return False


if __name__ == "__main__":
    main()
