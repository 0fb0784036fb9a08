"""What answers requests in one process: the MCP server with its sessions over HTTP, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from findspot.serve.mcp.access import IN_SCOPE, OPEN, AllowedEngine, Grant, Terms
from findspot.serve.mcp.http_sessions import Sessions, at_path
from findspot.serve.mcp.limits import Turns
from findspot.serve.mcp.metrics import Load, Meter, index_figures
from findspot.serve.mcp.resources import Offers
from findspot.serve.mcp.served_projects import PROJECTS, READY, Readiness, projects_answer
from findspot.serve.mcp.server import OFFERS, make_server
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tool_call import QUICK_THREADS, Library

if TYPE_CHECKING:
    from findspot.engine import Engine

PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 1_000
MESSAGE, CLIENT = "findspot.message", "findspot.client"
"""Where a request carries its message, and the client that it counts for."""

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_IN_TURN = ("tools/call", "resources/read")


@dataclass(frozen=True, slots=True)
class Plan:
    """How each process of a server answers; the same for all of them."""

    hosts: tuple[str, ...] = ()
    """Names of the server beyond those of this machine."""
    terms: Terms = OPEN
    state_key: bytes | None = None
    """Seals what clients carry from one call to the next, so that each process can read it."""
    max_sessions: int = MAX_SESSIONS

    def security(self) -> TransportSecuritySettings:
        """Return the hosts and origins that are accepted."""
        names = dict.fromkeys((*_LOOPBACK_NAMES, *self.hosts))
        return TransportSecuritySettings(
            allowed_hosts=[entry for name in names for entry in (name, f"{name}:*")],
            allowed_origins=[
                entry
                for scheme, served in (("http", names), ("https", self.hosts))  # behind a proxy that ends TLS
                for name in served
                for entry in (f"{scheme}://{name}", f"{scheme}://{name}:*")
            ],
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """What one process has counted."""

    meter: Meter = field(default_factory=Meter)
    sessions: Counter[str] = field(default_factory=Counter)
    """Open sessions by the name of their token."""
    indexes: tuple[tuple[str, int, float], ...] = ()
    """Project, generation and age in seconds of each open index."""


class Answering(Protocol):
    """What is behind the gate: this process, or several."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def figures(self) -> Iterable[Figures]:
        """Return the figures of each process."""

    async def sessions_of(self, name: str) -> int:
        """Return how many sessions a token has open."""

    def load(self) -> Load:
        """Return how many processes there are, and how many calls they have."""


class Backend:
    """The MCP server of this process, as an ASGI application."""

    def __init__(self, registry: Registry, library: Library, plan: Plan, offers: Offers = OFFERS) -> None:
        self._library = library
        self._meter = Meter()
        server = make_server(registry, library, offers, self._meter, plan.terms, state_key=plan.state_key)
        self._sessions = Sessions(
            server,
            plan.security(),
            max_sessions=plan.max_sessions,
            max_body_bytes=MAX_BODY_BYTES,
            mark=library.mark,
        )
        self._app = at_path(self._sessions, PATH)
        self._guarded = plan.terms.guarded
        self._readiness = Readiness()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (grant := scope.get(IN_SCOPE)) is not None:
            scope["user"] = _user(grant.name)
            if grant.repositories:
                scope[IN_SCOPE] = await to_thread.run_sync(self._located, grant)
        if scope["type"] == "http" and scope["path"] in (READY, PROJECTS):
            answer = await to_thread.run_sync(self._describe, scope["path"], scope.get(IN_SCOPE))
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

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

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which requests are answered, for use without a server of ASGI."""
        return self._sessions.run()

    async def figures(self) -> list[Figures]:
        indexes = await to_thread.run_sync(lambda: index_figures(self._library.open()))
        return [Figures(self._meter, self._sessions.by_client, tuple(indexes))]

    async def sessions_of(self, name: str) -> int:
        return self._sessions.by_client[name]


class InTurns:
    """A backend whose clients take turns."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._turns = Turns(QUICK_THREADS)
        self.figures, self.sessions_of = backend.figures, backend.sessions_of

    def load(self) -> Load:
        return Load(1, 0, self._turns.running, self._turns.waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if takes_turn(scope):
            async with self._turns.turn(scope[CLIENT]):
                await self._backend(scope, receive, send)
        else:
            await self._backend(scope, receive, send)


@lru_cache(1_000)
def _user(name: str) -> AuthenticatedUser:
    """Return the user by which the SDK ties sessions to the token that opened them."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))


def replayed(messages: list[Message], receive: Receive) -> Receive:
    """Return a `receive` that returns these messages first, then those that follow."""
    remaining = iter(messages)

    async def receive_again() -> Message:
        return next(remaining, None) or await receive()

    return receive_again


def takes_turn(scope: Scope) -> bool:
    """Return whether a request waits for its client's turn: answers to questions and cancellations do not."""
    message = scope.get(MESSAGE)
    return isinstance(message, dict) and message.get("method") in _IN_TURN and "id" in message
