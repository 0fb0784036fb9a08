"""Calls of servers that the broker holds, and listening to their changes.

The client finds the broker, or starts it, and passes calls and questions on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from findspot.catalogue.broker import (
    CLOSING,
    FAILED,
    LOCK_NAME,
    broker_folder,
    listing_key,
    own_version,
    proof_of,
    read_address,
    spec_adapter,
    tools_adapter,
)
from findspot.catalogue.consent import read_build_record
from findspot.catalogue.live_connection import (
    DEFAULT_TIMEOUT_S,
    MAX_TASK_S,
    CallHandlers,
    RunningCall,
    ServerBusyError,
    ServerCallError,
    ServerNotAgreedError,
    ServerTimeoutError,
)
from findspot.catalogue.message_streams import CHUNK_BYTES, MAX_MESSAGE_BYTES, socket_streams
from findspot.catalogue.server_connections import NESTED_VARIABLE, environment_for, error_line
from findspot.catalogue.server_pool import RunState, ServerRun
from findspot.catalogue.server_registry import ServerRegistry
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import FindspotError, IndexBusyError
from findspot.core.files import make_private_dir, open_private
from findspot.core.locks import is_locked, writer_lock
from findspot.core.log import get_logger
from findspot.core.platforms import NO_WINDOW, python_command

if TYPE_CHECKING:
    import mcp_types as types
    from pydantic import TypeAdapter

_log = get_logger("catalogue")

_START_PATIENCE_S, _LOOK_PATIENCE_S = 60.0, 2.0
_MARGIN_S = 10.0
"""How much longer than its time to wait for a call, since the broker ends it."""

_RETRY_S, _RESTART_S = 0.02, 10.0
_ATTEMPTS = 5

_ERRORS = {
    kind.code: kind for kind in (ServerCallError, ServerTimeoutError, ServerBusyError, ServerNotAgreedError)
}


def server_runs(home: Path) -> list[ServerRun]:
    """Return the servers that the broker of a home folder holds; none if there is no broker.

    This starts nothing, and needs no event loop.
    """
    try:
        address = read_address(home)
        kind = socket.AF_UNIX if "socket" in address else socket.AF_INET
        with socket.socket(kind) as link, link.makefile("rwb") as stream:
            link.settimeout(_LOOK_PATIENCE_S)
            link.connect(address["socket"] if "socket" in address else ("127.0.0.1", address["port"]))

            def ask(method: str, params: dict[str, Any]) -> Any:
                request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()
                return json.loads(stream.readline())["result"]

            token, nonce = address["token"], secrets.token_hex(32)
            ask("enter", _checked(token, nonce, ask("hello", {"nonce": nonce})))
            runs = ask("runs", {})["runs"]
        return [ServerRun(**{**run, "state": RunState(run["state"])}) for run in runs]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _checked(token: str, nonce: str, hello: Mapping[str, Any]) -> dict[str, str]:
    """Return the proof that the broker asks for; `ValueError` if it has not proved itself."""
    if not hmac.compare_digest(str(hello.get("proof")), proof_of(token, f"broker {nonce}")):
        raise ValueError("not the broker")
    return {"proof": proof_of(token, f"client {hello['nonce']}")}


class BrokerClient:
    """Calls servers through the broker of a home folder; the same calls as `ServerPool`."""

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._home = home
        self._environ = environ
        self._link: _Link | None = None
        self._linking = asyncio.Lock()
        self._tools: dict[tuple[Any, ...], tuple[str, tuple[ToolDefinition, ...]]] = {}
        self._changes: dict[str, asyncio.Event] = {}

    async def call(
        self,
        spec: ServerSpec,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        spent_s: float = 0.0,
        handlers: CallHandlers | None = None,
        roots: Sequence[str] = (),
        as_task: bool = False,
    ) -> types.CallToolResult:
        """Call a tool by its own name; a cancelled call is cancelled at the server too.

        Its time covers waiting for other calls and for the start of the server, and what was spent already.
        """
        import mcp_types as types

        _check_size(arguments)
        params: dict[str, Any] = {
            "tool": tool,
            "arguments": arguments,
            "timeout": timeout_s,
            "spent": spent_s,
        }
        params |= {"roots": list(roots), "task": as_task}
        call = RunningCall(handlers or CallHandlers(), timeout_s, MAX_TASK_S if as_task else _MARGIN_S)
        answer = await self._in_time(call, "call", spec, params)
        listed = self._tools.get(listing_key(spec, roots))
        if listed is not None and listed[0] != answer["listed"]:
            self._forget_tools(spec.name)
        return types.CallToolResult.model_validate(answer["result"])

    async def tools(
        self, spec: ServerSpec, *, timeout_s: float = DEFAULT_TIMEOUT_S, roots: Sequence[str] = ()
    ) -> tuple[ToolDefinition, ...]:
        """Return the tools that a server has now."""
        await self._connected()  # whoever is connected hears of changes
        key = listing_key(spec, roots)
        if key not in self._tools:
            call = RunningCall(CallHandlers(), timeout_s, _MARGIN_S)
            params: dict[str, Any] = {"timeout": timeout_s, "roots": list(roots)}
            answer = await self._in_time(call, "tools", spec, params)
            self._tools[key] = answer["version"], tools_adapter().validate_python(answer["tools"])
        return self._tools[key][1]

    async def follow(
        self, spec: ServerSpec, changed: Callable[[tuple[ToolDefinition, ...]], Awaitable[None]]
    ) -> None:
        """Keep a server running; call `changed` with its tools, and again whenever they change."""

        async def hold() -> None:
            while True:
                await self._request("hold", spec, {"roots": []}, CallHandlers())

        change = self._changes.setdefault(spec.name, asyncio.Event())
        async with anyio.create_task_group() as group:
            group.start_soon(hold)
            while True:
                change.clear()
                await changed(await self.tools(spec))
                await change.wait()

    async def aclose(self) -> None:
        """Disconnect; the servers stay with the broker."""
        if self._link is not None:
            await self._link.aclose()

    async def _in_time(
        self, call: RunningCall, method: str, spec: ServerSpec, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Send a request that ends in time even if the broker no longer answers."""
        call.start()
        try:
            with call.scope:
                return await self._request(method, spec, params, _timed(call))
        finally:
            call.finish()
        raise ServerTimeoutError(
            f"The process that holds the servers did not answer within {call.timeout_s:g} s.",
            hint="It is not known whether the tool did its work.",
        )

    async def _request(
        self, method: str, spec: ServerSpec, params: dict[str, Any], handlers: CallHandlers
    ) -> dict[str, Any]:
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        params["spec"] = spec_adapter().dump_python(spec, mode="json")
        params["environ"] = environment_for(spec, self._environ)
        for _ in range(_ATTEMPTS):
            link = await self._connected()
            try:
                return await link.request(method, params, handlers)
            except MCPError as error:
                if error.code == FAILED:
                    kind = _ERRORS.get(error.data["code"], ServerCallError)
                    raise kind(error.error.message, hint=error.data["hint"]) from None
                if error.code == CONNECTION_CLOSED:
                    raise ServerCallError(
                        f"The process that holds the servers ended before {spec.name} answered.",
                        hint="It is not known whether the tool did its work. The next call starts it again.",
                    ) from error
                if error.code != CLOSING:
                    raise ServerCallError(f"The call of {spec.name} failed: {error.error.message}") from error
                link.is_open = False
        raise ServerCallError("The process that holds the servers ends again and again.")

    def _forget_tools(self, server: str) -> None:
        self._tools = {key: value for key, value in self._tools.items() if key[1] != server}
        if server in self._changes:
            self._changes[server].set()

    async def _connected(self) -> _Link:
        if NESTED_VARIABLE in self._environ:
            raise ServerNotAgreedError("A Findspot that another Findspot started calls no servers.")
        async with self._linking:
            link = self._link
            if link is None or not link.is_open or link.loop is not asyncio.get_running_loop():
                link = self._link = await self._reach()
                self._tools = {}
            return link

    async def _reach(self) -> _Link:
        """Connect to the broker; start one if there is none, or if another version runs."""
        link = await self._try()
        if link is not None:
            return link
        folder = broker_folder(self._home)
        make_private_dir(folder)
        async with _locked(folder / "start.lock"):
            link, started, start_at = await self._try(), False, anyio.current_time() + _RESTART_S
            with anyio.move_on_after(_START_PATIENCE_S):
                while link is None:
                    # One that holds the lock writes its address again or ends, or takes too long.
                    is_late = anyio.current_time() >= start_at
                    if is_late or not (started or is_locked(folder / LOCK_NAME)):
                        await anyio.to_thread.run_sync(_start, self._home)
                        started, start_at = True, anyio.current_time() + _RESTART_S
                    await anyio.sleep(_RETRY_S)
                    link = await self._try()
        if link is None:
            raise ServerCallError(
                "The process that holds the servers could not be started.",
                hint=f"See {folder / 'start.log'}, or run `findspot logs`.",
            )
        return link

    async def _try(self) -> _Link | None:
        """Return a connection, or None if no broker of this version answers."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            address = read_address(self._home)
            if "socket" in address:
                pair = await asyncio.open_unix_connection(address["socket"], limit=CHUNK_BYTES)
            else:
                pair = await asyncio.open_connection("127.0.0.1", address["port"], limit=CHUNK_BYTES)
            link = _Link(*pair, self._forget_tools)
            if await link.open(address["token"]):
                if address["version"] == own_version():
                    return link
                await link.retire_broker()
            await link.aclose()
        return None


class _Link:
    """One connection to the broker."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        changed: Callable[[str], None],
    ) -> None:
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

        self.is_open = True
        self.loop = asyncio.get_running_loop()
        self._changed = changed
        self._calls: dict[int, CallHandlers] = {}
        self._last_call = 0
        self._ready = anyio.Event()
        self._new_dispatcher = JSONRPCDispatcher
        self._dispatcher: Any = None
        self._task = asyncio.create_task(self._run(reader, writer))

    async def open(self, token: str) -> bool:
        """Let both processes prove who they are; return whether that is done."""
        from mcp.shared.exceptions import MCPError

        await self._ready.wait()
        try:
            nonce, options = secrets.token_hex(32), {"timeout": _START_PATIENCE_S}
            hello = await self._dispatcher.send_raw_request("hello", {"nonce": nonce}, options)
            await self._dispatcher.send_raw_request("enter", _checked(token, nonce, hello), options)
        except (MCPError, ValueError, KeyError):
            self.is_open = False
        return self.is_open

    async def request(self, method: str, params: dict[str, Any], handlers: CallHandlers) -> dict[str, Any]:
        """Send a request; meanwhile the broker may ask what its server asks."""
        self._last_call = number = self._last_call + 1
        self._calls[number] = handlers
        asked_back = {"elicit": handlers.on_elicit, "sample": handlers.on_sample}
        can = [name for name, handler in asked_back.items() if handler]
        options = {} if handlers.on_progress is None else {"on_progress": handlers.on_progress}
        try:
            asked = {**params, "call": number, "can": can}
            result: dict[str, Any] = await self._dispatcher.send_raw_request(method, asked, options)
            return result
        finally:
            del self._calls[number]
            self._leave_if_closing()

    async def retire_broker(self) -> None:
        """Have a broker of another version end after its running calls."""
        from mcp.shared.exceptions import MCPError

        with contextlib.suppress(MCPError):  # it has just ended
            await self._dispatcher.send_raw_request("retire", None, {"timeout": _START_PATIENCE_S})

    async def aclose(self) -> None:
        self.is_open = False
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with socket_streams(reader, writer) as streams, anyio.create_task_group() as group:
                self._dispatcher = self._new_dispatcher(*streams)
                await group.start(self._dispatcher.run, self._on_request, self._on_notify)
                self._ready.set()
        finally:
            self.is_open = False
            self._ready.set()

    async def _on_request(
        self, context: Any, method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Answer what a server asks during a call."""
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        params = params or {}
        handlers = self._calls.get(params["call"], CallHandlers())
        answer: Any = None
        if method == "elicit" and handlers.on_elicit is not None:
            answer = await handlers.on_elicit(_elicit_adapter().validate_python(params["params"]))
        elif method == "sample" and handlers.on_sample is not None:
            asked = types.CreateMessageRequestParams.model_validate(params["params"])
            answer = await handlers.on_sample(asked)
        if answer is None or isinstance(answer, types.ErrorData):
            error = answer or types.ErrorData(code=types.INVALID_REQUEST, message="The call has ended.")
            raise MCPError.from_error_data(error)
        dumped: dict[str, Any] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped

    async def _on_notify(self, context: Any, method: str, params: Mapping[str, Any] | None) -> None:
        if method == "closing":
            self.is_open = False
            self._leave_if_closing()
        elif method == "changed" and params is not None:
            self._changed(params["server"])

    def _leave_if_closing(self) -> None:
        if not self.is_open and not self._calls:
            self._task.cancel()


def _check_size(arguments: dict[str, Any] | None) -> None:
    from pydantic_core import to_json

    if len(to_json(arguments)) > MAX_MESSAGE_BYTES:
        raise ServerCallError(
            f"The arguments are larger than {MAX_MESSAGE_BYTES >> 20} MB. The tool was not called.",
            hint="Put large data into a file, and pass its path to a tool that reads files.",
        )


def _timed(call: RunningCall) -> CallHandlers:
    """Return the handlers of a call, with progress and questions affecting its time."""

    def asking(handler: Callable[[Any], Awaitable[Any]] | None) -> Callable[[Any], Awaitable[Any]] | None:
        return handler and (lambda params: call.ask(lambda: handler(params)))

    handlers = call.handlers
    return CallHandlers(call.report, asking(handlers.on_elicit), asking(handlers.on_sample))


@cache
def _elicit_adapter() -> TypeAdapter[types.ElicitRequestParams]:
    import mcp_types as types
    from pydantic import TypeAdapter

    return TypeAdapter(types.ElicitRequestParams)


@contextlib.asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    """Hold a lock that other processes may hold for a while."""
    lock = writer_lock(path, _START_PATIENCE_S)
    try:
        await anyio.to_thread.run_sync(lock.__enter__)
    except IndexBusyError:
        raise ServerCallError("Another process is starting the one that holds the servers.") from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _start(home: Path) -> None:
    """Start a broker that outlives this process."""
    with open_private(broker_folder(home) / "start.log", "wb") as log:
        process = subprocess.Popen(
            python_command("-m", "findspot.catalogue.broker", str(home)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, "FINDSPOT_HOME": str(home)},
            cwd=home,
            start_new_session=True,
            creationflags=NO_WINDOW,
        )
    if hasattr(os, "fork"):
        process.wait()  # it goes on as a child of its own


_STOP_PATIENCE_S = 10.0

Changed = Callable[[Path, str, Sequence[ToolDefinition]], None]


class Follower:
    """A thread that listens to every server that this user agreed to start and to follow."""

    def __init__(self, home: Path, paths: Sequence[Path], changed: Changed) -> None:
        self._home = home
        self._specs = agreed_to_follow(home, paths)
        self._changed = changed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow-servers", daemon=True)

    def start(self) -> None:
        if self._specs:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_PATIENCE_S)

    def _run(self) -> None:
        try:
            anyio.run(self._main)
        except Exception:  # noqa: BLE001 - the server goes on without following
            _log.exception("servers are no longer followed")

    async def _main(self) -> None:
        client = BrokerClient(self._home)
        async with anyio.create_task_group() as group:
            for path, specs in self._specs.items():
                for spec in specs:
                    group.start_soon(self._follow, client, path, spec)
            await anyio.to_thread.run_sync(self._stop.wait, abandon_on_cancel=True)
            group.cancel_scope.cancel()
        await client.aclose()

    async def _follow(self, client: BrokerClient, path: Path, spec: ServerSpec) -> None:
        async def changed(tools: tuple[ToolDefinition, ...]) -> None:
            await anyio.to_thread.run_sync(self._apply, path, spec.name, tools)

        try:
            await client.follow(spec, changed)
        except* ServerCallError as group:
            _log.warning("the server %s is no longer followed: %s", spec.name, error_line(group))

    def _apply(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        try:
            self._changed(path, server, tools)
        except (FindspotError, OSError) as error:
            _log.warning("the new tools of %s could not be indexed: %s", server, error)


def agreed_to_follow(
    home: Path, paths: Sequence[Path], environ: Mapping[str, str] = os.environ
) -> dict[Path, list[ServerSpec]]:
    """Return the servers of each index file to listen to: those agreed to that answered when last asked.

    There are none for a Findspot that another one started.
    """
    if NESTED_VARIABLE in environ:
        return {}
    registry = ServerRegistry(home, paths)
    followed = {}
    for path in paths:
        about = read_build_record(home, path)
        if not about.follow or not path.exists():
            continue
        specs = [spec for spec in registry.servers(path) if spec.name in about.digests]
        specs = [spec for spec in specs if registry.choices.is_enabled(spec.name)]
        specs = [spec for spec in specs if registry.agreements.holds(spec)]
        if specs:
            followed[path] = specs
    return followed
