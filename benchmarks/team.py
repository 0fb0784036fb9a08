"""A team's server under load: many clients, each with a token and a session of its own.

    python -m benchmarks.team --project FOLDER       # 50 clients, 2 queries per second each, 2 minutes
    python -m benchmarks.team --project FOLDER --home HOME     # keep the index for the next run

Prints the figures as JSON. Clients ask at fixed times, whether or not their last answer has come, and an
answer's time counts from when it was due: a server that falls behind cannot hide it. Each query is new: a
number at its end differs. All clients run in one process that does no more per answer than check it, because
they share the machine with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.memory import machine, pss_mb, tree
from benchmarks.peers import QUESTIONS

CLIENTS = 50
SECONDS = 120
PER_SECOND = 2.0
GOAL_P95_MS = 300
PATIENCE_S = 60
IDLE_S = 2.0
"""The server closes connections on which nothing came for five seconds; a busy machine may be that slow."""
_VERSION = "2025-11-25"


@dataclass
class Tally:
    """What all polite clients have seen together."""

    times_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def note(self, taken_s: float, error: str | None) -> None:
        self.times_ms.append(taken_s * 1000)
        if error:
            self.errors.append(error)


class TeamClient:
    """One client: a connection that stays open, and a session."""

    def __init__(self, address: str, token: str, project: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname, parts.port
        self._project = project
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._answered = 0.0
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        )

    async def connect(self) -> None:
        """Open the session."""
        hello = {
            "protocolVersion": _VERSION,
            "capabilities": {},
            "clientInfo": {"name": "team", "version": "1"},
        }
        status, headers, _ = await self._post({"id": 0, "method": "initialize", "params": hello})
        assert status == 200, status
        session = headers["mcp-session-id"]
        self._head += f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {_VERSION}\r\n"
        assert (await self._post({"method": "notifications/initialized"}))[0] == 202

    async def ask(self, number: int, query: str) -> str | None:
        """Return what went wrong with a search, if anything."""
        call = {"name": "search_code", "arguments": {"query": query, "path": self._project}}
        try:
            status, _, body = await self._post({"id": number, "method": "tools/call", "params": call})
        except (OSError, EOFError, ValueError) as error:
            self.close()  # it is opened again by the next request
            return f"{type(error).__name__}: {error}"
        if status != 200:
            return f"status {status}: {body[:100]!r}"
        found = b'"structuredContent"' in body and b'"isError":true' not in body
        return None if found else f"no results: {body[:200]!r}"

    async def _post(self, message: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if time.monotonic() - self._answered > IDLE_S:
            self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        reader, writer = self._streams
        body = json.dumps({"jsonrpc": "2.0", **message})
        writer.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        async with asyncio.timeout(PATIENCE_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            answer = await self._body(reader, headers)
        self._answered = time.monotonic()
        if headers.get("connection") == "close":
            self.close()
        return int(head[0].split()[1]), headers, answer

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if "transfer-encoding" not in headers:
            return await reader.readexactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(parts)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(frozen=True)
class Load:
    """How the server is asked."""

    clients: int = CLIENTS
    seconds: float = SECONDS
    per_second: float = PER_SECOND


def _findspot(home: Path, *arguments: str) -> Any:
    environment = os.environ | {"FINDSPOT_HOME": str(home)}
    command = [sys.executable, "-m", "findspot", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def measure(project: Path, home: Path, load: Load) -> dict[str, Any]:
    """Index the project, serve it, and let everybody ask."""
    chunks = _findspot(home, "index", str(project), "--yes")["totalChunks"]
    environment = os.environ | {"FINDSPOT_HOME": str(home)}
    tokens = [f"token-{number}" for number in range(load.clients)]
    file = home / "tokens.json"
    file.write_text(json.dumps({"tokens": [_entry(token, [str(project)]) for token in tokens]}))
    with _serving(file, environment) as (address, pid):
        asking = [TeamClient(address, token, str(project)) for token in tokens]
        figures = asyncio.run(_ask_all(asking, pid, load))
    return {"chunks": chunks, **figures}


async def _ask_all(asking: Sequence[TeamClient], pid: int, load: Load) -> dict[str, Any]:
    for client in asking:
        await client.connect()
    for number, query in enumerate(QUESTIONS):  # models are loaded and caches filled first
        await asyncio.gather(*(client.ask(number + 1, query) for client in asking[:8]))
    tally = Tally()
    server_s, clients_s = _cpu_s(pid), time.process_time()
    begin = asyncio.get_running_loop().time() + 0.2
    await asyncio.gather(
        *(
            _ask(client, begin + n / load.clients / load.per_second, n, load, tally)
            for n, client in enumerate(asking)
        )
    )
    used = {"server_cpu_ms": _cpu_s(pid) - server_s, "client_cpu_ms": time.process_time() - clients_s}
    per_request = {name: round(1000 * value / len(tally.times_ms), 2) for name, value in used.items()}
    memory_mb = pss_mb(pid)
    for client in asking:
        client.close()
    return _figures(tally) | per_request | {"server_mb": round(memory_mb)}


async def _ask(client: TeamClient, begin: float, number: int, load: Load, tally: Tally) -> None:
    """Ask at a steady pace; a query that is due while the last is unanswered follows at once."""
    loop = asyncio.get_running_loop()
    for turn in range(max(1, int(load.seconds * load.per_second))):
        due = begin + turn / load.per_second
        await asyncio.sleep(max(0.0, due - loop.time()))
        query = f"{QUESTIONS[(number + turn) % len(QUESTIONS)]} {number}{turn:03}"
        error = await client.ask(turn + 100, query)
        tally.note(loop.time() - due, error)


def _cpu_s(pid: int) -> float:
    """Processor time of a process and everything it started."""
    ticks = 0
    for member in tree(pid):
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _figures(tally: Tally) -> dict[str, Any]:
    times = sorted(tally.times_ms)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "requests": len(times),
        "errors": len(tally.errors),
        "first_errors": tally.errors[:3],
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "most_ms": round(times[-1], 1),
        "held": not tally.errors and cuts[94] < GOAL_P95_MS,
    }


def _entry(token: str, projects: list[str]) -> dict[str, Any]:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"name": token, "sha256": digest, "projects": projects}


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
    parser.add_argument("--home", type=Path, help="keep the index here; default: a temporary folder")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--per-second", type=float, default=PER_SECOND, help="queries of each client")
    args = parser.parse_args()
    load = Load(args.clients, args.seconds, args.per_second)
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(args.project.resolve(), (args.home or Path(temporary)).resolve(), load)
    asked = {name: getattr(load, name) for name in ("clients", "per_second", "seconds")}
    print(json.dumps({**machine(), **asked, **figures}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
