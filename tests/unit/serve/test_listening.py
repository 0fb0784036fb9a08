"""Clients that keep a server waiting lose their connection and keep nobody out; answers go out at once."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from findspot.core.errors import InvalidArgumentError
from findspot.serve import listening
from findspot.serve.listening import Connection, listen

PATIENCE_S = 60
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
START: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}


async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer without a look at the body."""
    await send(START)
    await send({"type": "http.response.body", "body": b"ok"})


async def read(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer after the body."""
    while (await receive()).get("more_body", False):
        pass
    await answer(scope, receive, send)


@contextlib.asynccontextmanager
async def server(app: ASGIApp, limit: int = 100) -> AsyncIterator[int]:
    config = Config(app, http=Connection, ws="none", log_config=None, limit_concurrency=limit)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Connection(config, state, {}), "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def trickled(port: int) -> bytes:
    """What is answered to a body that comes byte by byte, until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD)
    answered = b""
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof():
            writer.write(b"x")
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    answered += await reader.read(1000)
    writer.close()
    return answered


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE_S))


@pytest.mark.parametrize(
    ("limit", "app", "status"), [("BODY_S", read, b""), ("REST_S", answer, b"HTTP/1.1 200")]
)
def test_a_body_has_a_limit_of_time(
    monkeypatch: pytest.MonkeyPatch, limit: str, app: ASGIApp, status: bytes
) -> None:
    """And a shorter one once it is answered."""
    monkeypatch.setattr(listening, limit, 0.3)

    async def test() -> None:
        async with server(app) as port:
            assert (await trickled(port))[:12] == status

    run(test())


def test_an_answer_must_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "BODY_S", 0.3)

    async def test() -> None:
        gone = asyncio.Event()

        async def endless(_scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            left = asyncio.ensure_future(receive())
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not left.done():
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            gone.set()

        async with server(endless) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            await gone.wait()
            writer.close()

    run(test())


@pytest.mark.parametrize(
    "begun", [b"", b"POST / HT", HEAD, HEAD + b"x"], ids=["silent", "head", "body", "more"]
)
def test_slow_clients_take_no_place_from_others(begun: bytes) -> None:
    async def test() -> None:
        async with server(read, limit=10) as port, contextlib.AsyncExitStack() as held:
            for _ in range(100):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                held.callback(writer.close)
                writer.write(begun)
                await writer.drain()
            for _ in range(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                held.callback(writer.close)
                writer.write(REQUEST)
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")

    run(test())


def test_connections_do_not_wait_for_acknowledgements() -> None:
    with listen("127.0.0.1", 0, "-") as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_named_with_what_to_do() -> None:
    with listen("127.0.0.1", 0, "-") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgumentError, match=f"^Another program uses port {port} of 127") as caught:
            listen("127.0.0.1", port, "`serve --http`")
    assert caught.value.hint == "End that program, or choose another port: `serve --http`."
