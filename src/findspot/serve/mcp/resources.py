"""Resources, prompts and the skill: files that answers link to, and what other servers have.

Those of other servers have names with the server's own. Only servers that the user agreed to are asked, and
only those that said that they have any.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from mcp import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.server_pool import PoolClient, ServerPool, all_pages
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import SEPARATOR
from findspot.core.errors import FindspotError, PathNotFoundError, ProjectNotDetectedError
from findspot.core.log import get_logger
from findspot.core.paths import SCHEME
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.mcp.client import Client, InputNeededError
from findspot.serve.mcp.sdk import Context
from findspot.serve.mcp.target import find_project, working_folder
from findspot.serve.mcp.tool import Tool, check_cursor, encodable
from findspot.serve.mcp.tool_call import Call
from findspot.serve.project_files import source_lines

Result = TypeVar("Result")

_log = get_logger("mcp")

_ADDRESS = "findspot://servers/"
_LIST_S, _READ_S = 10.0, 60.0
"""How long servers may take to list what they have, start included, and to read one of it."""


async def opened_catalogue(call: Call, *, asks: bool = True) -> tuple[Catalogue, ServerPool, PoolClient]:
    """Return the catalogue where the client works, and how its servers are called.

    Servers that are started for a connection end with it. With `asks` off, a client that would have to send
    its request again is not asked for its folders.
    """
    try:
        roots = await call.client.folders()
    except InputNeededError:
        if asks:
            raise
        roots = []
    folder = roots[0] if roots else working_folder()
    client = PoolClient(call.client.connection, roots=[root.as_uri() for root in roots])
    engine, catalogue = await call.quick(lambda engine: (engine, engine.catalogue(folder)))
    return catalogue, engine.servers, client


async def server_names(call: Call) -> list[str]:
    """Return the servers that can be called where the client was started; nothing is started."""
    try:
        folder = working_folder()
        return await call.quick(lambda engine: engine.catalogue(folder).registry.usable())
    except FindspotError as error:
        _log.warning("the instructions name no servers: %s", error.user_message)
        return []


def with_addresses(server: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's result with the resources that it links to under the addresses that read them here."""
    links = [
        part | {"uri": _address(server, part["uri"])} if part["type"] == "resource_link" else part
        for part in result["content"]
    ]
    return result | {"content": links}


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
    if not uri.startswith(_ADDRESS):
        return None
    name, _, address = uri.removeprefix(_ADDRESS).partition("/")
    server = unquote(name)
    result = await _asked(call, "resources", server, lambda session: session.read_resource(address))
    if result is None:
        return None
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
    """Return the servers that have something, and how they are asked."""
    catalogue, pool, client = await opened_catalogue(call, asks=False)
    return await call.quick(lambda _: catalogue.registry.offering(kind)), pool, client


Contents = types.TextResourceContents | types.BlobResourceContents

RESOURCE_NOT_FOUND = -32002
"""Up to 2025-11-25; later versions say that the parameters are invalid."""

_FILE = "file:///"
_PLAIN = "text/plain"
_LINES = re.compile(r"L([0-9]{1,9})(?:-L?([0-9]{1,9}))?")

_TEMPLATES = (
    types.ResourceTemplate(
        uri_template=_FILE + "{+path}",
        name="file",
        title="Indexed file",
        description="An indexed file by its full path, or with #L6-L8 some of its lines: what search "
        "answers link to",
        mime_type=_PLAIN,
    ),
    types.ResourceTemplate(
        uri_template=SCHEME + "{+path}",
        name="dependency",
        title="File of a dependency",
        description="A file of an installed package, or with #L6-L8 some of its lines",
        mime_type=_PLAIN,
    ),
)

SKILLS = "io.modelcontextprotocol/skills"
"""https://modelcontextprotocol.io/seps/2640-skills-extension"""
_SKILL = "skill://findspot-search/SKILL.md"
_SEARCH = "search_code"
"""Files and the skill are for those who are offered this tool."""


class _SkillParams(types.RequestParams):
    uri: str


class Offering:
    def __init__(
        self, make_call: Callable[[Client], Call], offered: Callable[[Context], Sequence[Tool]]
    ) -> None:
        self._make_call = make_call
        self._tools = offered

    def register(self, server: Server[Any]) -> None:
        paginated = types.PaginatedRequestParams
        server.add_request_handler("resources/list", paginated, self._resources)
        server.add_request_handler("resources/templates/list", paginated, self._templates)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, self._read)
        server.add_request_handler("prompts/list", paginated, self._prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._prompt)
        server.add_request_handler("skills/list", paginated, self._skills)
        server.add_request_handler("skills/get", _SkillParams, self._skill)
        server.extensions[SKILLS] = {}

    async def _resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await self._others(context, params, RESOURCES))

    async def _templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        own = _TEMPLATES if self._offers(context, _SEARCH) else ()
        others = await self._others(context, params, TEMPLATES)
        return types.ListResourceTemplatesResult(resource_templates=[*own, *others])

    async def _prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=await self._others(context, params, PROMPTS))

    async def _others(
        self, context: Context, params: types.PaginatedRequestParams, listing: Listing
    ) -> list[Any]:
        """Return what other servers list, to a client that may use them."""
        check_cursor(params)
        call = self._make_call(Client(context))
        return await listed(call, listing) if self._offers(context, "call_tool") else []

    def _offers(self, context: Context, name: str) -> bool:
        return any(tool.name == name for tool in self._tools(context))

    async def _read(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri == _SKILL and self._offers(context, _SEARCH):
            text = _text(uri, skill().decode(), "text/markdown")
            return types.ReadResourceResult(contents=[text])
        client = Client(context, params.input_responses, params.request_state)
        call = self._make_call(client)
        try:
            contents = await read_resource(call, uri)
        except InputNeededError as needed:
            return needed.result
        if contents is not None:
            return types.ReadResourceResult(contents=contents)
        if self._offers(context, "call_tool") and (passed_on := await read(call, uri)) is not None:
            return passed_on
        code = types.INVALID_PARAMS if client.modern else RESOURCE_NOT_FOUND
        raise MCPError(code, "Resource not found", {"uri": uri})

    async def _prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if self._offers(context, "call_tool"):
            call = self._make_call(Client(context))
            passed_on = await prompt(call, params.name, params.arguments or {})
            if passed_on is not None:
                return passed_on
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")

    async def _skills(self, context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params)
        return _cached(skills=[_skill_entry()] if self._offers(context, _SEARCH) else [])

    async def _skill(self, context: Context, params: _SkillParams) -> dict[str, Any]:
        if params.uri != _SKILL or not self._offers(context, _SEARCH):
            raise MCPError(types.INVALID_PARAMS, "Skill not found", {"uri": params.uri})
        return _cached(skill=_skill_entry())


def skill() -> bytes:
    """Return how to search well, for assistants without the plugin: the same file as there."""
    return files(__package__).joinpath("skills/findspot-search/SKILL.md").read_bytes()


def _skill_entry() -> dict[str, Any]:
    whole = skill()
    head = whole.decode().split("---\n")[1]
    file = {"uri": _SKILL, "digest": f"sha256:{hashlib.sha256(whole).hexdigest()}", "size": len(whole)}
    described = dict(line.split(": ", 1) for line in head.splitlines())
    return {"uri": _SKILL, "frontmatter": described, "resources": [file]}


def _cached(**found: Any) -> dict[str, Any]:
    return {**found, "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public"}


async def read_resource(call: Call, uri: str) -> list[Contents] | None:
    """Return the contents of an address, or None where nothing has it.

    A file is looked for in the index around it, one of a dependency in the call's project.
    """
    address, _, fragment = uri.partition("#")
    lines = _LINES.fullmatch(fragment)
    if (fragment and lines is None) or not uri.startswith((_FILE, SCHEME)):
        return None

    def file(engine: Engine) -> list[Contents]:
        path = os.path.normpath(url2pathname(urlsplit(address).path))
        root = engine.indexed_root(Path(path).parent)
        if root is None:
            raise PathNotFoundError(path)
        project = engine.project(root)
        return _source(project, uri, project.roots.relative(path), lines)

    try:
        if uri.startswith(_FILE):
            return await call.quick(file)
        project = (await find_project(call, None)).project
        return await call.quick(lambda _: _source(project, uri, unquote(address), lines))
    except ProjectNotDetectedError:
        raise
    except FindspotError:
        return None


def _text(uri: str, text: str, mime_type: str | None = None) -> Contents:
    return types.TextResourceContents(uri=uri, mime_type=mime_type or _PLAIN, text=encodable(text))


def _source(project: Project, uri: str, path: str, lines: re.Match[str] | None) -> list[Contents]:
    _, found = source_lines(project, path)
    shown = found[int(lines[1]) - 1 : int(lines[2] or lines[1])] if lines else found
    return [_text(uri, "\n".join(shown), guess_type(path)[0])]
