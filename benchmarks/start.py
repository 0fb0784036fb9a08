"""How soon the MCP server is ready and how much memory it takes, beside an empty SDK server.

`python -m benchmarks.start` prints the figures as JSON. Both servers are started in turn, so
that whatever else the machine does falls on both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
            env={**_ENVIRONMENT, "FINDSPOT_HOME": str(home), **(env or {})},
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
        return sum(map(_pss_kb, _family(self._process.pid))) / 1024

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def _family(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [pid, *(member for child in children for member in _family(int(child)))]


def _pss_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure(project: Path | None = None) -> dict[str, float]:
    """Medians of starts, memory idle and after searches, and the times of the searches."""
    root = project or Path(__file__).parents[1] / "src" / "findspot"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ready: dict[str, list[float]] = {"ours": [], "empty": []}
        idle: list[float] = []
        for _ in range(ROUNDS):
            for name, command in (("ours", OURS), ("empty", (sys.executable, "-c", _EMPTY))):
                server = Server(command, home)
                ready[name].append(server.ready_s)
                if name == "ours":
                    idle.append(server.pss_mb())
                server.close()
        return {
            "ready_s": statistics.median(ready["ours"]),
            "empty_ready_s": statistics.median(ready["empty"]),
            "ready_ratio": statistics.median(ready["ours"]) / statistics.median(ready["empty"]),
            "idle_mb": statistics.median(idle),
            **_searches(home, root),
        }


def _searches(home: Path, root: Path) -> dict[str, float]:
    maker = Server(OURS, home)
    maker.call("index_codebase", path=str(root))
    maker.close()
    server = Server(OURS, home)
    first = server.call("search_code", query="where does a project begin", path=str(root))
    warm: list[float] = []
    around: list[float] = []
    for number in range(SEARCHES):
        warm.append(server.call("search_code", query=f"where does a project begin {number}", path=str(root)))
        around.append(warm[-1] - server.searched_s)
    figures = {
        "first_search_s": first,
        "warm_search_ms": statistics.median(warm) * 1000,
        "call_overhead_ms": statistics.median(around) * 1000,
        "searched_mb": server.pss_mb(),
    }
    server.close()
    return figures


if __name__ == "__main__":
    print(json.dumps({name: round(value, 3) for name, value in measure().items()}, indent=2))  # noqa: T201
