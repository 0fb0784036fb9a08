"""A team's server under load: many clients, each with a token and a session of its own.

    python -m benchmarks.team --project FOLDER       # 50 clients, 2 queries per second each, 2 minutes
    python -m benchmarks.team --project FOLDER --home HOME     # keep the index for the next run
    python -m benchmarks.team --clients 10 --seconds 10 --flood    # one client that floods beside polite ones
    python -m benchmarks.team --mirrors MIRRORS --home WORK    # 30 clients, 50 published repositories

With `--mirrors`, small repositories out of a folder of bare ones are unpacked, each is published to a folder
of its own, and the server's indexes begin from what is published. Clients name a project by the address of
its repository, and ask about another one each time.

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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.large import repositories_in, unpack
from benchmarks.memory import pss_mb, tree
from benchmarks.peers import QUESTIONS
from benchmarks.speed import machine

CLIENTS, REPOSITORY_CLIENTS = 50, 30
REPOSITORIES = 50
FILES = range(30, 600)
"""How many files a repository has that counts as small."""
SECONDS = 120
PER_SECOND = 2.0
GOAL_P95_MS, REPOSITORIES_GOAL_P95_MS = 300, 400
PATIENCE_S = 60
IDLE_S = 2.0
"""The server closes connections on which nothing came for five seconds; a busy machine may be that slow."""
FLOOD_CONNECTIONS = 40
"""Connections of the client that floods: it asks again on each as soon as it has an answer."""
_APART = 1_007
"""Between the numbers of two clients' questions, so that they ask about different projects."""
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

    def __init__(self, address: str, token: str, projects: Sequence[str]) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname, parts.port
        self._projects = projects
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
        project = self._projects[number % len(self._projects)]
        call = {"name": "search_code", "arguments": {"query": query, "path": project}}
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
    flood: bool = False
    goal_p95_ms: int = GOAL_P95_MS


@dataclass(frozen=True)
class Served:
    """A project of the server, and how clients name it."""

    folder: Path
    named: str
    published: Path | None = None


def publish_repositories(mirrors: Path, work: Path, number: int) -> list[Served]:
    """Unpack small repositories and publish each; those that an earlier run has published are used again."""
    served: list[Served] = []
    sources, published = work / "sources", work / "published"
    sources.mkdir(parents=True, exist_ok=True)
    for mirror in repositories_in(mirrors):
        name = mirror.relative_to(mirrors).parts[0]
        listed = _git(mirror, "ls-tree", "-r", "--name-only", "HEAD")
        if len(listed.splitlines()) not in FILES:
            continue
        folder, address = sources / name, published / name
        if not address.exists() and not _publish(mirror, folder, address, work / "publisher"):
            continue
        served.append(Served(folder, f"github.com/{name.replace('+', '/', 1)}".lower(), address))
        if len(served) == number:
            break
    return served


def _publish(mirror: Path, folder: Path, address: Path, home: Path) -> bool:
    """Unpack the last commit of a bare repository and publish its index; False where objects are missing."""
    if not folder.exists() and not unpack(mirror, folder):
        return False
    commit, owner = _git(mirror, "rev-parse", "HEAD").strip(), folder.name.replace("+", "/", 1)
    command = ("publish", str(address), "--project", str(folder), "--commit", commit, "--branch", "main")
    _findspot(home, *command)
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://github.com/{owner}.git\n')
    return True


def _git(mirror: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "--git-dir", str(mirror), *arguments], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def _findspot(home: Path, *arguments: str, **settings: str) -> Any:
    environment = os.environ | {"FINDSPOT_HOME": str(home)} | settings
    command = [sys.executable, "-m", "findspot", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def measure(projects: Sequence[Served], home: Path, load: Load) -> dict[str, Any]:
    """Index the projects, serve them, and let everybody ask."""
    chunks = 0
    for project in projects:
        begin = {"FINDSPOT_PUBLISHED_AT": str(project.published)} if project.published else {}
        chunks += _findspot(home, "index", str(project.folder), "--yes", **begin)["totalChunks"]
    environment = os.environ | {"FINDSPOT_HOME": str(home)}
    tokens = [f"token-{number}" for number in range(load.clients + load.flood)]
    file = home / "tokens.json"
    names = [project.named for project in projects]
    file.write_text(json.dumps({"tokens": [_entry(token, names) for token in tokens]}))
    with _serving(file, environment) as (address, pid):
        figures = asyncio.run(_ask_all(address, pid, tokens, names, load))
    return {
        "projects": len(projects),
        "chunks": chunks,
        "load": " ".join(f"{one:.1f}" for one in os.getloadavg()),
        **figures,
    }


async def _ask_all(
    address: str, pid: int, tokens: list[str], projects: Sequence[str], load: Load
) -> dict[str, Any]:
    asking = [TeamClient(address, token, projects) for token in tokens[: load.clients]]
    for client in asking:
        await client.connect()
    for number in range(max(len(QUESTIONS), len(projects))):  # models are loaded and caches filled first
        query = QUESTIONS[number % len(QUESTIONS)]
        await asyncio.gather(*(client.ask(number + 1, query) for client in asking[:8]))
    tally, refused = Tally(), Counter[str]()
    server_s, clients_s = _cpu_s(pid), time.process_time()
    flooding = [
        asyncio.create_task(_flood(TeamClient(address, tokens[-1], projects), n, refused))
        for n in range(FLOOD_CONNECTIONS if load.flood else 0)
    ]
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
    for task in flooding:
        task.cancel()
    await asyncio.gather(*flooding, return_exceptions=True)
    for client in asking:
        client.close()
    flood = {"flood_answers": dict(refused)} if load.flood else {}
    return _figures(tally, load.goal_p95_ms) | per_request | {"server_mb": round(memory_mb)} | flood


async def _ask(client: TeamClient, begin: float, number: int, load: Load, tally: Tally) -> None:
    """Ask at a steady pace; a query that is due while the last is unanswered follows at once."""
    loop = asyncio.get_running_loop()
    for turn in range(max(1, int(load.seconds * load.per_second))):
        due = begin + turn / load.per_second
        await asyncio.sleep(max(0.0, due - loop.time()))
        query = f"{QUESTIONS[(number + turn) % len(QUESTIONS)]} {number}{turn:03}"
        error = await client.ask(turn + 100 + number * _APART, query)
        tally.note(loop.time() - due, error)


async def _flood(client: TeamClient, number: int, answers: Counter[str]) -> None:
    while True:
        try:
            await client.connect()
            break
        except (AssertionError, OSError, KeyError):
            client.close()
            await asyncio.sleep(1)
    turn = 0
    while True:
        turn += 1
        error = await client.ask(turn, f"{QUESTIONS[turn % len(QUESTIONS)]} {number}{turn:05}")
        answers[error.split(":")[0] if error else "answered"] += 1
        if error:
            await asyncio.sleep(0.01)


def _cpu_s(pid: int) -> float:
    """Processor time of a process and everything it started."""
    ticks = 0
    for member in tree(pid):
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _figures(tally: Tally, goal_p95_ms: int) -> dict[str, Any]:
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
        "held": not tally.errors and cuts[94] < goal_p95_ms,
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
    parser.add_argument("--mirrors", type=Path, help="a folder of bare repositories to publish and serve")
    parser.add_argument("--repositories", type=int, default=REPOSITORIES, help="how many of them")
    parser.add_argument("--home", type=Path, help="keep the indexes here; default: a temporary folder")
    parser.add_argument("--clients", type=int, help="default: 50, with --mirrors 30")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--per-second", type=float, default=PER_SECOND, help="queries of each client")
    parser.add_argument("--flood", action="store_true", help="add a client that asks without a pause")
    args = parser.parse_args()
    clients = args.clients or (REPOSITORY_CLIENTS if args.mirrors else CLIENTS)
    goal_ms = REPOSITORIES_GOAL_P95_MS if args.mirrors else GOAL_P95_MS
    load = Load(clients, args.seconds, args.per_second, args.flood, goal_ms)
    with tempfile.TemporaryDirectory() as temporary:
        home = (args.home or Path(temporary)).resolve()
        if args.mirrors:
            projects = publish_repositories(args.mirrors.resolve(), home, args.repositories)
            home /= "server"
        else:
            projects = [Served(args.project.resolve(), str(args.project.resolve()))]
        figures = measure(projects, home, load)
    asked = {name: getattr(load, name) for name in ("clients", "per_second", "seconds")}
    print(json.dumps({**machine(), **asked, **figures}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
