"""Calls of other servers' tools: which tools may be called, what needs confirmation, and the call itself."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio

from findspot.catalogue.catalogue import AccessState, Catalogue
from findspot.catalogue.server_pool import (
    DEFAULT_TIMEOUT_S,
    CallHandlers,
    PoolClient,
    ServerPool,
)
from findspot.catalogue.server_registry import Standing
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import FindspotError
from findspot.text.snippet import cut

_SHOWN_ARGUMENT_CHARS = 600


class ToolNotCallableError(FindspotError):
    """The user has to do something before the tool can be called."""

    code = "TOOL_NOT_CALLABLE"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question about a call that may destroy something, or of a tool that changed."""

    tool: ToolDefinition
    arguments: Mapping[str, Any]
    declared: bool | None
    """Whether the server says that the tool is destructive; None if it says nothing about it."""
    changed: bool = False
    """Whether the tool is new or another than the one that the user agreed to."""

    @property
    def question(self) -> str:
        why = ["It is new, or changed since you agreed to its server."] if self.changed else []
        if self.declared:
            why.append("It may change or delete things.")
        elif self.declared is None:
            why.append("Its server does not say whether it changes or deletes things.")
        return f"Call the tool {self.tool.name}? {' '.join(why)}"

    @property
    def shown_arguments(self) -> str:
        return cut(json.dumps(self.arguments, ensure_ascii=False), _SHOWN_ARGUMENT_CHARS)


HandlersOf = Callable[[str], CallHandlers]
"""Takes the name of the server that is called, under which its questions are shown."""

Confirm = Callable[[Confirmation], Awaitable[bool]]
"""Returns if the user agrees, True if to every call of the tool; raises what ends the call otherwise."""


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Calls tools of one catalogue.

    What the server says about its tool now counts, not what an index file says: anyone may have written that.
    """

    catalogue: Catalogue
    pool: ServerPool
    client: PoolClient = field(default_factory=PoolClient)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        confirm: Confirm,
        timeout_s: float | None = None,
        handlers: HandlersOf | None = None,
    ) -> tuple[ToolDefinition, dict[str, Any]]:
        tool = await anyio.to_thread.run_sync(self.catalogue.get, name)
        access = await anyio.to_thread.run_sync(self.catalogue.access, tool, self.client.environ)
        if access.state is not AccessState.READY or access.spec is None:
            raise ToolNotCallableError(f"{tool.name} cannot be called: {access.reason}.", hint=access.hint)
        spec = access.spec
        limit_s = timeout_s or DEFAULT_TIMEOUT_S
        tool = await self._current(tool, spec, limit_s)
        await self._confirmed(Confirmation(tool, arguments, is_destructive(tool)), spec, confirm)
        result = await self.pool.call(
            spec,
            tool.own_name,
            arguments,
            client=self.client,
            timeout_s=limit_s,
            handlers=handlers(spec.name) if handlers else None,
            as_task=tool.runs_as_task,
        )
        return tool, result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def _confirmed(self, asked: Confirmation, spec: ServerSpec, confirm: Confirm) -> None:
        """Ask about a tool that may destroy something or that changed, unless it is always allowed."""
        agreements = self.catalogue.registry.agreements
        standing = agreements.standing(spec, asked.tool)
        changed = standing is Standing.CHANGED
        if standing is Standing.ALWAYS or (asked.declared is False and not changed):
            return
        always = await confirm(replace(asked, changed=changed))
        if always or changed:
            agree = partial(agreements.agree_to_tools, spec, [asked.tool], always=always)
            await anyio.to_thread.run_sync(agree)

    async def _current(self, tool: ToolDefinition, spec: ServerSpec, timeout_s: float) -> ToolDefinition:
        """Return the tool as its server describes it now."""
        current = await self.pool.tools(spec, client=self.client, timeout_s=timeout_s)
        if not self.catalogue.registry.agreements.knows_tools(spec):
            await anyio.to_thread.run_sync(self.catalogue.registry.agreements.agree_to_tools, spec, current)
        found = next((known for known in current if known.name == tool.name), None)
        if found is None:
            raise ToolNotCallableError(
                f"The server {spec.name} no longer has the tool {tool.own_name}.",
                hint="Search again: another tool may do the same.",
            )
        return found


def is_destructive(tool: ToolDefinition) -> bool | None:
    """Return what a server says about its tool; None if it says nothing.

    The protocol's default is "destructive". A tool that only adds (`destructiveHint: false`) is not. A tool
    that is declared both read-only and destructive is destructive.
    """
    hints = tool.annotations or {}
    declared = hints.get("destructiveHint")
    if hints.get("readOnlyHint") is True:
        return declared is True
    return declared if isinstance(declared, bool) else None
