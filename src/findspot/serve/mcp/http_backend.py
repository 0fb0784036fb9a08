"""What answers requests over HTTP: the MCP server with its sessions, and its figures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from findspot.engine import Engine
from findspot.serve.library import Library
from findspot.serve.mcp.access import IN_SCOPE, OPEN, AllowedEngine, Grant, Terms, grant_of
from findspot.serve.mcp.http_answers import sending
from findspot.serve.mcp.limits import Turns
from findspot.serve.mcp.metrics import Meter, index_figures
from findspot.serve.mcp.resources import Offers
from findspot.serve.mcp.sdk import Context, connection_memory, on_disconnect
from findspot.serve.mcp.served_projects import PROJECTS, READY, Readiness, projects_answer
from findspot.serve.mcp.server import OFFERS, make_server
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tool_call import QUICK_THREADS

PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 1_000
MESSAGE, CLIENT = "findspot.message", "findspot.client"
"""Where a request carries its message, and the client that it counts for."""

_COUNTED = "findspot.counted"
_IN_TURN = ("tools/call", "resources/read")


class Backend:
    """The MCP server as an ASGI application; its clients take turns."""

    def __init__(
        self,
        registry: Registry,
        library: Library,
        security: TransportSecuritySettings,
        offers: Offers = OFFERS,
        terms: Terms = OPEN,
    ) -> None:
        self.meter = Meter()
        self._library = library
        self._guarded = terms.guarded
        self._readiness = Readiness()
        self._turns = Turns(QUICK_THREADS)
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open_sessions: Counter[str] = Counter()
        """By the name of their token; without tokens, by an empty name."""
        server = make_server(registry, library, offers, self.meter, terms)
        server.middleware.append(self._count_sessions)
        self._sessions = StreamableHTTPSessionManager(
            server,
            security_settings=security,
            max_sessions=MAX_SESSIONS,
            max_request_body_size=MAX_BODY_BYTES,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._live(receive, send)
        elif _takes_turn(scope):
            async with self._turns.turn(scope[CLIENT]):
                await self._answer(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (grant := scope.get(IN_SCOPE)) is not None:
            scope["user"] = _user(grant.name)
            if grant.repositories:
                scope[IN_SCOPE] = await to_thread.run_sync(self._located, grant)
        if scope["path"] in (READY, PROJECTS):
            answer = await to_thread.run_sync(self._describe, scope["path"], scope.get(IN_SCOPE))
            await answer(scope, receive, send)
        elif scope["path"] not in (PATH, f"{PATH}/"):
            await Response("Not Found", 404)(scope, receive, send)
        elif scope["method"] == "POST":
            with sending(send) as send_answer:
                await self._sessions.handle_request(scope, receive, send_answer)
        elif scope["method"] == "GET":
            await self._listen(scope, receive, send)
        else:
            await self._sessions.handle_request(scope, receive, send)

    def end_streams(self) -> None:
        """End the streams on which clients listen; calls that run are still answered."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a stream; when the server ends, it is as if the client had left."""
        is_ended = False

        async def receive_or_end() -> Message:
            nonlocal is_ended
            coming, ending = asyncio.ensure_future(receive()), asyncio.ensure_future(self._ending.wait())
            try:
                await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
                is_ended = not coming.done()
                return {"type": "http.disconnect"} if is_ended else coming.result()
            finally:
                coming.cancel()
                ending.cancel()

        await self._sessions.handle_request(scope, receive_or_end, send)
        if is_ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run from the start of the server until its end."""
        self._loop = asyncio.get_running_loop()
        await receive()
        async with self._sessions.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _count_sessions(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: count a session from its first request until its end."""
        memory = connection_memory(ctx)
        if ctx.method == "initialize" and _COUNTED not in memory:
            grant = grant_of(ctx)
            name = memory[_COUNTED] = grant.name if grant else ""
            self._open_sessions[name] += 1
            on_disconnect(ctx, lambda: self._open_sessions.subtract([name]))
        return await call_next(ctx)

    def _describe(self, path: str, grant: Grant | None) -> Response:
        """Return whether the server is ready, or the projects that a grant is for."""
        engine = self._library.open()
        sees_all = not self._guarded if grant is None else grant.everything
        if path == READY:
            return self._readiness.answer(engine, names=sees_all)
        allowed = engine if sees_all or grant is None else AllowedEngine(engine, grant)
        return JSONResponse(projects_answer(cast("Engine", allowed)))

    def _located(self, grant: Grant) -> Grant:
        return grant.located(self._library.open().repositories())

    async def metrics(self, key_fetches: Mapping[str, int]) -> str:
        """Return all figures as one page."""
        indexes = await to_thread.run_sync(lambda: index_figures(self._library.open()))
        calls = {"running": self._turns.running, "waiting": self._turns.waiting}
        return self.meter.page(self._open_sessions.total(), indexes, calls, key_fetches)

    def sessions_of(self, name: str) -> int:
        """Return how many sessions a token has open."""
        return self._open_sessions[name]


@lru_cache(1_000)
def _user(name: str) -> AuthenticatedUser:
    """Return the user by which the SDK ties sessions to the token that opened them."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))


def _takes_turn(scope: Scope) -> bool:
    """Return whether a request waits for its client's turn: answers to questions and cancellations do not."""
    message = scope.get(MESSAGE)
    return isinstance(message, dict) and message.get("method") in _IN_TURN and "id" in message
