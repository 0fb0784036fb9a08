"""Tasks are counted per client, and a client's tasks go when it leaves."""

from __future__ import annotations

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from findspot.serve.mcp.tasks import MAX_PER_CLIENT, Status, Task, Tasks


def made(owner: str) -> Task:
    return Task(owner)


async def full(tasks: Tasks, owner: str, *, finished: bool) -> list[Task]:
    kept = [made(owner) for _ in range(MAX_PER_CLIENT)]
    for task in kept:
        tasks.keep(task)
        if finished:
            await task.end(Status.COMPLETED, "Finished", result={})
    return kept


@pytest.mark.parametrize("owner", ["a", ""])
def test_one_client_does_not_take_the_tasks_of_another(owner: str) -> None:
    """protocol B14: its own oldest finished task makes room."""

    async def run() -> None:
        tasks = Tasks()
        first = await full(tasks, owner, finished=True)
        tasks.keep(made("b"))
        tasks.keep(made(owner))
        assert tasks.find(first[0].id, owner) is None
        assert len(tasks.of(owner)) == MAX_PER_CLIENT
        tasks.forget(owner)
        assert (tasks.of(owner), len(tasks.of("b"))) == ([], 1)

    anyio.run(run)


def test_tasks_under_way_make_no_room() -> None:
    async def run() -> None:
        tasks = Tasks()
        await full(tasks, "a", finished=False)
        with pytest.raises(MCPError, match="Too many tasks"):
            tasks.keep(made("a"))

    anyio.run(run)


def test_a_question_that_nobody_waits_for_any_more_is_taken_back() -> None:
    """protocol B9: a task goes on without the model, and says so."""

    async def run() -> None:
        task = made("a")
        with anyio.move_on_after(0):
            await task.ask("key", types.ListRootsRequest())
        assert task.questions == {}
        assert task.status is Status.WORKING

    anyio.run(run)
