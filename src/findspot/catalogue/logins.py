"""Logins at remote MCP servers, stored in the home folder and readable by its owner only.

There is one file per address of a server, so that an entry whose address changes has no login. Nothing here
is ever logged or shown.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio

from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.server_registry import LOGIN_COMMAND, ServerRegistry
from findspot.catalogue.server_sources import ServerSpec
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import content_hash, make_private_dir, read_json, write_json
from findspot.core.locks import writer_lock

_PATIENCE_S = 60.0
"""For another process that renews the same login: as long as it waits for the authorization server."""


class LoginRequiredError(FindspotError):
    """A server takes no request without a login."""

    code = "LOGIN_REQUIRED"

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"{reason} Run `{LOGIN_COMMAND} {shlex.quote(server)}`.")


@dataclass(frozen=True, slots=True)
class Login:
    """What a login at one server gave us, in the forms of the protocol."""

    url: str
    tokens: Mapping[str, Any] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)
    """Our registration at the authorization server."""
    metadata: Mapping[str, Any] | None = None
    """What the authorization server says about itself."""
    resource: Mapping[str, Any] | None = None
    """What the server says about its logins."""
    wanted_scope: str = ""
    """What a request lacked: the next login asks for it."""

    @property
    def access_token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def can_be_renewed(self) -> bool:
        return bool(self.tokens.get("refresh_token"))


class Logins:
    """The logins of one home folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "logins"

    def read(self, url: str) -> Login | None:
        """Return the login at a server's address; None if there is no usable one."""
        try:
            login = Login(**read_json(self._path(url)))
            return login if login.url == url and login.access_token else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, login: Login) -> None:
        make_private_dir(self._folder)
        write_json(self._path(login.url), asdict(login))

    def remove(self, url: str) -> bool:
        """Remove a login; return whether there was one."""
        try:
            self._path(url).unlink()
        except FileNotFoundError:
            return False
        return True

    @contextlib.asynccontextmanager
    async def locked(self, url: str) -> AsyncIterator[None]:
        """Let one process at a time replace a login: many servers take a refresh token only once."""
        lock = writer_lock(self._path(url).with_suffix(".lock"), _PATIENCE_S)
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
    if not registry.agreements.holds(spec):
        raise InvalidArgumentError(
            f"You have not agreed to the server '{name}' as it is now.",
            hint=f"Run: findspot tools index {spec.source}",
        )
    if any(header.lower() == "authorization" for header in spec.headers):
        raise InvalidArgumentError(f"The entry of '{name}' has its own credentials: a login is not used.")
    try:
        return spec.expanded()
    except MissingVariableError as error:
        raise InvalidArgumentError(f"The server '{name}' cannot be reached: {error}.") from error
