"""Chunk files at 1,000, 10,000 and 100,000 chunks: loading, memory, time of a query.

`python -m benchmarks.chunkfiles [--chunks N ...]` prints the figures as JSON. `load_s` is the first search
after the files were written, `start_s` a later server from its start to its first answer. Files hold texts of
about a thousand characters and vectors of 384 dimensions. Memory is that of a server over its pipe
after queries, above the same server with one chunk; a query's time is the search's own, as the
server tells it, less the embedding service's: both are timed in turn, and the median difference
counts, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import pss_mb
from findspot.embed.embedder import EmbedMode
from findspot.embed.http_embedder import HttpEmbedder

DIMENSIONS = 384
SIZES = (1_000, 10_000, 100_000)
QUERIES = 100
TAGS = ("code", "documentation", "go", "python", "internal", "auth", "api", "store")
TYPES = ("definitions", "symbols", "documentation", "data")


class Service:
    """Gives every text a random vector."""

    def __init__(self) -> None:
        chance = np.random.default_rng(1)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(b"{}")

            def do_POST(self) -> None:
                count = len(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["texts"])
                vectors = chance.normal(size=(count, DIMENSIONS)).round(6).tolist()
                self._send(json.dumps({"embeddings": vectors}).encode())

            def _send(self, data: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def own_ms(self) -> float:
        """What asking the service takes, without any search."""
        started = time.perf_counter()
        HttpEmbedder(self.url, DIMENSIONS).embed(["a question"], EmbedMode.QUERY)
        return 1000 * (time.perf_counter() - started)


def write_chunks(folder: Path, count: int) -> None:
    """One file of each type, written row by row."""
    chance, rows = random.Random(2), np.random.default_rng(3)
    words = [f"word{number:x}" for number in range(20_000)]
    folder.mkdir(parents=True)
    for place, kind in enumerate(TYPES):
        head = {"model": "random", "dimensions": DIMENSIONS, "chunk_type": kind, "version": "2.0.0"}
        with (folder / f"{kind}.json").open("w", encoding="utf-8") as out:
            out.write(json.dumps({"_metadata": head})[:-1] + ', "chunks": [')
            for number in range(place, count, len(TYPES)):
                chunk = {
                    "id": f"code-{kind}-src-module-{number}-go",
                    "chunk_type": kind,
                    "title": f"src/module/{number}.go {kind}",
                    "text": " ".join(chance.choices(words, k=120)),
                    "embedding": rows.normal(size=DIMENSIONS).round(5).tolist(),
                    "tags": chance.sample(TAGS, 4),
                    "metadata": {"source": "code", "file_path": f"src/module/{number}.go", "language": "go"},
                    "created_at": "2025-10-16T12:35:00Z",
                    "updated_at": "2025-10-16T12:35:00Z",
                }
                out.write(("" if number == place else ",") + "\n" + json.dumps(chunk))
            out.write("]}")


class Server:
    """`findspot serve` in a folder of chunk files, and the pipe to it."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        settings = {"FINDSPOT_HOME": str(folder / "home"), "CORTEX_EMBEDDING_ENDPOINT": endpoint}
        command = [sys.executable, "-m", "findspot", "serve"]
        self._process = subprocess.Popen(
            command, cwd=folder, env=os.environ | settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._id = 0
        client = {"name": "benchmark", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def search_ms(self, **arguments: Any) -> float:
        """The time of one search as the server tells it."""
        given = {"query": "a question", "min_score": -1, "include_stats": True, **arguments}
        answer = self._ask("tools/call", {"name": "cortex_search", "arguments": given})
        return float(answer["result"]["structuredContent"]["stats"]["search_time_ms"])

    def memory_mb(self) -> float:
        return pss_mb(self._process.pid)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._id:
                return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def measure(sizes: list[int]) -> dict[str, float]:
    service = Service()
    found: dict[str, float] = {}
    empty = _served(service, 4)["mb"]
    for size in sizes:
        figures = _served(service, size)
        found |= {
            f"{size}_load_s": figures["first_ms"] / 1000,
            f"{size}_start_s": figures["start_s"],
            f"{size}_p50_ms": figures["p50_ms"],
            f"{size}_filtered_p50_ms": figures["filtered_p50_ms"],
            f"{size}_mb_above_empty": figures["mb"] - empty,
            f"{size}_mb_per_1000": (figures["mb"] - empty) / size * 1000,
        }
    return found


def _served(service: Service, size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_chunks(folder / ".cortex" / "chunks", size)
        server = Server(folder, service.url)
        first = server.search_ms()
        figures = {
            "first_ms": first,
            "p50_ms": _searching(server, service),
            "filtered_p50_ms": _searching(server, service, tags=["go", "auth"], chunk_types=["data"]),
            "mb": server.memory_mb(),
        }
        server.close()
        started = time.perf_counter()
        again = Server(folder, service.url)
        again.search_ms()
        figures["start_s"] = time.perf_counter() - started
        again.close()
    return figures


def _searching(server: Server, service: Service, **narrowed: Any) -> float:
    """The median of what a search takes beyond its question's embedding."""
    return statistics.median(server.search_ms(**narrowed) - service.own_ms() for _ in range(QUERIES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=list(SIZES))
    figures = measure(parser.parse_args().chunks)
    sys.stdout.write(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
