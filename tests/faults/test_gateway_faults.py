"""Calls while servers are killed: a sample of benchmarks/gateway_faults."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
from benchmarks.gateway_faults import agreed_servers, call_all, processes, wait_for_end

from findspot.catalogue.server_pool import ServerPool

PATIENCE_S = 180


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
        undisturbed = await calls(pool, 200)
        assert undisturbed.count("answer") >= 180, "all that go to good servers"
        assert set(undisturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        async with anyio.create_task_group() as group:
            group.start_soon(kills)
            for _ in range(2):
                disturbed = await calls(pool, 60)
                assert set(disturbed) <= {"answer", "SERVER_FAILED", "SERVER_TIMEOUT"}
        assert set(await calls(pool, 4)) == {"answer"}, "the next calls start everything again"
        await pool.aclose()

    anyio.run(main)
    assert wait_for_end(home, PATIENCE_S) == []
