"""Calls while servers and the process that holds them are killed: a sample of benchmarks/gateway_faults."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
from benchmarks.gateway_faults import agreed_servers, call_all, processes, wait_for_end

from findspot.catalogue.broker import read_address
from findspot.catalogue.broker_client import BrokerClient

PATIENCE_S = 180


def test_every_call_gets_its_own_answer_or_a_clear_error(home: Path) -> None:
    """documents C: hanging servers stayed after a kill of Findspot."""
    home.mkdir()
    specs = agreed_servers(home)
    clients: list[BrokerClient] = []

    async def calls(count: int) -> list[str]:
        outcomes = await call_all(clients[len(clients) - 1], specs, [str(number) for number in range(count)])
        assert sorted(int(name) for name, _ in outcomes) == list(range(count)), "one outcome per call"
        return [how for _, how in outcomes]

    async def kills() -> None:
        """Kill each server that runs once, then the broker."""
        killed: set[int] = set()
        while len(killed) < 4:
            for pid in [pid for pid, line in processes(home).items() if "calling_server" in line]:
                if pid not in killed:
                    killed.add(pid)
                    os.kill(pid, signal.SIGKILL)
            await anyio.sleep(0.05)
        os.kill(read_address(home)["pid"], signal.SIGKILL)

    async def main() -> None:
        clients.append(BrokerClient(home))
        undisturbed = await calls(200)
        assert undisturbed.count("answer") >= 180, "all that go to good servers"
        assert set(undisturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        clients.append(BrokerClient(home))
        async with anyio.create_task_group() as group:
            group.start_soon(kills)
            for _ in range(2):
                disturbed = await calls(60)
                assert set(disturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        assert set(await calls(4)) == {"answer"}, "the next calls start everything again"
        for client in clients:
            await client.aclose()

    anyio.run(main)
    assert wait_for_end(home, PATIENCE_S) == []
