"""Calls while servers are killed, hang, flood their pipes and crash."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import anyio

from e2e.harness import until
from findspot.catalogue.server_pool import ServerCallError, ServerPool
from findspot.catalogue.server_registry import Agreements
from findspot.catalogue.server_sources import ServerSpec

SERVER = Path(__file__).parents[1] / "calling_server.py"
GOOD = ("north", "east", "south", "west")
BAD = {"hanging": "hang", "chatty": "chatty", "crashing": "crash"}
"""Server → the tool that is called."""


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


def test_every_call_gets_its_own_answer_or_a_clear_error(home: Path) -> None:
    """documents C: hanging servers stayed after a kill of Findspot."""
    home.mkdir()
    specs = agreed_servers(home)

    async def calls(pool: ServerPool, count: int) -> list[str]:
        outcomes = await call_all(pool, specs, [str(number) for number in range(count)])
        assert sorted(int(name) for name, _ in outcomes) == list(range(count)), "one outcome per call"
        return [how for _, how in outcomes]

    async def kills() -> None:
        """Kill each server that runs once."""
        killed: set[int] = set()
        while len(killed) < 4:
            for pid in [pid for pid, line in processes(home).items() if "calling_server" in line]:
                if pid not in killed:
                    killed.add(pid)
                    os.kill(pid, signal.SIGKILL)
            await anyio.sleep(0.05)

    async def main() -> None:
        pool = ServerPool(home)
        undisturbed = await calls(pool, 60)
        assert undisturbed.count("answer") >= 54, "all that go to good servers"
        assert set(undisturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        async with anyio.create_task_group() as group:
            group.start_soon(kills)
            disturbed = await calls(pool, 100)
            assert set(disturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        assert set(await calls(pool, 4)) == {"answer"}, "the next calls start everything again"
        await pool.aclose()

    anyio.run(main)
    until(lambda: not processes(home))
