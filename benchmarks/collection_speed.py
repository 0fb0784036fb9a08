"""How fast collections beside a project answer: a catalogue of tools, and chunk files.

    python -m benchmarks.collection_speed [--tools 10000] [--chunks 1000 10000 100000]

Everything goes through the library. Chunk files hold texts of a thousand characters and random vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import machine, pss_mb
from findspot import Engine, SearchOptions, ToolSearchOptions
from findspot.catalogue.catalogue import BuildOptions
from findspot.catalogue.tool_record import SearchMode
from findspot.embed.embedder import model_name
from findspot.embed.provider_registry import open_embedder

TEXT = """
read write list create delete update search fetch convert send merge split export file folder invoice
customer ticket branch image calendar message payment table report issue server document translation given
returns optional matching latest name path range limit date user format content project"""
WORDS = TEXT.split()
PATTERNS = ("read.*file", "^list_", "(a+)+$", "invoice|ticket")
QUERIES = ("read the contents of a file on disk", "send a message to the customer about the payment")
TYPES = ("definitions", "symbols", "documentation", "data")
TAGS = ("code", "documentation", "go", "python", "internal", "auth")
ROUNDS = 25
COLD = """
import sys, time
from findspot import Engine
started = time.perf_counter()
assert Engine().catalogue(sys.argv[1]).search("file").tools
print(time.perf_counter() - started)
"""


def print_times(what: str, call: Callable[[int], object]) -> None:
    times = []
    for number in range(ROUNDS):
        started = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    p50, p95 = times[ROUNDS // 2], times[int(ROUNDS * 0.95)]
    sys.stdout.write(f"{what}: p50 {p50:.2f} ms, p95 {p95:.2f} ms\n")


def catalogue(folder: Path, count: int) -> None:
    """Index tools of ordinary length, the same ones every time, and search them in every mode."""
    chosen = random.Random(0)
    tools = [
        {
            "name": f"{chosen.choice(WORDS)}_{chosen.choice(WORDS)}_{number}",
            "serverName": f"server-{number % 200}",
            "description": " ".join(chosen.choices(WORDS, k=27)),
            "inputSchema": {"type": "object", "properties": {"a": {"description": chosen.choice(WORDS)}}},
        }
        for number in range(count)
    ]
    source = folder / "tools.json"
    source.write_text(json.dumps(tools), "utf-8")
    engine = Engine()
    made = engine.catalogue(folder)
    started = time.perf_counter()
    made.indexer.index([source], BuildOptions(), provider="local:static")
    sys.stdout.write(f"{count:,} tools: indexed in {time.perf_counter() - started:.2f} s\n")
    for mode in SearchMode:
        asked = PATTERNS if mode is SearchMode.REGEX else QUERIES
        options = ToolSearchOptions(mode=mode)
        print_times(mode, lambda n, a=asked, o=options: made.search(a[n % len(a)], o))  # type: ignore[misc]
    engine.close()
    cold = subprocess.run([sys.executable, "-c", COLD, str(folder)], capture_output=True, check=True)
    sys.stdout.write(f"first answer of a new process: {float(cold.stdout):.2f} s\n")


def chunk_files(folder: Path, count: int) -> None:
    """Write chunk files, and search them with and without filters."""
    write_chunks(folder / ".cortex" / "chunks", count)
    before = pss_mb(os.getpid())
    engine = Engine()
    searcher = engine.chunks(folder)
    started = time.perf_counter()
    searcher.query("a question", SearchOptions(min_score=-1))
    sys.stdout.write(f"{count:,} chunks: first answer after {time.perf_counter() - started:.2f} s, ")
    sys.stdout.write(f"{pss_mb(os.getpid()) - before:.0f} MB\n")
    print_times("plain", lambda n: searcher.query(f"question {n}", SearchOptions(min_score=-1)))
    narrow = SearchOptions(min_score=-1, tags=("go", "auth"), chunk_types=("data",))
    print_times("filtered", lambda n: searcher.query(f"question {n}", narrow))
    engine.close()


def write_chunks(folder: Path, count: int) -> None:
    """Write one file of each type, row by row."""
    model = open_embedder("local:static")
    chance, rows = random.Random(2), np.random.default_rng(3)
    folder.mkdir(parents=True)
    for place, kind in enumerate(TYPES):
        head = {
            "model": model_name(model),
            "dimensions": model.dimensions,
            "chunk_type": kind,
            "version": "2.0.0",
        }
        with (folder / f"{kind}.json").open("w", encoding="utf-8") as out:
            out.write(json.dumps({"_metadata": head})[:-1] + ', "chunks": [')
            for number in range(place, count, len(TYPES)):
                chunk: dict[str, Any] = {
                    "id": f"code-{kind}-{number}", "chunk_type": kind, "title": f"src/{number}.go {kind}",
                    "text": " ".join(chance.choices(WORDS, k=150)), "tags": chance.sample(TAGS, 4),
                    "embedding": rows.normal(size=model.dimensions).round(5).tolist(),
                    "metadata": {"file_path": f"src/{number}.go", "language": "go"},
                    "created_at": "2025-10-16T12:35:00Z", "updated_at": "2025-10-16T12:35:00Z",
                }  # fmt: skip
                out.write(("" if number == place else ",") + "\n" + json.dumps(chunk))
            out.write("]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in machine().items()) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"FINDSPOT_HOME": str(Path(folder, "home")), "HOME": folder}
        for part, size in (("tools", args.tools), *((f"chunks-{n}", n) for n in args.chunks)):
            place = Path(folder, part)
            place.mkdir()
            (catalogue if part == "tools" else chunk_files)(place, size)


if __name__ == "__main__":
    main()
