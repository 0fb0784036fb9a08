"""Real clients on real pipes: the SDK's, driven from plain tests, and bare JSON-RPC."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import warm_start
from e2e.wire import Watched, Wire
from warm_start import INSTALLED, Popen

COMMAND = (INSTALLED, "serve")
PATIENCE_S = 180
"""A machine may be busy; what takes longer than this hangs."""


def environment(home: Path, **settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    own = {"FINDSPOT_HOME": str(home), "FINDSPOT_IN_PROCESS": "1"}
    return kept | own | settings


def parameters(home: Path, cwd: Path, **settings: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=COMMAND[0], args=list(COMMAND[1:]), env=environment(home, **settings), cwd=cwd
    )


@dataclass
class Person:
    """Who answers the server's questions, and what was asked."""

    action: str = "accept"
    content: dict[str, Any] | None = None
    asked: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return types.ElicitResult(action=self.action, content=self.content)  # type: ignore[arg-type]


class Folders:
    """The roots a client says it has; it tells the server when they are others."""

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self.listed = 0
        self.tell: Callable[[], None] = lambda: None

    @property
    def paths(self) -> list[Path]:
        return self._paths

    @paths.setter
    def paths(self, paths: list[Path]) -> None:
        self._paths = paths
        self.tell()

    async def __call__(self, _context: Any) -> types.ListRootsResult:
        self.listed += 1
        return types.ListRootsResult(roots=[types.Root(uri=path.as_uri()) for path in self.paths])


class Connection:
    """A connected client; every structured answer is checked against its tool's schema."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}

    def call(self, name: str, _progress: Any = None, /, **arguments: Any) -> types.CallToolResult:
        return self.start(name, _progress, **arguments).result(PATIENCE_S)

    def start(self, name: str, _progress: Any = None, /, **arguments: Any) -> Future[types.CallToolResult]:
        return self.portal.start_task_soon(self._call, name, arguments, _progress)

    async def _call(self, name: str, arguments: dict[str, Any], progress: Any) -> types.CallToolResult:
        result = await self.client.call_tool(name, arguments, progress_callback=progress)
        assert result.structured_content is not None
        Draft202012Validator(self.tools[name].output_schema).validate(result.structured_content)
        return result

    def tell_roots_changed(self) -> None:
        self.portal.call(self.client.session.send_notification, types.RootsListChangedNotification())

    def values(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must succeed."""
        result = self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    def refusal(self, name: str, /, **arguments: Any) -> tuple[str, str]:
        """The code and the text of a call that must fail."""
        result = self.call(name, **arguments)
        assert result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        assert set(result.structured_content) == {"code", "userMessage", "developerMessage"}
        return result.structured_content["code"], text_of(result)


@contextlib.contextmanager
def connected(
    portal: BlockingPortal,
    transport: contextlib.AbstractAsyncContextManager[Any],
    mode: str = "legacy",
    **callbacks: Any,
) -> Iterator[Connection]:
    """The SDK's client on a transport, whose every message must be as its version's schema says."""
    watched = Watched(transport)
    client = Client(watched, mode=mode, **callbacks)
    with portal.wrap_async_context_manager(client):
        yield Connection(portal, client)
    assert watched.wrong == []


def text_of(result: types.CallToolResult) -> str:
    """The first text of an answer."""
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


class Pipe:
    """Bare JSON-RPC over a server's pipes; a test fails whose server writes anything else."""

    def __init__(self, home: Path, cwd: Path, *options: str, command: str = "serve", **settings: str) -> None:
        self.process = Popen(
            [INSTALLED, command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment(home, **settings),
        )
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.errors: list[str] = []
        self.impure: list[bytes] = []
        """Lines on standard output that are no messages."""
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()
        self._id = 0
        self.wire = Wire()

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        killed = self.process.poll() is None
        if killed:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        if killed and self.impure and not self.impure[-1].endswith(b"\n"):
            self.impure.pop()  # the message that it was writing
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        assert self.impure == []

    def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
        client = {"name": "pipe", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}
        result: dict[str, Any] = self.answer(self.ask("initialize", params))["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def ask_tool(self, name: str, arguments: dict[str, Any], token: str | None = None, **params: Any) -> int:
        meta = {"_meta": {"progressToken": token}} if token else {}
        return self.ask("tools/call", {"name": name, "arguments": arguments, **meta, **params})

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request that must succeed."""
        answer = self.answer(self.ask(method, params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def error(self, method: str, params: dict[str, Any]) -> int:
        """The code of a request that must fail."""
        answer = self.answer(self.ask(method, params))
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call, whether or not it is an error."""
        return self.result("tools/call", {"name": name, "arguments": arguments})

    def values(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a tool call that must succeed."""
        result = self.call(name, **arguments)
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    def until(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification or request of the server of that method."""
        while (message := self.next()).get("method") != method:
            pass
        self.last_id = message.get("id")
        return dict(message.get("params", {}))

    def send(self, message: dict[str, Any]) -> None:
        self.wire.sent(message)
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        message = self._messages.get(timeout=PATIENCE_S)
        assert message is not None, "the server ended"
        self.wire.received(message)
        return message

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; other messages on the way are passed over."""
        while (message := self.next()).get("id") != number or "method" in message:
            pass  # a request of the server may have the same number
        return message

    def progress_above(self, least: float) -> None:
        """Wait until the server reports more progress than that."""
        while True:
            message = self.next()
            if message.get("method") == "notifications/progress" and message["params"]["progress"] > least:
                return

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended(self) -> int:
        """Wait for the end; returns the exit code."""
        code = self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    def children(self) -> list[int]:
        """The processes that the server started and that still run."""
        found: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # a thread that ended this moment
                found += map(int, task.read_text().split())
        return [pid for pid in found if Path(f"/proc/{pid}/comm").read_text().strip() != warm_start.NAME]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                parts = message if isinstance(message, list) else [message]
                assert all(part["jsonrpc"] == "2.0" for part in parts)
                self._messages.put(message)
            except (ValueError, TypeError, KeyError, AssertionError):
                self.impure.append(line)
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(line.decode("utf-8", "replace") for line in self.process.stderr)


def until(true: Callable[[], Any]) -> Any:
    """Wait for something that must come true; returns what it is then."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return value


def is_running(pid: int) -> bool:
    """Whether a process lives; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends between opening and reading
        return False
