"""Resources, prompts and completions: what is offered apart from tools, and Findspot's own resources."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from findspot.core.errors import FindspotError, PathNotFoundError, ProjectNotDetectedError
from findspot.core.paths import SCHEME
from findspot.search.definitions import joined
from findspot.serve.mcp import other_servers
from findspot.serve.mcp.client import Client, InputNeededError
from findspot.serve.mcp.sdk import Context
from findspot.serve.mcp.target import detected_project, find_project
from findspot.serve.mcp.tool import Media
from findspot.serve.mcp.tool_call import Call
from findspot.serve.mcp.tool_results import encodable, wire_media
from findspot.serve.project_files import source_lines
from findspot.serve.shapes import status_object

if TYPE_CHECKING:
    from findspot.engine import Engine
    from findspot.project import Project
    from findspot.store.records import StoredChunk

MakeCall = Callable[[Client], Call]

OfferedTools = Callable[[Context], frozenset[str]]

RESOURCE_NOT_FOUND = -32002
"""Up to 2025-11-25; later versions say that the parameters are invalid."""

MOST_COMPLETIONS = 100
"""What the protocol allows in one answer."""


_STATUS, _OUTLINE, _CHUNK, _FILE = "findspot://status", "findspot://outline/", "findspot://chunk/", "file:///"
_RESULT = "findspot://results/"

_LINE = re.compile(r"[0-9]{1,9}")

_LINES = re.compile(r"L([0-9]{1,9})(?:-L?([0-9]{1,9}))?")

_COMPLETED = frozenset({_OUTLINE + "{+path}", _CHUNK + "{line}/{+path}", "explore_codebase"})
"""Templates and prompts whose argument `path` is a path of the project."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, or with `{…}` in its address a family of them."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    tool: str | None = None
    """Offered only with this tool."""

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


@dataclass(frozen=True, slots=True)
class Contents:
    """What a resource holds: a text, or bytes in base64."""

    mime_type: str
    text: str | None = None
    blob: str | None = None
    note: str | None = None
    """What follows as a text of its own, such as where the next page is."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Contents that travel with a message."""

    uri: str
    contents: Contents


Message = str | Media | Embedded
"""What the user is made to say."""


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question worth asking, ready to be filled in."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[dict[str, str]], list[Message]]
    tools: frozenset[str] = frozenset()
    """What it tells the assistant to use; offered only with all of them."""


async def nothing(_call: Call, _uri: str) -> Contents | None:
    """Return None: no resource has that address."""
    return None


async def no_completions(_call: Call, _about: str, _argument: str, _value: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Offers:
    """Everything a server offers except its tools."""

    resources: tuple[Resource, ...] = ()
    read: Callable[[Call, str], Awaitable[Contents | None]] = nothing
    prompts: tuple[Prompt, ...] = ()
    complete: Callable[[Call, str, str, str], Awaitable[list[str]]] = no_completions
    """Every value that fits, for a known template or prompt; the wire takes the first of them."""


class Offering:
    """Answers the requests about resources, prompts and completions."""

    def __init__(self, offers: Offers, make_call: MakeCall, offered: OfferedTools) -> None:
        self._offers = offers
        self._make_call = make_call
        self._offered = offered

    def register(self, server: Server[Any]) -> None:
        paginated = types.PaginatedRequestParams
        server.add_request_handler("resources/list", paginated, self._resources)
        server.add_request_handler("resources/templates/list", paginated, self._templates)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, self._read)
        server.add_request_handler("prompts/list", paginated, self._prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._prompt)
        server.add_request_handler("completion/complete", types.CompleteRequestParams, self._complete)

    async def _resources(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourcesResult:
        check_cursor(params)
        listed = [resource for resource in self._listed(context) if not resource.is_template]
        own = [types.Resource(uri=resource.uri, **_about(resource)) for resource in listed]
        others = await other_servers.resources(self._call(context)) if self._calls_others(context) else []
        return types.ListResourcesResult(resources=[*own, *others])

    async def _templates(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        check_cursor(params)
        listed = [resource for resource in self._listed(context) if resource.is_template]
        own = [types.ResourceTemplate(uri_template=resource.uri, **_about(resource)) for resource in listed]
        others = await other_servers.templates(self._call(context)) if self._calls_others(context) else []
        return types.ListResourceTemplatesResult(resource_templates=[*own, *others])

    def _call(self, context: Context) -> Call:
        return self._make_call(Client(context))

    def _calls_others(self, context: Context) -> bool:
        """Return whether a client may use other servers."""
        return "call_tool" in self._offered(context)

    def _listed(self, context: Context) -> list[Resource]:
        """Return the resources whose tool the client is offered."""
        tools = self._offered(context)
        return [resource for resource in self._offers.resources if resource.tool in (None, *tools)]

    async def _read(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        client = Client(context, params.input_responses, params.request_state)
        call = self._make_call(client)
        try:
            contents = await self._offers.read(call, uri)
        except InputNeededError as needed:
            return needed.result
        if contents is None and self._calls_others(context):
            passed_on = await other_servers.read(call, uri)
            if passed_on is not None:
                return passed_on
        if contents is None:
            code = types.INVALID_PARAMS if client.modern else RESOURCE_NOT_FOUND
            raise MCPError(code, "Resource not found", {"uri": uri})
        note = [Contents("text/plain", contents.note)] if contents.note else []
        return types.ReadResourceResult(contents=[_contents(uri, part) for part in (contents, *note)])

    async def _prompts(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> types.ListPromptsResult:
        check_cursor(params)
        own = [_wire_prompt(prompt) for prompt in self._usable(context)]
        others = await other_servers.prompts(self._call(context)) if self._calls_others(context) else []
        return types.ListPromptsResult(prompts=[*own, *others])

    def _usable(self, context: Context) -> list[Prompt]:
        """Return the prompts whose tools the client is offered."""
        tools = self._offered(context)
        return [prompt for prompt in self._offers.prompts if tools.issuperset(prompt.tools)]

    async def _prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = next((prompt for prompt in self._usable(context) if prompt.name == params.name), None)
        if prompt is None and self._calls_others(context):
            call = self._call(context)
            passed_on = await other_servers.prompt(call, params.name, params.arguments or {})
            if passed_on is not None:
                return passed_on
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        given = params.arguments or {}
        for argument in prompt.arguments:
            if argument.required and not given.get(argument.name, "").strip():
                raise MCPError(types.INVALID_PARAMS, f"Missing required argument: {argument.name}")
        return types.GetPromptResult(
            description=prompt.description,
            messages=[
                types.PromptMessage(role="user", content=_block(message)) for message in prompt.render(given)
            ],
        )

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        about, asked = self._known(context, params.ref), params.argument
        call = self._make_call(Client(context))
        try:
            values = await self._offers.complete(call, about, asked.name, asked.value)
        except InputNeededError:  # completing must not ask
            values = []
        shown = [encodable(value) for value in values[:MOST_COMPLETIONS]]
        more = len(values) > len(shown)
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(values), has_more=more)
        )

    def _known(
        self, context: Context, reference: types.ResourceTemplateReference | types.PromptReference
    ) -> str:
        """Return the address or name that is completed, if it is one of ours."""
        if isinstance(reference, types.ResourceTemplateReference):
            if reference.uri not in (resource.uri for resource in self._offers.resources):
                raise MCPError(types.INVALID_PARAMS, f"Unknown resource template: {reference.uri}")
            return reference.uri
        if reference.name not in (prompt.name for prompt in self._usable(context)):
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {reference.name}")
        return reference.name


def check_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Refuse every cursor: these lists have one page, so none was ever given."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor")


def _about(resource: Resource) -> dict[str, Any]:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": resource.mime_type,
    }


def _wire_prompt(prompt: Prompt) -> types.Prompt:
    return types.Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            types.PromptArgument(name=a.name, description=a.description, required=a.required)
            for a in prompt.arguments
        ],
    )


def _contents(uri: str, contents: Contents) -> types.TextResourceContents | types.BlobResourceContents:
    if contents.blob is not None:
        return types.BlobResourceContents(uri=uri, mime_type=contents.mime_type, blob=contents.blob)
    text = encodable(contents.text or "")
    return types.TextResourceContents(uri=uri, mime_type=contents.mime_type, text=text)


def _block(message: Message) -> types.ContentBlock:
    if isinstance(message, Media):
        return wire_media(message)
    if isinstance(message, Embedded):
        return types.EmbeddedResource(resource=_contents(message.uri, message.contents))
    return types.TextContent(text=message)


RESOURCES = (
    Resource(
        _STATUS,
        "status",
        "Index status",
        "The state of this project's index",
        "application/json",
        "get_index_status",
    ),
    Resource(
        _OUTLINE + "{+path}",
        "outline",
        "Outline of a file",
        "What an indexed file defines, with line numbers",
        "text/plain",
        "search_code",
    ),
    Resource(
        _CHUNK + "{line}/{+path}",
        "chunk",
        "Chunk at a line",
        "The chunk of an indexed file that contains a line",
        "text/plain",
        "search_code",
    ),
    Resource(
        _FILE + "{+path}",
        "file",
        "Indexed file",
        "An indexed file by its full path, or with #L6-L8 some of its lines: what search answers link to",
        "text/plain",
        "search_code",
    ),
    Resource(
        SCHEME + "{+path}",
        "dependency",
        "File of a dependency",
        "A file of an installed package, or with #L6-L8 some of its lines",
        "text/plain",
        "search_code",
    ),
    Resource(
        _RESULT + "{id}/{page}",
        "result",
        "Result of a call",
        "A page of a result that call_tool shortened",
        "text/plain",
        "call_tool",
    ),
)


async def read_resource(call: Call, uri: str) -> Contents | None:
    """Return the contents of an address, or None where nothing has it; only a known address asks for
    roots.
    """
    try:
        if uri.startswith(_RESULT):
            return _result(call, uri)
        if uri == _STATUS:
            return await _status(call)
        if uri.startswith(_OUTLINE):
            path = unquote(uri.removeprefix(_OUTLINE))
            project = (await find_project(call, None)).project
            return await call.quick(lambda _: _outline(project, path))
        if uri.startswith(_CHUNK):
            line, _, path = unquote(uri.removeprefix(_CHUNK)).partition("/")
            if not _LINE.fullmatch(line):
                return None
            project = (await find_project(call, None)).project
            return await call.quick(lambda _: _chunk(project, path, int(line)))
        if uri.startswith(_FILE):
            return await _file(call, uri)
        if uri.startswith(SCHEME):
            return await _package_file(call, uri)
    except ProjectNotDetectedError:
        raise
    except FindspotError:
        return None
    return None


def _result(call: Call, uri: str) -> Contents | None:
    page = call.library.results.read(uri, call.client.owner)
    if page is None:
        return None
    return Contents(page.mime_type, page.text, page.blob, page.note if page.pages > 1 else None)


async def complete_path(call: Call, about: str, argument: str, value: str) -> list[str]:
    """Return the indexed paths that begin with what was typed, then those that contain it."""
    if argument != "path" or about not in _COMPLETED:
        return []
    try:
        project = (await find_project(call, None)).project
        paths, _ = await call.quick(lambda _: project.files())
    except FindspotError:
        return []
    typed = value.lower()
    matching = [path for path in paths if typed in path.lower()]
    return sorted(matching, key=lambda path: not path.lower().startswith(typed))


async def _status(call: Call) -> Contents:
    """Return the status of the index; a client that would have to call again is not asked for its roots."""
    target = await (detected_project(call) if call.client.modern else find_project(call, None))
    status = await call.quick(lambda _: target.project.status())
    return Contents("application/json", json.dumps(status_object(status), ensure_ascii=False))


def _outline(project: Project, path: str) -> Contents | None:
    with project.store.snapshot() as snapshot:
        chunks = snapshot.chunks.of_file(path)
    pieces = sorted(chunks, key=lambda chunk: (chunk.start_line, chunk.end_line))
    lines = [_piece(chunk) for chunk in pieces if chunk.kind != "outline"]
    return Contents("text/plain", "\n".join(lines)) if lines else None


def _piece(chunk: StoredChunk) -> str:
    defined = ", ".join(chunk.symbols) or chunk.signature or chunk.breadcrumb or ""
    return f"{chunk.start_line}-{chunk.end_line}  {chunk.kind}  {defined}".rstrip()


def _chunk(project: Project, path: str, line: int) -> Contents | None:
    with project.store.snapshot() as snapshot:
        around = [c for c in snapshot.chunks.of_file(path) if c.start_line <= line <= c.end_line]
    if not around:
        return None
    nearest = min(around, key=lambda c: c.end_line - c.start_line)
    pieces = [c for c in around if c.end_line == nearest.end_line and c.kind != "outline"]
    return Contents("text/plain", joined(pieces or [nearest]))


async def _file(call: Call, uri: str) -> Contents | None:
    """Return a file of an index on this machine: of the one around it, else of the call's project."""
    parts = urlsplit(uri)
    path = Path(os.path.normpath(url2pathname(parts.path)))
    lines = _LINES.fullmatch(parts.fragment)
    if not path.is_absolute() or (parts.fragment and lines is None):
        return None
    span = (int(lines[1]), int(lines[2] or lines[1])) if lines else None
    try:
        return await call.quick(lambda engine: _lines(_around(engine, path), path, span))
    except (PathNotFoundError, ProjectNotDetectedError):  # it may lie in a root outside the project's folder
        project = (await find_project(call, None)).project
        return await call.quick(lambda _: _lines(project, path, span))


async def _package_file(call: Call, uri: str) -> Contents | None:
    """Return a file of an installed package, or some of its lines."""
    path, _, fragment = unquote(uri).partition("#")
    lines = _LINES.fullmatch(fragment)
    if fragment and lines is None:
        return None
    project = (await find_project(call, None)).project
    _, found = await call.quick(lambda _: source_lines(project, path))
    shown = found[int(lines[1]) - 1 : int(lines[2] or lines[1])] if lines else found
    return Contents(guess_type(path)[0] or "text/plain", "\n".join(shown))


def _around(engine: Engine, path: Path) -> Project:
    root = engine.indexed_root(path.parent)
    if root is None:
        raise PathNotFoundError(str(path))
    return engine.project(root)


def _lines(project: Project, path: Path, span: tuple[int, int] | None) -> Contents:
    spelled = project.roots.spelled(path)
    if spelled is None:
        raise PathNotFoundError(str(path))
    _, lines = source_lines(project, project.roots.relative(str(path)))
    shown = lines[span[0] - 1 : span[1]] if span else lines
    return Contents(guess_type(path.name)[0] or "text/plain", "\n".join(shown))
