"""Who may ask: only a browser on this machine that was given the token, and only the page itself.

The token comes once, in the address that `findspot ui` prints; from then on a cookie carries it. Cookies
know no ports, so another server of this machine would be sent ours: the page is served below a path that
nobody can guess, and the cookie is for that path alone. A page of someone else could reach this port too, so
the names of host and origin must be ours, and the browser must say that our own page asks. What is sent
forbids everything but our own files.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOSTS = ("127.0.0.1", "localhost")
_PATH_BYTES = 16

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Trusted types forbid what makes markup of text: what a repository holds is never more than text."""

_REFUSED = (
    "Access refused: open the address that `findspot ui` printed, with its token.\n"
    "The address is new whenever the command is run.\n"
)


class Guard:
    """The page behind its token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._cookie = f"findspot_{port}"  # two pages may be open
        self._below = f"/{secrets.token_urlsafe(_PATH_BYTES)}"
        self._hosts = {f"{name}:{port}" for name in _HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app, inner = self._admitted(scope)
        await app(inner, receive, send_guarded)

    def _admitted(self, scope: Scope) -> tuple[ASGIApp, Scope]:
        """Return what answers a request, and the request as the page's routes know it."""
        headers, path = Headers(scope=scope), scope["path"]
        refused = PlainTextResponse(_REFUSED, 403)
        if not self._ours(headers):
            return refused, scope
        if self._in_address(scope):
            location = {"Location": f"{self._below}/", "Set-Cookie": self._set_cookie()}
            return Response(status_code=303, headers=location), scope
        below, _, rest = path[1:].partition("/")
        is_below = hmac.compare_digest(f"/{below}".encode(), self._below.encode())
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()} if is_below else scope
        # The page's own files hold no secret, and a browser that comes from elsewhere keeps the cookie back.
        is_page = is_below and not rest.startswith("api/")
        return (self._app if is_page or self._in_headers(headers) else refused), inner

    def _ours(self, headers: Headers) -> bool:
        """Return whether the names are ours and, where the browser tells, the asking page too."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or (origin is not None and origin != f"http://{host}"):
            return False
        site = headers.get("sec-fetch-site", "none")
        return site in ("same-origin", "none") or headers.get("sec-fetch-mode") == "navigate"

    def _in_address(self, scope: Scope) -> bool:
        if scope["path"] != "/":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return hmac.compare_digest(given[0].encode(), self._token)

    def _in_headers(self, headers: Headers) -> bool:
        bearer = headers.get("authorization", "").removeprefix("Bearer ").encode()
        return any(hmac.compare_digest(given, self._token) for given in (bearer, self._in_cookie(headers)))

    def _in_cookie(self, headers: Headers) -> bytes:
        try:
            held = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return b""
        return held.value.encode() if held else b""

    def _set_cookie(self) -> str:
        return f"{self._cookie}={self._token.decode()}; Path={self._below}/; HttpOnly; SameSite=Strict"
