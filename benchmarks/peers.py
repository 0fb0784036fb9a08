"""Findspot beside other tools that a user might choose: one tree, one run, each tool by its own interface.

    python -m benchmarks.peers PROJECT [--work FOLDER] [--stand-in] [--json FILE]

The others are installed into an environment of their own below `--work`. Everything runs in turn, so
that what else the machine does falls on all. semble fetches its model from a hub. Where there is none,
`--stand-in` gives it a table of Findspot's words with as many rows and columns: its speed is the same, its
answers are not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory import PeakMemory, machine
from benchmarks.start import OURS, Server
from findspot.embed.static_model import MODEL_FOLDER

SEMBLE = "semble[mcp]==0.7.0"
STAND_IN_ROWS = 62_500
"""Rows of the model that semble 0.7.0 fetches (16 million numbers in 256 columns)."""

WARM_UP = 10
ROUNDS = 3
EDITS = 3
PATIENCE_S = 120.0
"""An edit that is not found by then is not found."""

QUESTIONS = (
    "how is the configuration read",
    "where are errors reported to the user",
    "parse command line arguments",
    "open a connection to the database",
    "cache the result of a call",
    "write a file to disk",
    "check whether the user may do this",
    "convert a date to text",
    "retry after a timeout",
    "test client request",
    "split a path into parts",
    "send a message over the network",
    "validate the fields of a form",
    "start the server",
    "register a new handler",
    "escape special characters in a string",
    "compare two versions",
    "load a template",
    "clean up temporary files",
    "log a warning once",
)

_STAND_IN = """
import json, sys
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

source, target, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = open(f"{source}/vocabulary.txt", encoding="utf-8").read().splitlines()
table = np.load(f"{source}/vectors.npy")
vectors = table["vector"].astype(np.float32) * table["scale"][:, None]
names = [*words, *(f"[unused{n}]" for n in range(rows - len(words) - 1)), "[UNK]"]
vectors = np.concatenate([vectors, np.zeros((rows - len(words), vectors.shape[1]), np.float32)])
tokenizer = Tokenizer(models.WordPiece({w: n for n, w in enumerate(names)}, unk_token="[UNK]"))
tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
StaticModel(vectors, tokenizer).save_pretrained(target)
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """How a search server is started, made to index, and asked."""

    name: str
    command: tuple[str, ...]
    index: tuple[str, Mapping[str, Any]]
    """The call that makes a first index, as tool and arguments."""
    search: Callable[[str], tuple[str, Mapping[str, Any]]]
    env: Mapping[str, str] = field(default_factory=dict)


def findspot(project: Path) -> Tool:
    return Tool(
        "findspot",
        OURS,
        ("index_codebase", {"path": str(project), "confirm": True}),
        lambda query: ("search_code", {"query": query, "path": str(project)}),
    )


def semble(project: Path, python: Path, model: Path | None, cache: Path) -> Tool:
    env = {"XDG_CACHE_HOME": str(cache), "HOME": str(cache)}
    if model is not None:
        env |= {"SEMBLE_MODEL_NAME": str(model), "HF_HUB_OFFLINE": "1"}
    return Tool(
        "semble",
        (str(python.with_name("semble")),),
        ("search", {"query": "first question", "repo": str(project)}),
        lambda query: ("search", {"query": query, "repo": str(project)}),
        env,
    )


def install(work: Path) -> Path:
    """Install the peers into an environment of their own, once; return its Python."""
    python = work / "peers" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(work / "peers")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", SEMBLE], check=True)
    return python


def stand_in_model(work: Path, python: Path) -> Path:
    """Write a table of as many rows as the one that semble would fetch."""
    target = work / "stand-in-model"
    if not target.exists():
        source = str(MODEL_FOLDER)
        subprocess.run([python, "-c", _STAND_IN, source, str(target), str(STAND_IN_ROWS)], check=True)
    return target


def measure(tools: list[Tool], project: Path, home: Path, edited: Path) -> dict[str, dict[str, float]]:
    """Return all figures of each tool; the warm calls of the tools alternate."""
    figures: dict[str, dict[str, float]] = {tool.name: {} for tool in tools}
    for tool in tools:
        figures[tool.name] |= _indexing(tool, project, home)
    for tool in tools:
        figures[tool.name] |= _starting(tool, project, home)
    servers = {tool.name: Server(tool.command, home, cwd=project, env=tool.env, quiet=True) for tool in tools}
    try:
        times: dict[str, list[float]] = {tool.name: [] for tool in tools}
        for number in range(WARM_UP):
            for tool in tools:
                _ask(servers[tool.name], tool, QUESTIONS[number])
        for number in range(ROUNDS):
            for question in QUESTIONS:
                for tool in tools:
                    asked = f"{question} {number}" if number else question
                    times[tool.name].append(_ask(servers[tool.name], tool, asked)[1])
        for tool in tools:
            figures[tool.name] |= {
                "warm p50, ms": 1000 * statistics.median(times[tool.name]),
                "warm p95, ms": 1000 * statistics.quantiles(times[tool.name], n=20)[-1],
                "serving, MB": servers[tool.name].pss_mb(),
                "edit to answer, s": _editing(servers[tool.name], tool, edited),
            }
    finally:
        for server in servers.values():
            server.close()
    return figures


def _indexing(tool: Tool, project: Path, home: Path) -> dict[str, float]:
    server = Server(tool.command, home, cwd=project, env=tool.env, quiet=True)
    with PeakMemory(server.pid) as peak:
        result, seconds = server.timed(*tool.index)
    server.close()
    if result.get("isError"):
        raise RuntimeError(f"{tool.name} did not index: {str(result)[:500]}")
    return {"index, s": seconds, "index, MB": peak.mb}


def _starting(tool: Tool, project: Path, home: Path) -> dict[str, float]:
    ready, answered = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        server = Server(tool.command, home, cwd=project, env=tool.env, quiet=True)
        ready.append(server.ready_s)
        _ask(server, tool, QUESTIONS[0])
        answered.append(time.perf_counter() - started)
        server.close()
    return {"ready, s": statistics.median(ready), "first answer, s": statistics.median(answered)}


def _editing(server: Server, tool: Tool, edited: Path) -> float:
    """Return how long after a save its new name is in an answer."""
    seconds = []
    for _ in range(EDITS):
        name = f"peer{uuid.uuid4().hex[:12]}"
        edited.write_text(_definition(name), "utf-8")
        started = time.perf_counter()
        while name not in _ask(server, tool, name)[0]:
            if time.perf_counter() - started > PATIENCE_S:
                return float("inf")
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


@contextmanager
def edited_file(project: Path) -> Iterator[Path]:
    """Provide a small file in the project that exists while everything is measured."""
    path = project / "peers_edit.py"
    path.write_text(_definition("before_any_edit"), "utf-8")
    try:
        yield path
    finally:
        path.unlink()


def _definition(name: str) -> str:
    return f'def {name}():\n    """Return nothing."""\n'


def _ask(server: Server, tool: Tool, question: str) -> tuple[str, float]:
    result, seconds = server.timed(*tool.search(question))
    if result.get("isError"):
        raise RuntimeError(f"{tool.name}: {str(result)[:500]}")
    return _shown(result), seconds


def _shown(result: Mapping[str, Any]) -> str:
    """Return the results of an answer as text, without the question that it may repeat."""
    structured = result.get("structuredContent", {})
    if "results" in structured:
        return json.dumps(structured["results"])
    answer = json.loads(result["content"][0]["text"])
    return json.dumps(answer.get("results", []))


def ripgrep(project: Path) -> dict[str, float]:
    """Return how long ripgrep takes for a word of each question; it has no index, and ranks nothing."""
    program = str(Path(sysconfig.get_path("scripts")) / "rg")
    times = []
    for question in QUESTIONS:
        word = max(question.split(), key=len)
        started = time.perf_counter()
        subprocess.run([program, "-i", "-n", word, str(project)], stdout=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - started)
    p95 = statistics.quantiles(times, n=20)[-1]
    return {"warm p50, ms": 1000 * statistics.median(times), "warm p95, ms": 1000 * p95}


def table(figures: Mapping[str, Mapping[str, float]]) -> str:
    names = list(dict.fromkeys(name for tool in figures.values() for name in tool))
    lines = ["| | " + " | ".join(figures) + " |", "|---" * (len(figures) + 1) + "|"]
    for name in names:
        cells = (f"{tool[name]:.3g}" if name in tool else "–" for tool in figures.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--work", type=Path, default=Path(__file__).parent / ".cache" / "peers")
    parser.add_argument("--stand-in", action="store_true", help="no hub can be reached")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    project, work = args.project.resolve(), args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = install(work)
    model = stand_in_model(work, python) if args.stand_in else None
    with tempfile.TemporaryDirectory() as folder, edited_file(project) as edited:
        scratch = Path(folder)
        tools = [findspot(project), semble(project, python, model, scratch / "cache")]
        figures = measure(tools, project, scratch / "home", edited)
    figures["ripgrep"] = ripgrep(project)
    files = sum(1 for path in project.rglob("*") if path.is_file() and ".git" not in path.parts)
    about = machine() | {
        "files": str(files),
        "semble": SEMBLE + (", stand-in model" if args.stand_in else ""),
    }
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in about.items()))
    sys.stdout.write(f"\n\n{table(figures)}\n")
    if args.json:
        args.json.write_text(json.dumps({"about": about, "figures": figures}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
