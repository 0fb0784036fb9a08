"""Whether a tool of another server can be called, and what is missing if it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.live_connection import NESTED_VARIABLE
from findspot.catalogue.logins import Logins
from findspot.catalogue.server_registry import ServerRegistry
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition


class AccessState(StrEnum):
    """Whether a tool can be called, and what is missing if it cannot."""

    READY = "ready"
    NOT_AGREED = "not_agreed"
    DISABLED = "disabled"
    MISSING_VARIABLE = "missing_variable"
    NEEDS_LOGIN = "needs_login"
    NO_SERVER = "no_server"
    NESTED = "nested"


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """How a tool is reached; without a server where no configuration names one."""

    state: AccessState
    spec: ServerSpec | None = None
    reason: str = ""
    hint: str = ""

    @property
    def transport(self) -> str | None:
        """How the server is reached."""
        return None if self.spec is None else "http" if self.spec.url else "stdio"


def tool_access(registry: ServerRegistry, tool: ToolDefinition, environ: Mapping[str, str]) -> ToolAccess:
    """Return whether a tool can be called in an environment, without starting anything."""
    spec, server = registry.find(tool.server_name), f"the server {tool.server_name}"
    if spec is None:
        broken = " ".join(registry.problems().values()).rstrip(".")
        return ToolAccess(
            AccessState.NO_SERVER,
            None,
            broken or f"No configuration of the catalogue names {server}",
            "`findspot tools index FILE` reads one that does, `findspot tools add` adds it.",
        )
    for name, what in ((spec.name, server), (tool.name, "this tool")):
        if not registry.choices.is_enabled(name):
            hint = f"`findspot tools enable {name}` enables it."
            return ToolAccess(AccessState.DISABLED, spec, f"The user disabled {what}", hint)
    if not spec.offers(tool.own_name):
        return ToolAccess(AccessState.DISABLED, spec, f"The entry of {server} leaves out this tool")
    if not registry.agreements.holds(spec):
        version = "this version of " if registry.agreements.is_known(spec) else ""
        reason = f"The user has not agreed to start {version}{server}"
        return ToolAccess(
            AccessState.NOT_AGREED, spec, reason, "`findspot tools index` shows what it runs and asks."
        )
    if NESTED_VARIABLE in environ:
        reason = "This Findspot was started by another one, and starts no servers itself"
        return ToolAccess(AccessState.NESTED, spec, reason)
    try:
        expanded = spec.expanded(environ)
    except MissingVariableError as error:
        return ToolAccess(AccessState.MISSING_VARIABLE, spec, f"The server {spec.name} cannot start: {error}")
    if expanded.url and expanded.oauth and Logins(registry.home).read(expanded.url) is None:
        hint = f"`findspot tools login {spec.name}` logs in."
        return ToolAccess(AccessState.NEEDS_LOGIN, spec, f"The server {spec.name} asks for a login", hint)
    return ToolAccess(AccessState.READY, spec)
