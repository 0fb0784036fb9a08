"""Tasks are counted per client, and a client's tasks go when it leaves."""

from __future__ import annotations

import anyio
import pytest

from findspot.serve.mcp.tasks import MAX_PER_CLIENT, Status, Task, Tasks, TooManyTasksError


def made(owner: str | None) -> Task:
    return Task(owner)


async def full(tasks: Tasks, owner: str | None, *, finished: bool) -> list[Task]:
    kept = [made(owner) for _ in range(MAX_PER_CLIENT)]
    for task in kept:
        tasks.keep(task)
        if finished:
            await task.end(Status.COMPLETED, "Finished", result={})
    return kept


def test_one_client_does_not_take_the_tasks_of_another() -> None:
    """protocol B14."""

    async def run() -> None:
        tasks = Tasks()
        first = await full(tasks, "a", finished=True)
        tasks.keep(made("b"))
        with pytest.raises(TooManyTasksError):
            tasks.keep(made("a"))
        first[7].fetched = True
        tasks.keep(made("a"))
        assert tasks.find(first[7].id, "a") is None
        assert tasks.find(first[0].id, "a") is first[0]
        tasks.forget("a")
        assert (tasks.of("a"), len(tasks.of("b"))) == ([], 1)

    anyio.run(run)


def test_clients_that_cannot_be_told_apart_do_not_stop_each_other() -> None:
    """protocol B14: without a session or token the oldest finished task makes room."""

    async def run() -> None:
        tasks = Tasks()
        kept = await full(tasks, None, finished=True)
        tasks.keep(made(None))
        assert tasks.find(kept[0].id, None) is None
        assert len(tasks.of(None)) == MAX_PER_CLIENT

    anyio.run(run)


def test_a_question_that_nobody_waits_for_any_more_is_taken_back() -> None:
    """protocol B9: a task goes on without the model, and says so."""

    async def run() -> None:
        task = made("a")
        with anyio.move_on_after(0):
            await task.ask("key", "sampling/createMessage", {})
        assert task.questions == {}
        assert task.status is Status.WORKING

    anyio.run(run)
