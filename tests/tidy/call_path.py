"""List the modules that a search over MCP passes through before search begins."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import anyio
from mcp import Client

from findspot import Engine
from findspot.search import hybrid
from findspot.serve.mcp.server import make_server
from findspot.serve.mcp.tools import all_tools

MOST_MODULES = 6


def call_path() -> list[str]:
    """Return the modules on the way from a request for `search_code` to the search, outermost first.

    A real server answers a real client in this process. The modules are those of the coroutines and
    functions that are waiting for the search at the moment it begins.
    """
    with tempfile.TemporaryDirectory() as home, patch.dict("os.environ", {"FINDSPOT_HOME": home}):
        folder = Path(home) / "shop"
        folder.mkdir()
        (folder / "shop.py").write_text("def total(prices):\n    return sum(prices)\n", encoding="utf-8")
        with closing(Engine()) as engine:
            engine.project(folder).update()
        names = anyio.run(_names_at_search, folder)
    modules = dict.fromkeys(name for name in names if name.startswith("findspot."))
    return [name for name in modules if not name.startswith("findspot.search.")]


async def _names_at_search(folder: Path) -> list[str]:
    names: list[str] = []
    loop = asyncio.get_running_loop()

    def look(done: threading.Event) -> None:
        waiting = [list(_waiting(task.get_coro())) for task in asyncio.all_tasks(loop)]
        names.extend(max(waiting, key=_ours))  # others of the same call watch it
        done.set()

    def seen(frame: FrameType) -> None:
        if not names:
            looked = threading.Event()
            loop.call_soon_threadsafe(look, looked)  # between the steps of tasks: none is running then
            looked.wait()
            names.extend(reversed(list(_callers(frame))))

    engine = Engine(watching=True)
    _profile_threads(hybrid.search.__code__, seen)
    try:
        async with Client(make_server(all_tools(), engine), mode="legacy") as client:
            await client.call_tool("search_code", {"query": "total of prices", "path": str(folder)})
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
        engine.close()
    return names


def _profile_threads(code: CodeType, seen: Any) -> None:
    """Call `seen` with the frame of a function whenever a thread that is started from now on enters it."""

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code is code:
            seen(frame)

    threading.setprofile(profile)


def _waiting(coroutine: Any) -> Iterator[str]:
    """Yield the modules of a coroutine and of those that it waits for."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is not None:
            yield frame.f_globals["__name__"]
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


def _ours(names: list[str]) -> int:
    return sum(name.startswith("findspot.") for name in names)


def _callers(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_globals["__name__"]
        frame = frame.f_back


if __name__ == "__main__":
    sys.stdout.write("\n".join(call_path()) + "\n")
