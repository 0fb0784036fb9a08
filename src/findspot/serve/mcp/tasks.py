"""Calls that outlive their requests: the tasks of a server, whichever way its clients ask for them.

Only ever touched from the event loop, so nothing here needs a lock.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError

from findspot.core.log import get_logger

_log = get_logger("mcp")

RELATED_TASK = "io.modelcontextprotocol/related-task"
"""The key in `_meta` of messages that belong to a task."""

DEFAULT_TTL_MS = 3_600_000
MAX_TTL_MS = 86_400_000
"""How long a task is remembered, counted from its creation: an hour unless asked, a day at most."""

POLL_INTERVAL_MS = 500
MAX_PER_CLIENT = 1_000
"""Tasks of one client remembered at once; beyond it, its oldest finished one is forgotten."""


class Status(StrEnum):
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True, eq=False)
class Question:
    """What a running task asks of the client, and the answer once it came."""

    request: types.InputRequest
    claimed: bool = False
    """Somebody is asking the client this moment."""
    answer: Any = None
    answered: anyio.Event = field(default_factory=anyio.Event)


class Task:
    """One piece of work, from its beginning until its result is forgotten."""

    def __init__(
        self, owner: str, ttl_ms: int | None = None, tell: Callable[[Task], Awaitable[None]] | None = None
    ) -> None:
        """`tell` is called when the status changes, to notify the client; some clients poll instead."""
        self.id = uuid.uuid4().hex
        self.owner = owner
        self.ttl_ms = min(ttl_ms or DEFAULT_TTL_MS, MAX_TTL_MS)
        self.created = self.updated = datetime.now(UTC)
        self.status = Status.WORKING
        self.message = ""
        self.kept = False
        """Known to the client: the work has gone on after its request was answered."""
        self.result: Any = None
        self.error: Exception | None = None
        self.questions: dict[str, Question] = {}
        self.scope = anyio.CancelScope()
        self._tell = tell
        self._changed = anyio.Event()

    @property
    def finished(self) -> bool:
        return self.status not in (Status.WORKING, Status.INPUT_REQUIRED)

    @property
    def expired(self) -> bool:
        return datetime.now(UTC) - self.created > timedelta(milliseconds=self.ttl_ms)

    async def change(self) -> None:
        await self._changed.wait()

    def note(self, message: str) -> None:
        if not self.finished:
            self.message, self.updated = message, datetime.now(UTC)

    async def ask(self, key: str, request: types.InputRequest) -> Any:
        question = self.questions[key] = Question(request)
        try:
            await self._become(Status.INPUT_REQUIRED, "Waiting for an answer")
            await question.answered.wait()
        finally:
            if self.questions.get(key) is question:  # nobody waits for the answer any more
                del self.questions[key]
                if not self.questions and not self.finished:
                    self._set(Status.WORKING, "Working")
        return question.answer

    async def answer(self, key: str, answer: Any) -> None:
        """Pass an answer on to the work; one that nobody waits for is ignored."""
        question = self.questions.pop(key, None)
        if question is not None:
            question.answer = answer
            question.answered.set()
            if not self.questions:
                await self._become(Status.WORKING, "Working")

    async def end(
        self, status: Status, message: str, result: Any = None, error: Exception | None = None
    ) -> None:
        """Set the outcome; only the first one counts."""
        if not self.finished:
            self.result, self.error = result, error
            self.questions.clear()
            await self._become(status, message)

    async def cancel(self) -> None:
        await self.end(Status.CANCELLED, "Cancelled")
        self.scope.cancel()

    def announce(self) -> None:
        woken, self._changed = self._changed, anyio.Event()
        woken.set()

    def _set(self, status: Status, message: str) -> None:
        self.status, self.message, self.updated = status, message, datetime.now(UTC)
        self.announce()

    async def _become(self, status: Status, message: str) -> None:
        self._set(status, message)
        if self.kept and self._tell is not None:
            await self._tell(self)


class Tasks:
    """The tasks of one server, whoever they belong to."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run tasks until the server ends; those under way are then stopped and awaited."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    def start(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Run work that ends its task itself; whatever happens, the task does end."""
        assert self._group is not None, "the registry is not running"
        self._group.start_soon(self._run, task, work)

    def keep(self, task: Task) -> None:
        """Remember a task until its time is over, or its client leaves."""
        own = self.of(task.owner)
        if len(own) >= MAX_PER_CLIENT:
            oldest = next((other for other in own if other.finished), None)
            if oldest is None:
                message = "Too many tasks of this client are waiting: fetch their results, or cancel them."
                raise MCPError(types.INTERNAL_ERROR, message)
            del self._tasks[oldest.id]
        task.kept = True
        self._tasks[task.id] = task
        task.announce()

    def forget(self, owner: str) -> None:
        """Forget the tasks of a client that has left; those under way go on."""
        self._tasks = {key: task for key, task in self._tasks.items() if task.owner != owner}

    def find(self, identity: str, owner: str) -> Task | None:
        return next((task for task in self.of(owner) if task.id == identity), None)

    def of(self, owner: str) -> list[Task]:
        """Return the tasks of one client, oldest first, without those whose time is over."""
        for task in [task for task in self._tasks.values() if task.expired]:
            if task.status is Status.INPUT_REQUIRED:
                task.scope.cancel()
            if task.status is not Status.WORKING:  # work under way is removed when it is done
                del self._tasks[task.id]
        return [task for task in self._tasks.values() if task.owner == owner]

    async def _run(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        with task.scope:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - one task's trouble must not end the server
                _log.exception("a task failed unexpectedly")
                await task.end(Status.FAILED, "Failed unexpectedly", error=error)
        if not task.finished:
            await task.end(Status.CANCELLED, "Cancelled")
