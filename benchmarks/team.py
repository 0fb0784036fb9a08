"""A team's server under load: many clients, each with a token of its own, one query a second each.

    python -m benchmarks.team --project FOLDER            # 50 clients for two minutes
    python -m benchmarks.team --clients 10 --seconds 10

Prints the figures as JSON. Clients ask at fixed times, whether or not their last answer has come, and an
answer's time counts from when it was due: a server that falls behind cannot hide it.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.call import QUERIES
from benchmarks.memory import pss_mb

CLIENTS = 50
SECONDS = 120
EVERY_S = 1.0
IDLE_S = 2.0
"""The server closes connections on which nothing came for five seconds; a busy machine may be that slow."""
GOAL_P95_MS = 500
PATIENCE_S = 60
_VERSION = "2025-11-25"


@dataclass
class Tally:
    """What all clients have seen together."""

    times_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, taken_s: float, error: str | None) -> None:
        with self._guard:
            self.times_ms.append(taken_s * 1000)
            if error:
                self.errors.append(error)


class TeamClient:
    """One client: a connection that stays open, and a session."""

    def __init__(self, address: str, token: str, project: Path) -> None:
        parts = urlsplit(address)
        self._path, self._project = parts.path, str(project)
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
        self._answered = time.monotonic()
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        hello = {
            "protocolVersion": _VERSION,
            "capabilities": {},
            "clientInfo": {"name": "team", "version": "1"},
        }
        _, session = self._post({"id": 0, "method": "initialize", "params": hello})
        self._headers |= {"Mcp-Session-Id": session or "", "MCP-Protocol-Version": _VERSION}
        self._post({"method": "notifications/initialized"})

    def ask(self, number: int, query: str) -> str | None:
        """What went wrong with a search, if anything."""
        call = {"name": "search_code", "arguments": {"query": query, "path": self._project}}
        try:
            said, _ = self._post({"id": number, "method": "tools/call", "params": call})
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()  # it is opened again by the next request
            return f"{type(error).__name__}: {error}"
        if "error" in said or said["result"].get("isError"):
            return json.dumps(said)[:200]
        return None if "results" in said["result"]["structuredContent"] else "no results"

    def _post(self, message: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        if time.monotonic() - self._answered > IDLE_S:
            self._connection.close()  # and opened again
        self._connection.request("POST", self._path, json.dumps({"jsonrpc": "2.0", **message}), self._headers)
        answer = self._connection.getresponse()
        body = answer.read().decode()
        self._answered = time.monotonic()
        if answer.status not in (200, 202):
            raise ValueError(f"status {answer.status}: {body[:100]}")
        data = [line.removeprefix("data:") for line in body.splitlines() if line.startswith("data:")]
        told = [json.loads(line) for line in data or [body] if line.strip()]
        return (told[-1] if told else {}), answer.headers.get("Mcp-Session-Id")

    def close(self) -> None:
        self._connection.close()


def measure(project: Path, home: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Index the project, serve it, and let everybody ask."""
    environment = os.environ | {"FINDSPOT_HOME": str(home)}
    command = (sys.executable, "-m", "findspot", "index", str(project), "--yes", "--json")
    indexed = subprocess.run(command, env=environment, capture_output=True, check=True)
    chunks = json.loads(indexed.stdout)["totalChunks"]
    tokens = [f"token-{number}" for number in range(clients)]
    file = home / "tokens.json"
    file.write_text(json.dumps({"tokens": [_entry(token, project) for token in tokens]}))
    tally, before = Tally(), _ended_cpu_s()
    with _serving(file, environment) as (address, pid):
        asking = [TeamClient(address, token, project) for token in tokens]
        for query in QUERIES:  # models are loaded and caches filled before it counts
            asking[0].ask(1, query)
        begin = time.monotonic() + 0.2
        threads = [
            threading.Thread(target=_ask, args=(client, begin + EVERY_S * n / clients, seconds, tally))
            for n, client in enumerate(asking)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory_mb = pss_mb(pid)
        for client in asking:
            client.close()
    used_s = _ended_cpu_s() - before
    figures = _figures(tally, chunks, memory_mb)
    return figures | {"clients": clients, "seconds": seconds, "server_cpu_s": round(used_s, 1)}


def _ended_cpu_s() -> float:
    """Processor time of the processes that this one started and saw end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ask(client: TeamClient, begin: float, seconds: float, tally: Tally) -> None:
    """One query each second; one that is due while the last is unanswered follows at once."""
    for number in range(max(1, int(seconds / EVERY_S))):
        due = begin + number * EVERY_S
        time.sleep(max(0.0, due - time.monotonic()))
        error = client.ask(number + 2, QUERIES[number % len(QUERIES)])
        tally.note(time.monotonic() - due, error)


def _figures(tally: Tally, chunks: int, memory_mb: float) -> dict[str, Any]:
    times = sorted(tally.times_ms)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "chunks": chunks,
        "requests": len(times),
        "errors": len(tally.errors),
        "first_errors": tally.errors[:3],
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "most_ms": round(times[-1], 1),
        "server_mb": round(memory_mb),
        "held": not tally.errors and cuts[94] < GOAL_P95_MS,
    }


def _entry(token: str, project: Path) -> dict[str, Any]:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"name": token, "sha256": digest, "projects": [str(project)]}


@contextmanager
def _serving(tokens: Path, environment: dict[str, str]) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "findspot", "serve", "--http", "127.0.0.1:0", "--read-only"]
    with subprocess.Popen(
        [*command, "--tokens", str(tokens)],
        cwd=tokens.parent,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            yield server.stderr.readline().split()[-1], server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        figures = measure(args.project.resolve(), Path(home), args.clients, args.seconds)
    print(json.dumps(figures, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
