"""Work in threads, so that the server keeps listening; stopped when its caller is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread

from findspot.core.model import Progress
from findspot.core.progress import CancelToken
from findspot.serve.mcp.client import Client

T = TypeVar("T")

_QUICK_THREADS = 3
"""Searches at once. More take the interpreter from each other and from the loop that answers: asked more
than it can answer, a server with eight spends a quarter more on each question, and all wait the longer."""
_LONG_THREADS = 4
_PATIENT_THREADS = 8
"""Apart, so that neither indexing several projects nor waiting for a model keeps a search waiting."""

_REPORT_EVERY_S = 0.2


class Threads:
    """How much may run at once."""

    def __init__(self) -> None:
        self.quick = anyio.CapacityLimiter(_QUICK_THREADS)
        self.long = anyio.CapacityLimiter(_LONG_THREADS)
        self.patient = anyio.CapacityLimiter(_PATIENT_THREADS)


async def in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    """Work that is over soon."""
    return await to_thread.run_sync(work, limiter=limiter)


async def in_long_thread(
    work: Callable[[Reporter, CancelToken], T],
    limiter: anyio.CapacityLimiter,
    client: Client,
    ending: threading.Event,
    *,
    told: bool = True,
) -> T:
    """Work that reports itself; when its caller is cancelled it is asked to stop, and awaited.

    What stops because the server is `ending` is still wanted, unless the client cancelled it first.
    Work that tells the client of each of its few steps is not `told` about here.
    """
    token, reporter = CancelToken(), Reporter(client)
    failure: Exception | None = None
    async with anyio.create_task_group() as watch:
        watch.start_soon(_stop_with_caller, token, client, ending)
        if told and client.wants_progress:
            watch.start_soon(reporter.keep_reporting)
        try:
            result = await to_thread.run_sync(work, reporter, token, limiter=limiter)
        except Exception as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            failure = error
        watch.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if told:
        await reporter.report()
    return result


async def _stop_with_caller(token: CancelToken, client: Client, ending: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        if ending.is_set() and not client.cancelled:
            token.interrupt()
        else:
            token.cancel()


class Reporter:
    """Takes progress from the working thread as often as it comes; tells the client now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest = Progress(0, 0, "scanning")
        self._told = -1

    def __call__(self, progress: Progress) -> None:
        self._latest = progress

    async def keep_reporting(self) -> None:
        while True:
            await self.report()
            await anyio.sleep(_REPORT_EVERY_S)

    async def report(self) -> None:
        """Only ever forwards: a value that was told is not told again, nor a smaller one."""
        now = self._latest
        if now.done <= self._told:
            return
        self._told = now.done
        await self._client.report(now.done, now.total or None, _message(now))


def _message(progress: Progress) -> str:
    if not progress.total:
        return "Looking for files"
    what = "chunks" if progress.phase == "embedding" else "files"
    return f"{progress.phase.capitalize()}: {progress.done} of {progress.total} {what}"
