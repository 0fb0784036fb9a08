"""The process that holds the servers of all Findspot processes of one home folder.

The first call starts it (`broker_client.py`). It listens on a Unix socket in the home folder, or on the
loopback interface where there are none; both sides prove to each other that they know the token of a file
that only the owner can read. They speak JSON-RPC as MCP does: progress, cancellation and questions work the
same way. It ends by itself when no server runs any more. Whatever kills it, its servers end too (`Guardian`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from findspot.catalogue.live_connection import CallHandlers
from findspot.catalogue.message_streams import CHUNK_BYTES, socket_streams
from findspot.catalogue.server_pool import IDLE_S, ServerPool
from findspot.catalogue.server_process import Guardian, adopt_orphans
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import FindspotError, IndexBusyError
from findspot.core.files import State, read_json, state_of, write_json
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger, keep_log

if TYPE_CHECKING:
    import mcp_types as types
    from pydantic import TypeAdapter

    from findspot.catalogue.live_connection import SampleAnswer

_log = get_logger("catalogue")

ALONE_S = 30.0
"""A server is ended after so long without a call if no Findspot process is connected any more."""

IDLE_VARIABLE = "FINDSPOT_SERVER_IDLE"
"""Seconds without a call after which servers are ended, for tests."""

FAILED, CLOSING, REFUSED = 1, 2, 3
"""Codes of errors between the two processes: a call failed as `data` says; the broker ends and did not start
the request; the token is wrong."""

LOCK_NAME = "broker.lock"
"""Held by the one broker of a home folder while it can be reached."""

_FIRST_CALL_S = 20.0
"""How long a new broker waits for its first call."""

_LOCK_PATIENCE_S = 5.0
_WATCH_S = 0.25
_GOODBYE_S = 2.0
_MAX_SOCKET_PATH = 100
"""Systems allow 104 to 108 bytes."""


def broker_folder(home: Path) -> Path:
    """Return where the broker's socket, address and lock are."""
    return home / "broker"


def read_address(home: Path) -> dict[str, Any]:
    """Return how the broker is reached; `OSError` or `ValueError` if there is none."""
    address = read_json(broker_folder(home) / "address.json")
    if not isinstance(address, dict) or not isinstance(address.get("token"), str):
        raise ValueError("not an address")
    return address


@cache
def own_version() -> str:
    """Return the version of this code: a broker of another one is replaced."""
    return version("findspot")


@cache
def spec_adapter() -> TypeAdapter[ServerSpec]:
    """Return what writes and reads a server's entry between the two processes."""
    from pydantic import TypeAdapter

    return TypeAdapter(ServerSpec)


@cache
def tools_adapter() -> TypeAdapter[tuple[ToolDefinition, ...]]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[ToolDefinition, ...])


class Broker:
    """Holds the servers, and answers the Findspot processes that call them."""

    def __init__(self, home: Path, idle_s: float = IDLE_S) -> None:
        self._folder = broker_folder(home)
        self._guardian = Guardian()
        self._pool = ServerPool(home, idle_s=idle_s, witness=self._guardian, changed=self._forget_tools)
        self._idle = idle_s
        self._token = secrets.token_hex(32)
        self._address: dict[str, Any] = {}
        self._published: State | None = None
        self._clients: set[_Client] = set()
        self._listed: dict[tuple[Any, ...], tuple[tuple[ToolDefinition, ...], str]] = {}
        self._requests = 0
        self._closing = False

    async def run(self) -> None:
        """Serve until no server runs any more."""
        with contextlib.ExitStack() as lock:
            lock.enter_context(writer_lock(self._folder / LOCK_NAME, _LOCK_PATIENCE_S))
            listener = await self._listen()
            try:
                await self._until_unused()
                self._closing = True
                listener.close()
                (self._folder / "address.json").unlink(missing_ok=True)
                lock.close()  # a new broker can start while this one finishes
                await self._goodbye()
            finally:
                await self._pool.aclose()
                self._guardian.close()

    async def request(self, client: _Client, context: Any, method: str, params: Mapping[str, Any]) -> Any:
        """Answer one request of a client."""
        if self._closing:
            raise _error(CLOSING, "the broker ends")
        if method == "runs":
            return {"runs": [asdict(run) for run in self._pool.runs()]}
        spec = spec_adapter().validate_python(params["spec"])
        environ, roots = params["environ"], params["roots"]
        counts = method != "hold"
        self._requests += counts
        try:
            if method == "hold":
                await self._pool.hold(spec, environ=environ)
                return {}
            if method == "tools":
                tools = await self._pool.tools(
                    spec, timeout_s=params["timeout"], environ=environ, roots=roots
                )
                return self._listing(listing_key(spec, roots), tools)
            handlers = _handlers(context, params)
            result = await self._pool.raw_call(
                spec,
                params["tool"],
                params["arguments"],
                timeout_s=params["timeout"],
                handlers=handlers,
                environ=environ,
                spent_s=params["spent"],
                client=client,
                roots=roots,
                as_task=params["task"],
            )
            return {"result": result, "listed": self._listed.get(listing_key(spec, roots), (None, None))[1]}
        except FindspotError as error:
            raise _error(FAILED, error.user_message, {"code": error.code, "hint": error.hint}) from error
        finally:
            self._requests -= counts

    def _listing(self, key: tuple[Any, ...], tools: tuple[ToolDefinition, ...]) -> dict[str, Any]:
        """Return the tools of a server, with a mark that every result repeats until they may have changed."""
        if key not in self._listed or self._listed[key][0] is not tools:
            self._listed[key] = tools, secrets.token_hex(8)
        dumped = tools_adapter().dump_python(tools, mode="json")
        return {"version": self._listed[key][1], "tools": dumped}

    def _forget_tools(self, server: str) -> None:
        """Have the clients ask for the tools of a server again."""
        for key in [key for key in self._listed if key[1] == server]:
            del self._listed[key]
        for client in self._clients:
            client.tell("changed", {"server": server})

    def admits(self, proof: str, nonce: str) -> bool:
        return hmac.compare_digest(proof, proof_of(self._token, nonce))

    def proof(self, nonce: str) -> str:
        return proof_of(self._token, nonce)

    def retire(self) -> None:
        """End as soon as the running calls have ended: a newer version wants to start."""
        self._closing = True

    async def _listen(self) -> asyncio.AbstractServer:
        path = self._folder / "socket"
        address: dict[str, Any] = {"token": self._token, "version": own_version(), "pid": os.getpid()}
        if hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
            path.unlink(missing_ok=True)
            listener: asyncio.AbstractServer = await asyncio.start_unix_server(
                self._serve, path, limit=CHUNK_BYTES
            )
            path.chmod(0o600)
            address["socket"] = str(path)
        else:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK_BYTES)
            address["port"] = server.sockets[0].getsockname()[1]
            listener = server
        self._address = address
        self._publish()
        return listener

    def _publish(self) -> None:
        """Write how this process is reached, unless the file says so already."""
        path = self._folder / "address.json"
        if self._published is None or state_of(path) != self._published:
            write_json(path, self._address)
            self._published = state_of(path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(self)
        self._clients.add(client)
        try:
            async with socket_streams(reader, writer) as (incoming, outgoing):
                await client.run(incoming, outgoing)
        except Exception:  # noqa: BLE001 - one client must not end the others
            _log.warning("a client's connection failed", exc_info=True)
        finally:
            self._clients.discard(client)

    async def _until_unused(self) -> None:
        started = anyio.current_time()
        used = False
        while not self._closing:
            await anyio.sleep(_WATCH_S)
            self._guardian.check()
            self._publish()
            self._pool.idle_s = self._idle if self._clients else min(self._idle, ALONE_S)
            used = used or not self._pool.is_idle
            waiting = not used and anyio.current_time() - started < _FIRST_CALL_S
            if self._pool.is_idle and not self._requests and not waiting:
                return

    async def _goodbye(self) -> None:
        for client in self._clients:
            client.tell("closing")
        while self._requests:
            await anyio.sleep(_WATCH_S)
        await self._pool.aclose()
        with anyio.move_on_after(_GOODBYE_S):
            while self._clients:
                await anyio.sleep(0.01)
        for client in list(self._clients):
            client.disconnect()
        while self._clients:
            await anyio.sleep(0)


class _Client:
    """The connection of one Findspot process."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._nonce = secrets.token_hex(32)
        self._admitted = False
        self._dispatcher: Any = None
        self._scope = anyio.CancelScope()
        self._told: set[asyncio.Task[None]] = set()

    async def run(self, incoming: Any, outgoing: Any) -> None:
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

        self._dispatcher = JSONRPCDispatcher(incoming, outgoing)
        with self._scope:
            await self._dispatcher.run(self._on_request, self._on_notify)

    def disconnect(self) -> None:
        self._scope.cancel()

    def tell(self, event: str, params: Mapping[str, Any] | None = None) -> None:
        """Notify the client without waiting for it."""
        if self._dispatcher is not None:
            task = asyncio.create_task(self._dispatcher.notify(event, params))
            self._told.add(task)
            task.add_done_callback(self._told.discard)

    async def _on_request(self, context: Any, method: str, params: Mapping[str, Any] | None) -> Any:
        params = params or {}
        if method == "hello":
            return {"proof": self._broker.proof(f"broker {params.get('nonce')}"), "nonce": self._nonce}
        if method == "enter":
            self._admitted = self._broker.admits(str(params.get("proof")), f"client {self._nonce}")
        if not self._admitted:
            raise _error(REFUSED, "the token is wrong")
        if method == "enter":
            return {}
        if method == "retire":
            self._broker.retire()
            return {}
        return await self._broker.request(self, context, method, params)

    async def _on_notify(self, context: Any, method: str, params: Mapping[str, Any] | None) -> None:
        """Nothing is notified but what the dispatcher handles itself."""


def _handlers(context: Any, params: Mapping[str, Any]) -> CallHandlers:
    """Return what passes a server's messages on to the process that called."""

    async def elicit(asked: types.ElicitRequestParams) -> types.ElicitResult:
        import mcp_types as types

        return types.ElicitResult.model_validate(await ask("elicit", asked))

    async def sample(asked: types.CreateMessageRequestParams) -> SampleAnswer:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        kind = types.CreateMessageResultWithTools if asked.tools else types.CreateMessageResult
        try:
            return kind.model_validate(await ask("sample", asked))
        except MCPError as error:
            return error.error

    async def ask(method: str, asked: Any) -> Any:
        question = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        return await context.send_raw_request(method, {"call": params["call"], "params": question})

    can = params.get("can") or ()
    return CallHandlers(
        context.progress, elicit if "elicit" in can else None, sample if "sample" in can else None
    )


def listing_key(spec: ServerSpec, roots: Sequence[str]) -> tuple[Any, ...]:
    """Return what a list of tools belongs to."""
    return spec.source, spec.name, *roots


def proof_of(token: str, nonce: str) -> str:
    """Return what shows that one knows the token, without sending it."""
    return hmac.new(token.encode(), nonce.encode(), "sha256").hexdigest()


def _error(code: int, message: str, data: Any = None) -> Exception:
    from mcp.shared.exceptions import MCPError

    return MCPError(code=code, message=message, data=data)


def main(home: Path) -> None:
    """Run the broker of a home folder, detached from the process that started it."""
    if hasattr(os, "fork") and os.fork():  # so that no zombie waits for the process that started it
        os._exit(0)
    adopt_orphans()
    keep_log(home / "logs", "INFO")
    idle_s = float(os.environ.get(IDLE_VARIABLE) or IDLE_S)
    with contextlib.suppress(IndexBusyError):  # another one was faster
        anyio.run(Broker(home, idle_s).run)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
