"""What other MCP servers have besides tools: their resources and prompts, under names with the server's own.

Only servers that the user agreed to are asked, and only those that said that they have any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

import anyio
import mcp_types as types

from findspot.catalogue.tool_record import SEPARATOR
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger
from findspot.serve.mcp.client import InputNeededError
from findspot.serve.mcp.target import working_folder
from findspot.serve.mcp.tool_call import Call

if TYPE_CHECKING:
    from mcp import ClientSession

    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.server_pool import PoolClient, ServerPool
    from findspot.catalogue.server_sources import ServerSpec

Result = TypeVar("Result")

_log = get_logger("mcp")

_ADDRESS = "findspot://servers/"
_LINKS = "findspot.links"
_LIST_S, _READ_S = 10.0, 60.0
"""How long servers may take to list what they have, start included, and to read one of it."""
_MAX_LINKS = 1_000


async def _caller(call: Call) -> tuple[Path, PoolClient]:
    """Return where the client works, and who calls; servers that are started for a connection end with it."""
    from findspot.catalogue.server_pool import PoolClient

    roots = await call.client.folders()
    client = PoolClient(call.client.connection, roots=[root.as_uri() for root in roots])
    return roots[0] if roots else working_folder(), client


async def opened_catalogue(call: Call) -> tuple[Catalogue, ServerPool, PoolClient]:
    """Return the catalogue where the client works, kept current if the user wants it, and how its servers
    are called.
    """
    folder, client = await _caller(call)
    engine, catalogue = await call.quick(lambda engine: (engine, engine.catalogue(folder)))
    for spec in await call.quick(lambda _: catalogue.followed()):
        engine.servers.follow(spec, partial(catalogue.learn, spec), client)
    return catalogue, engine.servers, client


async def server_names(call: Call) -> list[str]:
    """Return the servers that can be called where the client was started; nothing is started."""
    try:
        folder = working_folder()
        return await call.quick(lambda engine: engine.catalogue(folder).registry.usable())
    except FindspotError as error:
        _log.warning("the instructions name no servers: %s", error.user_message)
        return []


def note_links(call: Call, server: str, result: dict[str, Any]) -> None:
    """Remember the resources that a tool's result names, so that the client can read them."""
    links: dict[str, str] = call.client.memory.setdefault(_LINKS, {})
    for part in result.get("content", ()):
        if part.get("type") == "resource_link" and len(links) < _MAX_LINKS:
            links[str(part.get("uri"))] = server


class Listing(NamedTuple):
    """One of the lists that servers have besides their tools."""

    offer: str
    """What a server declares that has one."""
    name: str
    key: str
    """The field by which an entry is asked for."""


RESOURCES = Listing("resources", "resources", "uri")
TEMPLATES = Listing("resources", "resource_templates", "uri_template")
PROMPTS = Listing("prompts", "prompts", "name")


async def listed(call: Call, listing: Listing) -> list[Any]:
    """Return a list of all servers, under names with their servers'; one that fails is left out."""
    from findspot.catalogue.server_pool import all_pages

    entries: dict[str, list[Any]] = {}

    async def ask(spec: ServerSpec) -> None:
        pages = partial(all_pages, kind=listing.name)
        try:
            entries[spec.name] = await pool.ask(spec, pages, client=client, timeout_s=_LIST_S)
        except FindspotError as error:
            _log.warning("the %s of %s are left out: %s", listing.name, spec.name, error.user_message)

    specs, pool, client = await _reached(call, listing.offer)
    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(ask, spec)
    return [
        entry.model_copy(update={listing.key: _known_as(listing, spec.name, getattr(entry, listing.key))})
        for spec in specs
        for entry in entries.get(spec.name, ())
    ]


def _known_as(listing: Listing, server: str, key: str) -> str:
    return f"{server}{SEPARATOR}{key}" if listing is PROMPTS else _address(server, key)


async def read(call: Call, uri: str) -> types.ReadResourceResult | None:
    """Return a resource by an address that was listed, or that a result named; None if it is no such."""
    server, address = call.client.memory.get(_LINKS, {}).get(uri), uri
    if uri.startswith(_ADDRESS):
        name, _, address = uri.removeprefix(_ADDRESS).partition("/")
        server = unquote(name)
    if server is None:
        return None
    result = await _asked(call, "resources", server, lambda session: session.read_resource(address))
    if result is None or address == uri:
        return result
    parts = [part.model_copy(update={"uri": _address(server, part.uri)}) for part in result.contents]
    return result.model_copy(update={"contents": parts})


async def prompt(call: Call, name: str, given: dict[str, str]) -> types.GetPromptResult | None:
    server, _, own_name = name.partition(SEPARATOR)
    return await _asked(call, "prompts", server, lambda session: session.get_prompt(own_name, given))


def _address(server: str, uri: str) -> str:
    return f"{_ADDRESS}{quote(server, safe='')}/{uri}"


async def _asked(
    call: Call, kind: str, server: str, question: Callable[[ClientSession], Awaitable[Result]]
) -> Result | None:
    specs, pool, client = await _reached(call, kind)
    spec = next((spec for spec in specs if spec.name == server), None)
    if spec is None:
        return None
    return await pool.ask(spec, question, client=client, timeout_s=_READ_S)


async def _reached(call: Call, kind: str) -> tuple[list[ServerSpec], ServerPool, PoolClient]:
    """Return the servers that have something, and how they are asked.

    A client that would have to send its request again is not asked for its folders.
    """
    from findspot.catalogue.server_pool import PoolClient

    try:
        folder, client = await _caller(call)
    except InputNeededError:
        folder, client = working_folder(), PoolClient(call.client.connection)
    engine, offering = await call.quick(
        lambda engine: (engine, engine.catalogue(folder).registry.offering(kind))
    )
    return offering, engine.servers, client
