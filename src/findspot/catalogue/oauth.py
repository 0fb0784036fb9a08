"""OAuth 2.1 at remote MCP servers: log in with a browser, send the stored token, renew it.

Imports the MCP SDK, which does the protocol: import this module only where a remote server is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import (
    create_client_registration_request,
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel

from findspot.catalogue.logins import Login, LoginRequiredError, Logins
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.transports import RemoteHttp, RemoteServerError, refusal
from findspot.core.config import is_loopback
from findspot.core.paths import home_folder

_MAX_BYTES = 1 << 20
"""Of an answer of an authorization server."""

_PATIENCE_S = 30.0
"""For one answer of an authorization server."""

_BROWSER_S = 10.0
_SHOWN_CHARS = 300
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


class LoginError(RemoteServerError):
    """A login did not succeed."""


def credentials(spec: ServerSpec) -> httpx2.Auth | None:
    """Return how to log in at a server whose variables are expanded; None if its entry has credentials."""
    has_own = any(name.lower() == "authorization" for name in spec.headers)
    if has_own or httpx2.URL(spec.url or "").userinfo:
        return None
    return StoredLogin(spec, Logins(home_folder()))


class StoredLogin(httpx2.Auth):
    """Sends the stored token to the server that it was issued for, and renews it; never asks a person.

    The SDK's own flow would let one request at a time through, and ask a person after each refusal.
    """

    def __init__(self, spec: ServerSpec, logins: Logins) -> None:
        """Take a server whose variables are expanded."""
        self._spec = spec
        self._url = spec.url or ""
        self._logins = logins

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        own, url = httpx2.URL(self._url), request.url
        is_own = (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)
        login = self._logins.read(self._url) if is_own else None
        response = yield _with_token(request, login)
        if response.status_code == 401 and login is not None:
            login = await self._renewed(login)
            response = yield _with_token(request, login)
        if response.status_code == 401:
            raise self._needed("The server asks for a login.")
        if response.status_code == 403 and _error(response) == "insufficient_scope":
            await self._want(extract_scope_from_www_auth(response))
            raise self._needed("The server asks for a login with more rights.")

    def _needed(self, why: str) -> LoginRequiredError:
        return LoginRequiredError(self._spec.name, why)

    async def _renewed(self, refused: Login) -> Login:
        """Return a newer login than one that was refused, perhaps that of another connection."""
        async with self._logins.locked(self._url):
            login = self._logins.read(self._url)
            if login is not None and login.access_token != refused.access_token:
                return login
            renewed = await _refreshed(login, self._spec) if login and login.can_be_renewed else None
            if renewed is None:
                raise self._needed("The login has expired.")
            self._logins.write(renewed)
            return renewed

    async def _want(self, scope: str | None) -> None:
        """Record what a request lacked, so that the next login asks for it."""
        async with self._logins.locked(self._url):
            login = self._logins.read(self._url)
            if login is not None:
                wanted = union_scopes(login.wanted_scope, scope) or ""
                self._logins.write(replace(login, wanted_scope=wanted))


def _with_token(request: httpx2.Request, login: Login | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.access_token}"
    return request


def _error(response: httpx2.Response) -> str | None:
    return extract_field_from_www_auth(response, "error")


class _Memory:
    """What the SDK reads during a login or a renewal; the whole is written at its end."""

    def __init__(self, client: OAuthClientInformationFull | None, tokens: OAuthToken | None = None) -> None:
        self._client = client
        self._tokens = tokens

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


def _login_of(context: OAuthContext, spec: ServerSpec) -> Login:
    """Return what a login or a renewal gave us."""
    tokens, client = context.current_tokens, context.client_info
    assert tokens is not None
    assert client is not None
    own_secret = {"client_secret"} if "clientSecret" in spec.oauth else set[str]()
    return Login(
        url=context.server_url,
        tokens=tokens.model_dump(mode="json", exclude_none=True),
        client=client.model_dump(mode="json", exclude_none=True, exclude=own_secret),
        metadata=_dumped(context.oauth_metadata),
        resource=_dumped(context.protected_resource_metadata),
    )


def _dumped(model: BaseModel | None) -> dict[str, object] | None:
    return model.model_dump(mode="json", exclude_none=True) if model else None


def _restored(login: Login, spec: ServerSpec) -> OAuthClientProvider:
    """Return the SDK's provider as it was when we logged in."""
    secret = {"client_secret": spec.oauth["clientSecret"]} if "clientSecret" in spec.oauth else {}
    client = OAuthClientInformationFull.model_validate({**login.client, **secret})
    memory = _Memory(client, OAuthToken.model_validate(login.tokens))
    provider = OAuthClientProvider(login.url, OAuthClientMetadata(redirect_uris=None), memory)
    context = provider.context
    context.client_info = client
    if login.metadata:
        context.oauth_metadata = OAuthMetadata.model_validate(login.metadata)
    if login.resource:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login.resource)
    return provider


async def _refreshed(login: Login, spec: ServerSpec) -> Login | None:
    """Return a login with new tokens; None if the authorization server refuses the refresh token."""
    provider = _restored(login, spec)
    provider.context.token_expiry_time = 1.0  # so that the SDK's flow begins with a renewal
    async with contextlib.aclosing(provider.async_auth_flow(httpx2.Request("GET", login.url))) as flow:
        response = await _answer(await anext(flow))
        if response is None:
            raise RemoteServerError(
                "The login could not be renewed: no answer from the authorization server."
            )
        if response.status_code in (400, 401):
            return None
        if response.status_code == 200:
            await flow.asend(response)
    if response.status_code != 200 or provider.context.current_tokens is None:
        raise RemoteServerError(
            f"The login could not be renewed: HTTP {response.status_code} from the authorization server."
        )
    return replace(_login_of(provider.context, spec), wanted_scope=login.wanted_scope)


async def _answer(request: httpx2.Request) -> httpx2.Response | None:
    """Return the answer of an authorization server; None if there is none."""
    try:
        with anyio.fail_after(_PATIENCE_S):
            async with RemoteHttp(max_bytes=_MAX_BYTES) as http:
                return await http.send(request)
    except (httpx2.HTTPError, TimeoutError):
        return None


async def log_in(spec: ServerSpec, logins: Logins, show: Callable[[str], None]) -> None:
    """Log in at a server whose variables are expanded, and store the login.

    `show` gets the address that a person must open in a browser. The caller limits the time.
    """
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # the SDK logs what must not be logged
    url = spec.url or ""
    if not _is_safe(url, url):
        raise LoginError("A login needs a server with an https address.")
    earlier = logins.read(url)
    async with _listening(spec.oauth.get("callbackPort", "0")) as redirect:
        flow = _LoginFlow(spec, redirect, show, earlier.wanted_scope if earlier else "")
        try:
            await flow.run()
        except OAuthFlowError as error:
            raise flow.explained(error) from error
        except httpx2.HTTPError as error:
            raise LoginError(f"The login failed: {error}"[:_SHOWN_CHARS]) from error
    async with logins.locked(url):
        logins.write(_login_of(flow.context, spec))


class _LoginFlow:
    """One login: the SDK's flow, limited to addresses that a server may send us to."""

    def __init__(
        self, spec: ServerSpec, redirect: _Redirect, show: Callable[[str], None], scope: str
    ) -> None:
        self._spec = spec
        self._redirect = redirect
        self._show = show
        self._wanted_scope = union_scopes(spec.oauth.get("scopes"), scope)
        self._was_asked = False
        self._last_status = 0
        metadata = OAuthClientMetadata.model_validate(
            {"redirect_uris": [redirect.address], "client_name": "Findspot"}
        )
        memory = _Memory(_known_client(spec))
        self._provider = OAuthClientProvider(spec.url or "", metadata, memory, self._open, redirect.wait)
        self.context = self._provider.context

    async def run(self) -> None:
        """Ask the server, do what its refusal leads to, and ask again with the token."""
        async with RemoteHttp(dict(self._spec.headers), max_bytes=_MAX_BYTES) as http:
            request = http.build_request("POST", self.context.server_url, json=_PING, headers=_ACCEPT)
            async with contextlib.aclosing(self._provider.async_auth_flow(request)) as flow:
                response = await self._refusal(http, await anext(flow))
                while (outgoing := await flow.asend(response)) is not request:
                    response = await http.send(self._checked(outgoing))
                    self._last_status = response.status_code
                if (await self._refusal(http, request)).headers:
                    raise LoginError("The server refused the token that it asked for.")

    async def _refusal(self, http: RemoteHttp, request: httpx2.Request) -> httpx2.Response:
        """Return the server's refusal; one without headers if it did not ask for a login.

        Some servers ask for one only when a tool is called.
        """
        response = await http.send(request, stream=True)
        await response.aclose()
        if response.status_code >= 500:
            raise refusal(response.status_code)
        self._was_asked |= response.status_code in (401, 403)
        return response if response.status_code == 401 else httpx2.Response(401, request=request)

    def _checked(self, request: httpx2.Request) -> httpx2.Request:
        """Return a request of the SDK's flow; refuse what a server may not make us do."""
        _require_safe(str(request.url), self.context.server_url)
        metadata = self.context.oauth_metadata
        if request.method != "POST" or self.context.client_info is not None or metadata is None:
            return request
        if metadata.registration_endpoint is None:
            raise self._no_client()
        # A program on a user's machine cannot keep a secret. Ask for none, or the server may issue one.
        if "none" in (metadata.token_endpoint_auth_methods_supported or ()):
            self.context.client_metadata.token_endpoint_auth_method = "none"
        return create_client_registration_request(metadata, self.context.client_metadata, "")

    async def _open(self, address: str) -> None:
        """Show the address of a login, if the login is safe."""
        context = self.context
        _require_safe(address, context.server_url)
        metadata, client = context.oauth_metadata, context.client_info
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise LoginError(
                "The authorization server does not support PKCE, without which a login is not safe."
            )
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            methods = metadata.token_endpoint_auth_methods_supported if metadata else None
            posts = "client_secret_post" in (methods or ())
            client.token_endpoint_auth_method = "client_secret_post" if posts else "client_secret_basic"
        if self._wanted_scope:
            granted = None if self._spec.oauth.get("scopes") else context.client_metadata.scope
            context.client_metadata.scope = union_scopes(granted, self._wanted_scope)
            address = str(httpx2.URL(address).copy_set_param("scope", context.client_metadata.scope))
        self._redirect.state = parse_qs(urlsplit(address).query)["state"][-1]
        self._show(address)

    def explained(self, error: OAuthFlowError) -> LoginError:
        """Return an error that repeats no answer of an authorization server, which can hold a secret."""
        if not self._was_asked and self.context.protected_resource_metadata is None:
            return LoginError("The server answers without a login.")
        if isinstance(error, OAuthRegistrationError):
            return self._no_client()
        if isinstance(error, OAuthTokenError):
            return LoginError(f"The authorization server issued no token (HTTP {self._last_status}).")
        return LoginError(f"The login failed: {error}"[:_SHOWN_CHARS])

    def _no_client(self) -> LoginError:
        return LoginError(
            "The authorization server does not register clients by itself.",
            hint='Register one there, and add "oauth": {"clientId": "…"} to the entry of the server.',
        )


def _known_client(spec: ServerSpec) -> OAuthClientInformationFull | None:
    """Return the client that the entry names; else one is registered at each login, for its own port."""
    if "clientId" not in spec.oauth:
        return None
    secret = spec.oauth.get("clientSecret")
    return OAuthClientInformationFull(
        client_id=spec.oauth["clientId"],
        client_secret=secret,
        token_endpoint_auth_method=None if secret else "none",
    )


def _is_safe(address: str, server: str) -> bool:
    """Return whether a login may use an address: https, or this machine if the server runs on it too."""
    if is_loopback(address):
        return is_loopback(server)
    return address.startswith("https://")


def _require_safe(address: str, server: str) -> None:
    if not _is_safe(address, server):
        parts = urlsplit(address)
        shown = f"{parts.scheme}://{parts.hostname}"
        raise LoginError(f"The server sends logins to {shown}, which is not safe."[:_SHOWN_CHARS])


class _Redirect:
    """The address on this machine to which a browser returns after a login."""

    def __init__(self) -> None:
        self.address = ""
        self.state = ""
        self._given: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def wait(self) -> AuthorizationCodeResult:
        """Wait until the browser returns with the state of this login."""
        given = await self._given
        if "code" not in given:
            reason = given.get("error", "no reason given")
            shown = reason if re.fullmatch(r"[\w.-]{1,60}", reason) else "no reason given"
            raise LoginError(f"The authorization server refused the login: {shown}.")
        return AuthorizationCodeResult(**given)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; nothing is logged, since an address holds a code."""
        with contextlib.suppress(OSError, TimeoutError, ValueError, IndexError):
            async with asyncio.timeout(_BROWSER_S):
                status, text = self._take((await reader.readline()).decode("ascii").split()[1])
                while (await reader.readline()).strip():
                    """The headers say nothing that matters, but are read before the connection is closed."""
            page = f"<!doctype html><title>Findspot</title><p>{text}"
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close"
            writer.write(f"{head}\r\n\r\n{page}".encode())
        writer.close()

    def _take(self, path: str) -> tuple[str, str]:
        """Return the answer to a request; one without the state of this login has no effect."""
        target = urlsplit(path)
        if target.path != "/callback":
            return "404 Not Found", "There is nothing here."
        given = {name: values[-1] for name, values in parse_qs(target.query).items()}
        if not self.state or not secrets.compare_digest(given.get("state", "").encode(), self.state.encode()):
            return "400 Bad Request", "This is not the login that Findspot waits for."
        if not self._given.done():
            known = ("code", "state", "iss", "error")
            self._given.set_result({name: given[name] for name in known if name in given})
        if "code" in given:
            return "200 OK", "Findspot has the answer. You can close this window."
        return "200 OK", "The login was refused. You can close this window."


@contextlib.asynccontextmanager
async def _listening(port: str) -> AsyncIterator[_Redirect]:
    """Listen on a port; on one that is free if it is 0."""
    redirect = _Redirect()
    try:
        server = await asyncio.start_server(redirect.answer, "127.0.0.1", int(port))
    except (OSError, OverflowError, ValueError) as error:
        raise LoginError(f"The callbackPort {port} of the entry cannot be used.") from error
    async with server:
        redirect.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
        yield redirect
