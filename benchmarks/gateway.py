"""What calls through the gateway cost, over ten real servers from npm and PyPI.

python -m benchmarks.gateway --servers FOLDER [--rounds N] [--idle] [--json]

`--servers` is a folder for the servers' packages; they are installed once. Each call is made in turn over a
direct pipe to the server and through `findspot gateway`, so that other load on the machine falls on both.
`--idle` waits until the servers have been idle for longer than the gateway's limit, and counts what is left.
Needs npm, and `/proc` for the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory import tree
from benchmarks.real_servers import SERVERS, filled, install
from benchmarks.start import Server

GATEWAY = (sys.executable, "-P", "-m", "findspot", "gateway")
CHARS_PER_TOKEN = 4
WARM = 5
"""Calls that are not counted: the first fill caches, on both sides."""

IDLE_S = 300.0
_AFTER_IDLE_S = 30.0

GOAL_ADDED_MS, GOAL_AGREED_MB = 5.0, 20.0


@dataclass(slots=True)
class Calls:
    """The times of one server, in milliseconds."""

    server: str
    cold_direct: float = 0.0
    """From starting the process to the first answer."""
    cold_gateway: float = 0.0
    failed: bool = False
    """Whether the call ends in an error, such as one that needs a network."""
    direct: list[float] = field(default_factory=list)
    gateway: list[float] = field(default_factory=list)

    @property
    def added(self) -> float:
        """The median of what the gateway adds to a call."""
        return statistics.median(g - d for g, d in zip(self.gateway, self.direct, strict=True))

    @property
    def added_at_best(self) -> float:
        """What the gateway adds by the best call of each kind: this tells on a busy machine."""
        return min(self.gateway) - min(self.direct)


@dataclass(slots=True)
class Figures:
    """Everything that one run measures."""

    machine: dict[str, Any]
    calls: list[Calls] = field(default_factory=list)
    memory_mb: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    left_after_idle: int | None = None
    left_after_end: int | None = None

    @property
    def added_ms(self) -> float:
        """The median over all calls of all servers."""
        pairs = (pair for calls in self.calls for pair in zip(calls.gateway, calls.direct, strict=True))
        return statistics.median(gateway - direct for gateway, direct in pairs)


@dataclass(frozen=True, slots=True)
class Bench:
    """A project whose configuration names the servers, and a home of its own."""

    work: Path
    home: Path
    entries: Mapping[str, dict[str, Any]]

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.work.parent), "FINDSPOT_HOME": str(self.home)}

    def agree(self) -> None:
        """Index the servers' tools, which agrees to start them."""
        self.index({"mcpServers": self.entries})

    def index(self, source: Any) -> None:
        """Index the tools of a file alone."""
        path = self.work / "source.json"
        path.write_text(json.dumps(source))
        arguments = ("tools", "index", str(path), "--yes", "--replace", "--timeout", "120")
        command = [sys.executable, "-P", "-m", "findspot", *arguments]
        subprocess.run(
            command, cwd=self.work, env=os.environ | self.env, check=True, stdout=subprocess.DEVNULL
        )

    def direct(self, name: str) -> Server:
        entry = self.entries[name]
        command = [entry["command"], *entry["args"]]
        return Server(command, self.home, self.work, {**self.env, **entry["env"]}, quiet=True)

    @contextmanager
    def gateway(self) -> Iterator[Server]:
        server = Server(GATEWAY, self.home, self.work, self.env, quiet=True)
        try:
            yield server
        finally:
            server.close()

    def processes(self) -> set[int]:
        """Return every process of this home, with all that they started."""
        mark = f"FINDSPOT_HOME={self.home}".encode()
        found: set[int] = set()
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdecimal() and mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.update(tree(int(folder.name)))
            except OSError:
                continue  # it ended, or is another user's
        return found - {os.getpid()}

    def memory_mb(self) -> float:
        return sum(map(_pss_mb, self.processes()))


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) / 1024


def measure(bench: Bench, rounds: int, *, wait_idle: bool) -> Figures:
    """Measure everything; the servers' packages are installed and agreed to."""
    figures = Figures(_machine())
    figures.memory_mb |= _memory_without_servers(bench)
    bench.agree()
    listed: dict[str, int] = {}
    with bench.gateway() as gateway:
        offered = gateway.ask("tools/list", {})["tools"]
        figures.memory_mb["ten agreed, started"] = bench.memory_mb()
        gateway.call("search_tools", query="read a file")
        figures.memory_mb["ten agreed, searched"] = bench.memory_mb()
        for name in bench.entries:
            calls, listed[name] = _one_server(bench, gateway, name, rounds)
            figures.calls.append(calls)
        figures.memory_mb["ten running"] = bench.memory_mb()
        if wait_idle:
            time.sleep(IDLE_S + _AFTER_IDLE_S)
            figures.left_after_idle = len(bench.processes() - {gateway.pid})
            figures.memory_mb["after the idle time"] = bench.memory_mb()
    figures.tokens = {"all tools listed": sum(listed.values()), "gateway": _tokens(offered)}
    if wait_idle:
        time.sleep(_AFTER_IDLE_S)
        figures.left_after_end = len(bench.processes())
    figures.machine["load after"] = round(os.getloadavg()[0], 1)
    return figures


def _memory_without_servers(bench: Bench) -> dict[str, float]:
    """Measure Findspot itself: it searches a catalogue of one tool that no server has."""
    bench.index([{"name": "read_file", "description": "Read a file.", "serverName": "none"}])
    with bench.gateway() as gateway:
        gateway.ask("tools/list", {})
        started = bench.memory_mb()
        gateway.call("search_tools", query="read a file")
        return {"no servers, started": started, "no servers, searched": bench.memory_mb()}


def _one_server(bench: Bench, gateway: Server, name: str, rounds: int) -> tuple[Calls, int]:
    """Call one server in both ways; return the times and the tokens of its tools."""
    about, calls = SERVERS[name], Calls(name)
    arguments = filled(dict(about.arguments), bench.work)
    through = {"name": f"{name}__{about.tool}", "arguments": arguments, "confirm": True}
    started = time.perf_counter()
    direct = bench.direct(name)
    result, _ = direct.timed(about.tool, arguments)
    calls.cold_direct = (time.perf_counter() - started) * 1000
    answer, seconds = gateway.timed("call_tool", through)
    calls.cold_gateway = seconds * 1000
    calls.failed = bool(result.get("isError") or "error" in result)
    if about.repeatable and (calls.failed or answer.get("isError", True)):
        raise RuntimeError(f"{name}: the answers are {result} and, through the gateway, {answer}")
    for number in range(WARM + rounds if about.repeatable else 0):
        pair = (direct.timed(about.tool, arguments)[1], gateway.timed("call_tool", through)[1])
        if number >= WARM:
            calls.direct.append(pair[0] * 1000)
            calls.gateway.append(pair[1] * 1000)
    tokens = _tokens(direct.ask("tools/list", {})["tools"])
    direct.close()
    return calls, tokens


def _tokens(tools: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) // CHARS_PER_TOKEN


def _machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return {
        "cpu": f"{os.cpu_count()} × {next(models, platform.machine())}",
        "system": platform.platform(),
        "python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 1),
    }


def table(figures: Figures) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| server | direct ms | gateway ms | added ms | best calls ms | first direct ms | first gateway ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for calls in figures.calls:
        warm = "– | – | – | –"
        if calls.direct:
            medians = (statistics.median(calls.direct), statistics.median(calls.gateway))
            warm = " | ".join(f"{value:.1f}" for value in (*medians, calls.added, calls.added_at_best))
        failed = " (answers with an error)" if calls.failed else ""
        lines.append(
            f"| {calls.server}{failed} | {warm} | {calls.cold_direct:,.0f} | {calls.cold_gateway:,.0f} |"
        )
    memory, tokens = figures.memory_mb, figures.tokens
    cost = memory["ten agreed, searched"] - memory["no servers, searched"]
    best = statistics.median(calls.added_at_best for calls in figures.calls if calls.direct)
    lines += ["", f"Added per call, median of all: {figures.added_ms:.1f} ms (goal {GOAL_ADDED_MS:g})."]
    lines.append(f"Added by the best calls of each server: {best:.1f} ms.")
    lines += [f"Memory (PSS), {name}: {value:.0f} MB." for name, value in memory.items()]
    lines += [
        f"Ten agreed servers, none running, cost {cost:.0f} MB (goal {GOAL_AGREED_MB:g}).",
        f"Tokens offered: {tokens['gateway']:,} instead of {tokens['all tools listed']:,}.",
        f"Machine: {figures.machine}.",
    ]
    if figures.left_after_idle is not None:
        lines.append(f"Processes left after the idle time: {figures.left_after_idle}.")
        lines.append(f"Processes left after the end: {figures.left_after_end}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=Path, required=True, help="a folder for the servers' packages")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", help="servers to measure, with commas")
    parser.add_argument("--idle", action="store_true", help="wait for the idle time")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve() / "work"
        work.mkdir()
        subprocess.run(["git", "init", "--quiet", str(work)], check=True)
        names = arguments.only.split(",") if arguments.only else list(SERVERS)
        entries = install(arguments.servers.resolve(), work, names)
        bench = Bench(work, Path(folder).resolve() / "home", entries)
        figures = measure(bench, arguments.rounds, wait_idle=arguments.idle)
    out = json.dumps(asdict(figures), indent=2) if arguments.json else table(figures)
    sys.stdout.write(out + "\n")


if __name__ == "__main__":
    main()
