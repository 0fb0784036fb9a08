"""What a user does on the page with the MCP servers of the catalogue: agree, enable, log in, call a tool."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextvars import copy_context
from pathlib import Path
from typing import Any

import anyio

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.consent import description
from findspot.catalogue.oauth import Logins, remote_server
from findspot.catalogue.server_registry import ServerStatus
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_calls import Confirmation
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import content_hash
from findspot.engine import Engine
from findspot.serve.library import call_tool

_LOGIN_S = 300.0


class ConfirmationNeededError(FindspotError):
    """A call that the user has to confirm."""

    code = "CONFIRMATION_NEEDED"


class PageServers:
    """The servers that the page knows; it starts only what the user agreed to."""

    def __init__(self, engine: Engine, start: Path) -> None:
        self._engine = engine
        self._start = start
        self._login_errors: dict[str, str] = {}

    @property
    def catalogue(self) -> Catalogue:
        return self._engine.catalogue(self._start)

    def about(self, status: ServerStatus) -> dict[str, Any]:
        """Return what the user has to know before agreeing, and how the last login failed."""
        about = {"changed": list(status.changed_tools), "loginError": self._login_errors.get(status.name)}
        if status.spec is None:
            return about
        return about | {"runs": description(status.spec)[1:], "version": _version(status.spec)}

    def agree(self, name: str, version: str) -> None:
        """Agree to a server as the page showed it, and ask it for its tools."""
        registry = self.catalogue.registry
        spec = registry.find(name)
        if spec is None or _version(spec) != version:
            raise InvalidArgumentError(
                f"The entry of '{name}' has just changed.", hint="Look at it again before you agree."
            )
        registry.agreements.add([spec])
        self._read_tools(name)

    def enable(self, name: str, *, on: bool) -> None:
        """Enable or disable a server or a tool in the project that the page was started in."""
        catalogue = self.catalogue
        if name not in {server.name for server in catalogue.servers()}:
            catalogue.get(name)  # or what to say about an unknown tool
        catalogue.registry.choices.make(catalogue.paths[0], name, on)
        if on and catalogue.registry.find(name):
            self._read_tools(name)

    def log_in(self, name: str) -> str:
        """Begin a login, and return the address to open; its server's tools are read when it is done."""
        from findspot.catalogue.oauth import LoginError, log_in

        catalogue = self.catalogue
        spec = remote_server(catalogue.registry, name)
        address: Future[str] = Future()
        self._login_errors.pop(name, None)

        async def wait_for_login() -> None:
            with anyio.move_on_after(_LOGIN_S):
                return await log_in(spec, Logins(catalogue.registry.home), address.set_result)
            raise LoginError(f"There was no login within {_LOGIN_S:g} s.")

        def work() -> None:
            try:
                anyio.run(wait_for_login)
                self._read_tools(name)
            except Exception as error:  # noqa: BLE001 - the boundary of a thread; the page shows the error
                self._login_errors[name] = str(error)
                if not address.done():
                    address.set_exception(error)

        threading.Thread(target=copy_context().run, args=(work,), name="page-login", daemon=True).start()
        return address.result()

    def call(self, name: str, arguments: dict[str, Any], *, confirmed: bool) -> dict[str, Any]:
        """Call a tool in a server that is started for it; what may destroy something must be confirmed."""

        async def confirm(asked: Confirmation) -> bool:
            if (asked.declared or asked.changed) and not confirmed:
                raise ConfirmationNeededError(asked.question)
            return False

        return call_tool(self._engine, self._start, "page", name, arguments, confirm=confirm).result

    def _read_tools(self, name: str) -> None:
        """Ask a server for its tools, if it is new or has not answered yet."""
        catalogue = self.catalogue
        names = {path: [spec.name for spec in catalogue.registry.servers(path)] for path in catalogue.paths}
        index = next(path for path in catalogue.paths if name in names[path])
        catalogue.indexer.index_new(index, self._engine.settings.embed)


def _version(spec: ServerSpec) -> str:
    """Return what changes with every part of an entry that decides what is started."""
    return content_hash(spec.launch.encode("utf-8", "surrogatepass"))
