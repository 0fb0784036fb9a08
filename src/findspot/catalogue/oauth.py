"""OAuth 2.1 at remote MCP servers: log in with a browser, store the login, send its token, renew it.

Logins are in the home folder, readable by its owner only: one file per address of a server, so that an entry
whose address changes has no login. Nothing of them is ever logged or shown.

Imports the MCP SDK, which does the protocol: import this module only where a remote server is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
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
from pydantic import BaseModel, Field

from findspot.catalogue.server_registry import LoginRequiredError, ServerRegistry
from findspot.catalogue.server_sources import MissingVariableError, ServerSpec
from findspot.catalogue.transports import RemoteHttp, RemoteServerError, refusal
from findspot.core.config import is_loopback
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import content_hash, make_private_dir, read_json, write_json
from findspot.core.locks import writer_lock
from findspot.core.paths import home_folder

_MAX_BYTES = 1 << 20
"""Of an answer of an authorization server."""

_PATIENCE_S = 30.0
"""For one answer of an authorization server."""

_RENEWAL_S = 60.0
"""For another process that renews the same login: as long as it waits for the authorization server."""

_BROWSER_S = 10.0
_SHOWN_CHARS = 300
_NOT_RENEWED = "The login could not be renewed:"
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


class Login(BaseModel):
    """What a login at one server gave us: the storage of the SDK's provider, written as a whole."""

    url: str
    tokens: OAuthToken | None = Field(default=None, repr=False)
    client: OAuthClientInformationFull | None = Field(default=None, repr=False)
    metadata: OAuthMetadata | None = None
    """What the authorization server says about itself."""
    resource: ProtectedResourceMetadata | None = None
    """What the server says about its logins."""
    wanted_scope: str = ""
    """What a request lacked: the next login asks for it."""

    @property
    def access_token(self) -> str:
        return self.tokens.access_token if self.tokens else ""

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Logins:
    def __init__(self, home: Path) -> None:
        self._folder = home / "logins"

    def read(self, url: str) -> Login | None:
        """Return the login at a server's address; None if there is no usable one."""
        try:
            login = Login.model_validate(read_json(self._path(url)))
        except (OSError, ValueError):
            return None
        return login if login.url == url and login.access_token else None

    def write(self, login: Login, spec: ServerSpec) -> None:
        """Store a login at a server; a secret that its entry holds stays there."""
        own_secret = {"client": {"client_secret"}} if "clientSecret" in spec.oauth else None
        make_private_dir(self._folder)
        stored = login.model_dump(mode="json", exclude_none=True, exclude=own_secret)
        write_json(self._path(login.url), stored)

    def remove(self, url: str) -> bool:
        try:
            self._path(url).unlink()
        except FileNotFoundError:
            return False
        return True

    @contextlib.asynccontextmanager
    async def locked(self, url: str) -> AsyncIterator[None]:
        """Let one process at a time replace a login: many servers take a refresh token only once."""
        lock = writer_lock(self._path(url).with_suffix(".lock"), _RENEWAL_S)
        await anyio.to_thread.run_sync(lock.__enter__)
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def _path(self, url: str) -> Path:
        return self._folder / f"{content_hash(url.encode('utf-8', 'surrogatepass'))[:32]}.json"


def remote_server(registry: ServerRegistry, name: str) -> ServerSpec:
    """Return a remote server that the user agreed to, with its variables expanded."""
    spec = registry.find(name)
    if spec is None:
        known = sorted({s.name for index in registry.indexes for s in registry.servers(index) if s.url})
        hint = f"Known: {', '.join(known)}." if known else "Index it first: findspot tools index FILE"
        raise InvalidArgumentError(f"There is no remote server '{name}'.", hint=hint)
    if spec.url is None:
        raise InvalidArgumentError(f"The server '{name}' is a program on this machine and has no login.")
    registry.agreed(name)
    if any(header.lower() == "authorization" for header in spec.headers):
        raise InvalidArgumentError(f"The entry of '{name}' has its own credentials: a login is not used.")
    try:
        return spec.expanded()
    except MissingVariableError as error:
        raise InvalidArgumentError(f"The server '{name}' cannot be reached: {error}.") from error


class LoginError(RemoteServerError):
    """A login did not succeed."""


def credentials(spec: ServerSpec) -> httpx2.Auth | None:
    has_own = any(name.lower() == "authorization" for name in spec.headers)
    if has_own or httpx2.URL(spec.url or "").userinfo:
        return None
    return StoredLogin(spec, Logins(home_folder()))


class StoredLogin(httpx2.Auth):
    """Sends the stored token to the server that it was issued for, and renews it; never asks a person.

    The SDK's own flow would let one request at a time through, and ask a person after each refusal.
    """

    def __init__(self, spec: ServerSpec, logins: Logins) -> None:
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
        lacks = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if response.status_code == 403 and lacks:
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
            can_be_renewed = login and login.tokens and login.tokens.refresh_token
            renewed = await _refreshed(login, self._spec) if login and can_be_renewed else None
            if renewed is None:
                raise self._needed("The login has expired.")
            self._logins.write(renewed, self._spec)
            return renewed

    async def _want(self, scope: str | None) -> None:
        async with self._logins.locked(self._url):
            login = self._logins.read(self._url)
            if login is not None:
                login.wanted_scope = union_scopes(login.wanted_scope, scope) or ""
                self._logins.write(login, self._spec)


def _with_token(request: httpx2.Request, login: Login | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.access_token}"
    return request


async def _refreshed(login: Login, spec: ServerSpec) -> Login | None:
    """Return a login with new tokens; None if the authorization server refuses the refresh token."""
    if login.client and "clientSecret" in spec.oauth:
        login.client.client_secret = spec.oauth["clientSecret"]
    provider = OAuthClientProvider(login.url, OAuthClientMetadata(redirect_uris=None), login)
    context = provider.context
    context.oauth_metadata, context.protected_resource_metadata = login.metadata, login.resource
    context.token_expiry_time = 1.0  # so that the SDK's flow begins with a renewal
    async with contextlib.aclosing(provider.async_auth_flow(httpx2.Request("GET", login.url))) as flow:
        try:
            with anyio.fail_after(_PATIENCE_S):
                async with RemoteHttp(max_bytes=_MAX_BYTES) as http:
                    response = await http.send(await anext(flow))
        except (httpx2.HTTPError, TimeoutError):
            raise RemoteServerError(f"{_NOT_RENEWED} no answer from the authorization server.") from None
        if response.status_code in (400, 401):
            return None
        if response.status_code == 200:
            await flow.asend(response)
    if response.status_code != 200 or context.current_tokens is None:
        raise RemoteServerError(f"{_NOT_RENEWED} HTTP {response.status_code} from the authorization server.")
    return login


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
        logins.write(flow.login, spec)


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
        self.login = Login(url=spec.url or "", client=_known_client(spec))
        self._provider = OAuthClientProvider(self.login.url, metadata, self.login, self._open, redirect.wait)
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
        self.login.client, self.login.metadata = self.context.client_info, self.context.oauth_metadata
        self.login.resource = self.context.protected_resource_metadata

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
