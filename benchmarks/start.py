"""How soon a client is answered, and what clients cost, beside an empty Python and an empty SDK server.

    python -m benchmarks.start [PROJECT] [--load N]

All are started in turn, so that whatever else the machine does falls on all of them. With the resident
process up, the first answers of assistants and commands are timed on the machine as it is and, with `--load`,
beside N busy loops; then the first answer of a home whose process has to start, and the memory of five
assistants and the page at rest. PROJECT is indexed first; without it, it is the source of Findspot.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory import pss_mb

ROUNDS = 5
SEARCHES = 20

_EMPTY = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("empty")

async def main():
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""
OURS = (sys.executable, "-P", "-m", "findspot", "serve")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Installed packages are compiled: a source tree may be compiled as well, once."""

_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Server:
    """A server process and the pipe to it."""

    def __init__(
        self,
        command: Sequence[str],
        home: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env={**_ENVIRONMENT, "FINDSPOT_HOME": str(home), "FINDSPOT_IN_PROCESS": "1", **(env or {})},
            cwd=cwd,
        )
        self._arrived = 0.0
        self._id = 0
        self.searched_s = 0.0
        """How long the last call's search itself took."""
        self.ask("initialize", _HELLO)
        self.ready_s = time.perf_counter() - started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request and its result."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            self._arrived = time.perf_counter()  # what the client does with an answer is its own affair
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._id:
                result: dict[str, Any] = answer.get("result", answer)
                return result

    def timed(self, name: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Call a tool; returns the result and the seconds it took."""
        started = time.perf_counter()
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        return result, self._arrived - started

    def call(self, name: str, **arguments: Any) -> float:
        """Call a tool that must succeed; returns the seconds it took."""
        result, taken = self.timed(name, arguments)
        if result.get("isError", True):
            raise RuntimeError(f"{name}: {result}")
        self.searched_s = result["structuredContent"].get("searchTimeMs", 0) / 1000
        return taken

    @property
    def pid(self) -> int:
        return self._process.pid

    def pss_mb(self) -> float:
        """Memory of the server and all it started, shared pages counted once."""
        return pss_mb(self._process.pid)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


_SHARED = {"FINDSPOT_IN_PROCESS": "0"}
_QUESTION = "where does a project begin"
_BUSY = "while True: pass"
CLIENTS = 5


class Home:
    """A home whose clients share one process."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.root = root

    def run(self, *arguments: str) -> tuple[float, str]:
        """Run a command; returns the seconds it took, and what it printed."""
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "findspot", *arguments],
            env={**_ENVIRONMENT, "FINDSPOT_HOME": str(self.folder), **_SHARED},
            cwd=self.root,
            capture_output=True,
            check=True,
        )
        return time.perf_counter() - started, done.stdout.decode()

    def client(self) -> Server:
        return Server(OURS, self.folder, self.root, _SHARED)

    @property
    def pid(self) -> int:
        return int(json.loads(self.run("service", "status", "--json")[1])["pid"])


@contextlib.contextmanager
def _busy(loops: int) -> Iterator[None]:
    """Let so many processes use all the time they can get."""
    started = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(project: Path | None = None, load: int = 0) -> dict[str, float]:
    """Medians of first answers with the process up and without it, and the memory of clients at rest."""
    root = project or Path(__file__).parents[1] / "src" / "findspot"
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), root)
        home.run("index", "--yes", ".")
        try:
            figures = _first_answers(home)
            if load:
                with _busy(load):
                    busy = _first_answers(home)
                figures |= {f"busy_{name}": value for name, value in busy.items()}
            return figures | _cold(home) | _memory(home)
        finally:
            home.run("service", "stop")


def _first_answers(home: Home) -> dict[str, float]:
    names = ("empty_python_s", "empty_sdk_server_s", "initialize_s", "first_search_s", "command_s")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        taken["empty_python_s"].append(time.perf_counter() - started)
        empty = Server((sys.executable, "-c", _EMPTY), home.folder)
        taken["empty_sdk_server_s"].append(empty.ready_s)
        empty.close()
        client = home.client()
        taken["initialize_s"].append(client.ready_s)
        taken["first_search_s"].append(client.ready_s + client.call("search_code", query=_QUESTION))
        client.close()
        taken["command_s"].append(home.run("search", _QUESTION)[0])
    return {name: statistics.median(values) for name, values in taken.items()}


def _cold(home: Home) -> dict[str, float]:
    """The first answer of a home whose process does not run."""
    taken = []
    for _ in range(ROUNDS):
        home.run("service", "stop")
        client = home.client()
        taken.append(client.ready_s + client.call("search_code", query=_QUESTION))
        client.close()
    return {"cold_first_search_s": statistics.median(taken)}


def _memory(home: Home) -> dict[str, float]:
    clients = [home.client() for _ in range(CLIENTS)]
    warm: list[float] = []
    for client in clients:
        for number in range(SEARCHES):
            warm.append(client.call("search_code", query=f"{_QUESTION} {number}") * 1000)
    page = subprocess.Popen(
        [sys.executable, "-P", "-m", "findspot", "ui", "--no-open", "--port", "0"],
        env={**_ENVIRONMENT, "FINDSPOT_HOME": str(home.folder), **_SHARED},
        cwd=home.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert page.stdout is not None
    page.stdout.readline()
    pids = [home.pid, page.pid, *(client.pid for client in clients)]
    own = [pss_mb(pid) for pid in pids]
    page.terminate()
    page.wait()
    for client in clients:
        client.close()
    warm.sort()
    return {
        "resident_mb": own[0],
        "page_mb": own[1],
        "client_mb": statistics.median(own[2:]),
        "all_mb": sum(own),
        "warm_p50_ms": warm[len(warm) // 2],
        "warm_p95_ms": warm[int(len(warm) * 0.95)],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("project", type=Path, nargs="?")
    parser.add_argument("--load", type=int, default=8, help="busy loops beside the second round")
    given = parser.parse_args()
    found = measure(given.project, given.load) | {"load": os.getloadavg()[0]}
    print(json.dumps({name: round(value, 3) for name, value in found.items()}, indent=2))  # noqa: T201
