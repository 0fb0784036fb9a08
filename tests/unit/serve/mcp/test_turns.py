"""Clients take turns: one that floods a server does not keep the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from findspot.serve.mcp.limits import LimitReachedError, Turns


def run(work: Coroutine[Any, Any, Any]) -> None:
    asyncio.run(work)


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


class Server:
    """Calls that run until they are told to end."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.begun: list[str] = []
        self.end = asyncio.Event()

    async def call(self, client: str, name: str = "", long_s: float = 60) -> None:
        async with self.turns.turn(client, long_s):
            self.begun.append(client + name)
            await self.end.wait()
            await asyncio.sleep(0)


def test_a_client_that_floods_does_not_keep_another_waiting() -> None:
    async def work() -> None:
        server = Server(Turns(1))
        calls = [asyncio.create_task(server.call("flood", str(number))) for number in range(20)]
        await settle()
        calls.append(asyncio.create_task(server.call("polite")))
        calls += [asyncio.create_task(server.call("other", str(number))) for number in range(2)]
        await settle()
        server.end.set()
        await asyncio.gather(*calls)
        assert server.begun[:6] == ["flood0", "flood1", "polite", "other0", "flood2", "other1"]
        assert len(server.begun) == 23

    run(work())


def test_too_many_waiting_calls_of_one_client_are_refused() -> None:
    async def work() -> None:
        server = Server(Turns(1, max_waiting=2))
        calls = [asyncio.create_task(server.call("flood")) for _ in range(4)]
        await settle()
        calls.append(asyncio.create_task(server.call("polite")))
        server.end.set()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if outcome] == [LimitReachedError]
        assert server.begun.count("polite") == 1

    run(work())


def test_a_call_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    async def work() -> None:
        server = Server(Turns(1))
        first, second, third = (asyncio.create_task(server.call(name)) for name in ("a", "b", "c"))
        await settle()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        server.end.set()
        await asyncio.gather(first, third)
        assert server.begun == ["a", "c"]
        async with server.turns.turn("d"):  # and the only turn is free again
            pass

    run(work())


def test_a_long_call_gives_its_turn_back() -> None:
    async def work() -> None:
        server = Server(Turns(1))
        calls = [
            asyncio.create_task(server.call("indexing", long_s=0.0)),
            asyncio.create_task(server.call("search")),
        ]
        while len(server.begun) < 2:  # while the first still runs
            await asyncio.sleep(0)
        server.end.set()
        await asyncio.gather(*calls)
        async with server.turns.turn("next"):
            assert server.turns._free == 0

    run(work())
