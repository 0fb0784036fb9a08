"""OAuth 2.1 at remote MCP servers: log in with a browser, send the stored token, renew it.

Imports the MCP SDK, which does the protocol: import this module only where a remote server is called.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream
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
    OAuthToken,
)
from pydantic import ValidationError

from findspot.catalogue.logins import Login, LoginRequiredError, Logins, renewal_time
from findspot.catalogue.remote_servers import RemoteHttp, RemoteServerError, connect_remote
from findspot.catalogue.server_sources import ServerSpec
from findspot.core.config import home_folder, is_loopback
from findspot.core.errors import first_cause

_MAX_BYTES = 1 << 20
"""Of an answer of an authorization server."""

_PATIENCE_S = 30.0
"""For one answer of an authorization server."""

_MAX_HEAD_BYTES = 16_384
_HEAD_PATIENCE_S = 10.0
_SHOWN_CHARS = 300


class LoginError(RemoteServerError):
    """A login did not succeed."""


def credentials(spec: ServerSpec) -> httpx2.Auth:
    """Return how to authenticate at a server whose variables are expanded: by its headers or by a login."""
    if any(name.lower() == "authorization" for name in spec.headers):
        return _EntryCredentials()
    address = httpx2.URL(spec.url or "")
    if address.userinfo:
        return httpx2.BasicAuth(address.username, address.password)
    return StoredLogin(spec, Logins(home_folder()))


class _EntryCredentials(httpx2.Auth):
    """Leaves the headers of an entry as they are."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        response = yield request
        if response.status_code == 401:
            raise RemoteServerError("The server refused the credentials of its entry (HTTP 401).")


class StoredLogin(httpx2.Auth):
    """Sends the stored token to the server that it was issued for, and renews it; never asks a person."""

    def __init__(self, spec: ServerSpec, logins: Logins) -> None:
        """Take a server whose variables are expanded."""
        self._spec = spec
        self._name = spec.name
        self._url = spec.url or ""
        self._logins = logins

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        login = self._logins.read(self._url) if self._is_for(request.url) else None
        if login is not None and login.is_due and login.refresh_token:
            with contextlib.suppress(RenewalError):  # the token may still be good enough
                login = await self._renewed(login)
        response = yield _with_token(request, login)
        if response.status_code == 401 and login is not None:
            login = await self._renewed(login)
            response = yield _with_token(request, login)
        if response.status_code == 401:
            raise LoginRequiredError(self._name, "The server asks for a login.")
        if response.status_code == 403 and _field(response, "error") == "insufficient_scope":
            raise await self._lacking(response)

    def _is_for(self, url: httpx2.URL) -> bool:
        own = httpx2.URL(self._url)
        return (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)

    async def _renewed(self, refused: Login) -> Login:
        """Return a newer login than one that is due or was refused, perhaps that of another process."""
        expired = LoginRequiredError(self._name, "The login has expired.")
        async with self._logins.locked(self._url):
            login = self._logins.read(self._url)
            if login is None:
                raise expired
            if login.access_token != refused.access_token:
                return login
            if not login.refresh_token:
                raise expired
            answer = await _refresh(login, self._spec)
            if answer is None:
                raise expired
            login = replace(
                login,
                access_token=answer.access_token,
                refresh_token=answer.refresh_token or login.refresh_token,
                renew_at=renewal_time(answer.expires_in),
                scope=answer.scope or login.scope,
            )
            self._logins.write(login)
            return login

    async def _lacking(self, response: httpx2.Response) -> LoginRequiredError:
        """Record what a request lacked, so that the next login asks for it."""
        scope = extract_scope_from_www_auth(response) or ""
        async with self._logins.locked(self._url):
            login = self._logins.read(self._url)
            if login is not None:
                wanted = union_scopes(login.wanted_scope, scope) or ""
                self._logins.write(replace(login, wanted_scope=wanted))
        return LoginRequiredError(self._name, "The server asks for a login with more rights.")


class RenewalError(RemoteServerError):
    """An authorization server could not renew a token this time."""


def _with_token(request: httpx2.Request, login: Login | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.access_token}"
    return request


async def _refresh(login: Login, spec: ServerSpec) -> OAuthToken | None:
    """Ask for new tokens; None if the authorization server refuses the refresh token."""
    data = {"grant_type": "refresh_token", "refresh_token": login.refresh_token or ""}
    if login.resource:
        data["resource"] = login.resource
    response = await _post(login.token_endpoint, data, login, spec)
    if response is None:
        raise RenewalError("The login could not be renewed: no answer from the authorization server.")
    if response.status_code in (400, 401):
        return None
    try:
        if response.status_code == 200:
            return OAuthToken.model_validate_json(response.content)
    except ValidationError:
        pass
    raise RenewalError(
        f"The login could not be renewed: HTTP {response.status_code} from the authorization server."
    )


async def revoke(login: Login, spec: ServerSpec) -> bool:
    """Ask the authorization server to forget a login; return whether it did."""
    if login.revocation_endpoint is None:
        return False
    data = {"token": login.refresh_token or login.access_token}
    response = await _post(login.revocation_endpoint, data, login, spec)
    return response is not None and response.is_success


async def _post(url: str, data: dict[str, str], login: Login, spec: ServerSpec) -> httpx2.Response | None:
    """Send a form to the authorization server as the client that logged in; None if there is no answer."""
    secret = {"client_secret": spec.oauth["clientSecret"]} if "clientSecret" in spec.oauth else {}
    client = OAuthClientInformationFull.model_validate({**login.client, **secret})
    context = OAuthContext(login.url, OAuthClientMetadata(redirect_uris=None), _Memory(client), None, None)
    context.client_info = client
    form, headers = context.prepare_token_auth({**data, "client_id": client.client_id})
    try:
        with anyio.fail_after(_PATIENCE_S):
            async with RemoteHttp(max_bytes=_MAX_BYTES) as http:
                return await http.post(url, data=form, headers=headers)
    except (httpx2.HTTPError, TimeoutError):
        return None


def _field(response: httpx2.Response, name: str) -> str | None:
    return extract_field_from_www_auth(response, name)


async def log_in(spec: ServerSpec, logins: Logins, show: Callable[[str], None]) -> None:
    """Log in at a server whose variables are expanded, and store the login.

    `show` gets the address that a person must open in a browser. The caller limits the time.
    """
    from mcp import Client

    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # the SDK logs what must not be logged
    url = spec.url or ""
    if not _is_safe(url, url):
        raise LoginError("A login needs a server with an https address.")
    async with _Redirect.open(spec.oauth.get("callbackPort", "0")) as redirect:
        earlier = logins.read(url)
        flow = _LoginFlow(spec, redirect, show, earlier.wanted_scope if earlier else "")
        try:
            async with contextlib.AsyncExitStack() as stack:
                await connect_remote(
                    stack, spec, lambda transport: Client(transport, mode="legacy"), flow, _MAX_BYTES
                )
        except OAuthFlowError as error:
            raise flow.explained(error) from error
        except httpx2.HTTPError as error:
            raise LoginError(f"The login failed: {error}"[:_SHOWN_CHARS]) from error
        async with logins.locked(url):
            logins.write(flow.login())


class _LoginFlow(OAuthClientProvider):
    """The SDK's flow, limited to addresses that a server may send us to."""

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
        super().__init__(spec.url or "", metadata, _Memory(_known_client(spec)), self._open, redirect.wait)
        self.context.auth_server_url = spec.oauth.get("authorizationServer")

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if self.context.current_tokens is not None:
            self._add_auth_header(request)
            yield request
            return
        flow = super()._auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                if outgoing is not request:
                    outgoing = self._checked(outgoing)
                response = yield outgoing
                self._last_status = response.status_code
                if outgoing is request and self.context.current_tokens is None:
                    self._was_asked = response.status_code in (401, 403)
                    if response.is_success and request.method == "POST":
                        # A server that asks for a login only when a tool is called.
                        response = httpx2.Response(401, request=request)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

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

    def _select_authorization_server(self, advertised: list[str]) -> str:
        chosen = self._spec.oauth.get("authorizationServer")
        if chosen is None:
            return advertised[0]
        for address in advertised:
            if address.rstrip("/") == chosen.rstrip("/"):
                return address
        raise LoginError("The server does not use the authorization server that its entry names.")

    async def _perform_authorization(self) -> httpx2.Request:
        metadata, client = self.context.oauth_metadata, self.context.client_info
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise LoginError(
                "The authorization server does not support PKCE, without which a login is not safe."
            )
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            methods = metadata.token_endpoint_auth_methods_supported if metadata else None
            posts = "client_secret_post" in (methods or ())
            client.token_endpoint_auth_method = "client_secret_post" if posts else "client_secret_basic"
        if self._wanted_scope:
            granted = None if self._spec.oauth.get("scopes") else self.context.client_metadata.scope
            self.context.client_metadata.scope = union_scopes(granted, self._wanted_scope)
        return await super()._perform_authorization()

    async def _open(self, address: str) -> None:
        _require_safe(address, self.context.server_url)
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

    def login(self) -> Login:
        """Return what was obtained."""
        context = self.context
        token, client = context.current_tokens, context.client_info
        if token is None or client is None:
            raise LoginError("The server answers without a login.")
        own_secret = {"client_secret"} if "clientSecret" in self._spec.oauth else set[str]()
        with_resource = context.should_include_resource_param(context.protocol_version)
        return Login(
            url=context.server_url,
            access_token=token.access_token,
            refresh_token=token.refresh_token,
            renew_at=renewal_time(token.expires_in),
            scope=token.scope or "",
            token_endpoint=self._get_token_endpoint(),
            revocation_endpoint=self._revocation_endpoint(),
            resource=context.get_resource_url() if with_resource else None,
            client=client.model_dump(mode="json", exclude_none=True, exclude=own_secret),
        )

    def _revocation_endpoint(self) -> str | None:
        metadata = self.context.oauth_metadata
        address = str(metadata.revocation_endpoint) if metadata and metadata.revocation_endpoint else None
        return address if address and _is_safe(address, self.context.server_url) else None


class _Memory:
    """What the SDK stores during a login; the whole is written at its end."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


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

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/callback"
        self.state = ""
        self._done = anyio.Event()
        self._parameters: dict[str, str] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, port: str) -> AsyncIterator[_Redirect]:
        """Listen on a port; on one that is free if it is 0."""
        try:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=int(port))
        except (OSError, OverflowError, ValueError) as error:
            raise LoginError(f"The callbackPort {port} of the entry cannot be used.") from error
        async with listener:
            redirect = cls(listener.extra(SocketAttribute.local_port))
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(listener.serve, redirect._answer)
                    yield redirect
                    group.cancel_scope.cancel()
            except ExceptionGroup as errors:
                raise first_cause(errors) from errors

    async def wait(self) -> AuthorizationCodeResult:
        """Wait until the browser returns with the state of this login."""
        await self._done.wait()
        if "code" not in self._parameters:
            reason = self._parameters.get("error", "no reason given")
            shown = reason if re.fullmatch(r"[\w.-]{1,60}", reason) else "no reason given"
            raise LoginError(f"The authorization server refused the login: {shown}.")
        return AuthorizationCodeResult(**self._parameters)

    async def _answer(self, stream: SocketStream) -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with stream:
                head = b""
                with anyio.move_on_after(_HEAD_PATIENCE_S):
                    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD_BYTES:
                        head += await stream.receive()
                status, text = self._take(head.split(b"\r\n", 1)[0].decode("ascii", "replace"))
                body = f"<!doctype html><title>Findspot</title><p>{text}".encode()
                kind = "Content-Type: text/html; charset=utf-8\r\nConnection: close"
                lines = f"HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                await stream.send(lines.encode() + body)

    def _take(self, line: str) -> tuple[str, str]:
        """Return the answer to a request; one without the state of this login has no effect."""
        method, _, rest = line.partition(" ")
        try:
            target = urlsplit(rest.partition(" ")[0])
        except ValueError:
            return "400 Bad Request", "This is not an address."
        if method != "GET" or target.path != "/callback":
            return "404 Not Found", "There is nothing here."
        given = {name: values[-1] for name, values in parse_qs(target.query).items()}
        if not self.state or not secrets.compare_digest(given.get("state", "").encode(), self.state.encode()):
            return "400 Bad Request", "This is not the login that Findspot waits for."
        self._parameters = {name: given[name] for name in ("code", "state", "iss", "error") if name in given}
        self._done.set()
        if "code" in given:
            return "200 OK", "Findspot has the answer. You can close this window."
        return "200 OK", "The login was refused. You can close this window."
