"""Whether every call gets its own answer or a clear error while servers and Findspot itself are killed.

python -m benchmarks.gateway_faults [--calls N] [--server-kills N] [--own-kills N] [--json]

Several processes call four servers in parallel, and three bad ones: one hangs, one floods its pipes, one
crashes. Meanwhile servers are killed, and so are the callers, which hold them. At the end nothing that was
started may be left. Needs `/proc`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio

from findspot.catalogue.consent import Agreements
from findspot.catalogue.live_connection import ServerCallError
from findspot.catalogue.server_pool import ServerPool
from findspot.catalogue.server_sources import ServerSpec

SERVER = Path(__file__).parents[1] / "tests" / "calling_server.py"
GOOD = ("north", "east", "south", "west")
BAD = {"hanging": "hang", "chatty": "chatty", "crashing": "crash"}
"""Server → the tool that is called."""

CALLERS = 4
END_PATIENCE_S = 180.0


@dataclass(slots=True)
class Outcome:
    """How the calls ended."""

    calls: int = 0
    answered: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    """Code → how many calls failed with it."""
    wrong: list[str] = field(default_factory=list)
    """Calls with another call's answer, or with an error that says nothing."""
    lost: int = 0
    """Calls of callers that were killed."""
    server_kills: int = 0
    own_kills: int = 0
    left: list[str] = field(default_factory=list)
    """Processes that were still there at the end."""
    seconds: float = 0.0


def agreed_servers(home: Path) -> dict[str, ServerSpec]:
    """Return the servers, which the user of this home has agreed to."""
    specs = {
        name: ServerSpec(
            name, command=sys.executable, args=(str(SERVER), str(home)), source=home / "mcp.json"
        )
        for name in (*GOOD, *BAD)
    }
    Agreements(home).add(specs.values())
    return specs


async def call_all(pool: ServerPool, specs: dict[str, ServerSpec], ids: Iterable[str]) -> list[list[str]]:
    """Call all servers in parallel, the good ones mostly; return for each call its id and how it ended."""
    outcomes: list[list[str]] = []

    async def call(number: int, name: str) -> None:
        bad = number % 10 == 9
        server = list(BAD)[number // 10 % len(BAD)] if bad else GOOD[number % len(GOOD)]
        arguments = {"lines": 200} if server == "chatty" else {"id": name}
        try:
            timeout_s = 2 if bad else 60
            result = await pool.call(specs[server], BAD.get(server, "echo"), arguments, timeout_s=timeout_s)
            text = getattr(result.content[0], "text", "")
            outcomes.append(
                [name, "answer" if server == "chatty" or json.loads(text)["id"] == name else "other"]
            )
        except ServerCallError as error:
            outcomes.append([name, error.code if error.user_message else "empty"])

    async with anyio.create_task_group() as group:
        for number, name in enumerate(ids):
            group.start_soon(call, number, name)
    return outcomes


def processes(home: Path) -> dict[int, str]:
    """Return the processes that belong to a home folder: Findspot's own, and servers."""
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            pid = int(folder.name)
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            own = f"FINDSPOT_HOME={home}\0".encode() in (folder / "environ").read_bytes()
            ended = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if (own or str(home) in command) and pid != os.getpid() and not ended:
                found[pid] = command
    return found


def kill(pids: Iterable[int], chosen: random.Random) -> bool:
    """Kill one of these processes; return whether there was one."""
    listed = sorted(pids)
    if not listed:
        return False
    with suppress(ProcessLookupError):
        os.kill(chosen.choice(listed), signal.SIGKILL)
    return True


def wait_for_end(home: Path, patience_s: float = END_PATIENCE_S) -> list[str]:
    """Return the processes that are left when all should have ended."""
    until = time.monotonic() + patience_s
    while (left := processes(home)) and time.monotonic() < until:
        time.sleep(0.1)
    return list(left.values())


class Run:
    """One run: callers, and what kills them."""

    def __init__(self, home: Path, calls: int) -> None:
        self.home = home
        self.outcome = Outcome()
        self._calls = calls
        self._chosen = random.Random(1)
        self._callers: list[subprocess.Popen[str]] = []
        self._started = 0

    def start_callers(self) -> None:
        """Keep the callers running."""
        self._callers = [caller for caller in self._callers if not self._has_ended(caller)]
        while len(self._callers) < CALLERS:
            self._started += 1
            command = [sys.executable, "-m", "benchmarks.gateway_faults", "--caller", str(self.home)]
            share = [str(self._calls // CALLERS), f"caller-{self._started}"]
            self._callers.append(subprocess.Popen([*command, *share], stdout=subprocess.PIPE, text=True))

    def kill_server(self) -> bool:
        servers = [pid for pid, command in processes(self.home).items() if str(SERVER) in command]
        killed = kill(servers, self._chosen)
        self.outcome.server_kills += killed
        return killed

    def kill_own(self) -> bool:
        """Kill a caller, which holds servers."""
        killed = kill([caller.pid for caller in self._callers if caller.poll() is None], self._chosen)
        self.outcome.own_kills += killed
        return killed

    def finish(self) -> None:
        for caller in self._callers:
            caller.wait()
            self._has_ended(caller)
        self.outcome.left = wait_for_end(self.home)

    def _has_ended(self, caller: subprocess.Popen[str]) -> bool:
        if caller.poll() is None:
            return False
        assert caller.stdout is not None
        ended = [json.loads(line) for line in caller.stdout if line.endswith("\n")]
        self.outcome.calls += self._calls // CALLERS
        self.outcome.lost += self._calls // CALLERS - len(ended)
        for name, how in ended:
            if how == "answer":
                self.outcome.answered += 1
            elif how in ("other", "empty"):
                self.outcome.wrong.append(f"{name}: {how}")
            else:
                self.outcome.errors[how] = self.outcome.errors.get(how, 0) + 1
        if caller.returncode == 0 and len(ended) < self._calls // CALLERS:
            self.outcome.wrong.append("a caller that nobody killed left calls out")
        return True


def measure(calls: int, server_kills: int, own_kills: int) -> Outcome:
    """Run callers until enough was killed."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        os.environ["FINDSPOT_HOME"] = str(home)
        agreed_servers(home)
        run, began = Run(home, calls), time.monotonic()
        run.start_callers()
        chosen = random.Random(2)
        while run.outcome.server_kills < server_kills or run.outcome.own_kills < own_kills:
            time.sleep(chosen.uniform(0.05, 0.5))
            run.start_callers()
            if run.outcome.server_kills < server_kills:
                run.kill_server()
            if run.outcome.own_kills * server_kills < run.outcome.server_kills * own_kills:
                run.kill_own()
        run.finish()
        run.outcome.seconds = round(time.monotonic() - began, 1)
        return run.outcome


def be_caller(home: Path, calls: int, name: str) -> None:
    """Make calls in parallel, and print how each ended."""

    async def main() -> None:
        pool = ServerPool(home)
        for outcome in await call_all(pool, agreed_servers(home), [f"{name}-{n}" for n in range(calls)]):
            sys.stdout.write(json.dumps(outcome) + "\n")
        await pool.aclose()

    anyio.run(main)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=200, help="in parallel")
    parser.add_argument("--server-kills", type=int, default=50)
    parser.add_argument("--own-kills", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--caller", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.caller:
        be_caller(Path(options.caller[0]), int(options.caller[1]), options.caller[2])
        return
    outcome = measure(options.calls, options.server_kills, options.own_kills)
    figures: dict[str, Any] = asdict(outcome)
    sys.stdout.write(json.dumps(figures) + "\n" if options.json else _shown(figures))
    sys.exit(bool(outcome.wrong or outcome.left))


def _shown(figures: dict[str, Any]) -> str:
    return "".join(f"{name.replace('_', ' '):<13} {value}\n" for name, value in figures.items())


if __name__ == "__main__":
    main()
