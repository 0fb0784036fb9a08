"""`index.json`: a catalogue as a file, readable by other programs and by people.

version 1.0.0   as published; `updatedAt`, `totalTools`, `hasEmbeddings`, `servers` and each
                tool's `counts` and `fingerprint` are additions that others may leave out
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from findspot.catalogue.tool_record import SEPARATOR, CatalogueCorruptError, IndexedTool, ToolDefinition
from findspot.core.files import (
    LinkError,
    NotRegularError,
    TooLargeError,
    make_private_dir,
    parse_json,
    read_below,
    read_named,
    reason,
    translated_os_errors,
    write_atomic,
    write_below,
)

FORMAT_VERSION = "1.0.0"
INDEX_PATH = Path(".please", "mcp", "index.json")
"""Below a project's root, and below the user's home."""

MAX_INDEX_BYTES = 512 * 1024 * 1024

DECIMALS = {"fp32": 7, "fp16": 4, "q8": 3}
"""Number format → stored digits per number of an embedding."""

DEFAULT_DTYPE = "fp16"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is stored about a server: enough to know whether to ask it again, and no secrets."""

    fingerprint: str
    tools: int
    updated_at: str


@dataclass(frozen=True, slots=True)
class IndexFile:
    tools: tuple[IndexedTool, ...] = ()
    provider: str | None = None
    """The embedding provider, such as `local:static`; None without embeddings."""
    revision: str = ""
    dimensions: int = 0
    dtype: str = DEFAULT_DTYPE
    created_at: str = ""
    updated_at: str = ""
    servers: Mapping[str, ServerState] = field(default_factory=dict)

    @property
    def has_embeddings(self) -> bool:
        return self.provider is not None and any(tool.embedding is not None for tool in self.tools)


def write_index(path: Path, index: IndexFile) -> None:
    data = "".join(_lines(index)).encode("utf-8", "replace")
    if _is_users(path):
        make_private_dir(path.parent)
        write_atomic(path, data)
    else:  # a repository may have a link instead of the folder `.please`
        write_below(_base(path), INDEX_PATH, data)


def _base(path: Path) -> Path:
    """Return the folder that an index file belongs to."""
    return path.parents[len(INDEX_PATH.parts) - 1]


def project_of(path: Path) -> Path | None:
    """Return the project that an index file belongs to; None for the user's own."""
    return None if _is_users(path) else _base(path)


def _is_users(path: Path) -> bool:
    return _base(path) == Path.home()


def _lines(index: IndexFile) -> Iterator[str]:
    """Yield the head, then one line per tool, so that a change of one tool changes one line."""
    head = {
        "version": FORMAT_VERSION,
        "createdAt": index.created_at,
        "updatedAt": index.updated_at,
        "embeddingProvider": index.provider,
        "embeddingRevision": index.revision,
        "embeddingDimensions": index.dimensions,
        "embeddingDtype": index.dtype,
        "totalTools": len(index.tools),
        "hasEmbeddings": index.has_embeddings,
        "servers": {
            name: {"fingerprint": state.fingerprint, "tools": state.tools, "updatedAt": state.updated_at}
            for name, state in sorted(index.servers.items())
        },
    }
    yield json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}") + ',\n  "tools": ['
    for position, tool in enumerate(index.tools):
        yield (",\n    " if position else "\n    ") + _tool_line(tool)
    yield "\n  ]\n}\n" if index.tools else "]\n}\n"


def _tool_line(tool: IndexedTool) -> str:
    value = {
        "tool": definition_object(tool.tool),
        "searchableText": tool.searchable_text,
        "tokens": list(tool.tokens),
        "counts": list(tool.counts),
        "serverName": tool.server_name,
        "fingerprint": tool.fingerprint,
    }
    if tool.embedding is not None:
        value["embedding"] = list(tool.embedding)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def definition_object(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool as an MCP object; unknown fields are left out."""
    value = {"name": tool.name} | ({"title": tool.title} if tool.title else {})
    further = {
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "execution": tool.execution,
    }
    given = {key: dict(each) for key, each in further.items() if each is not None}
    return {**value, "description": tool.description, "inputSchema": dict(tool.input_schema), **given}


def read_bytes(path: Path) -> bytes | None:
    """Return the bytes of the file, or None if there is none; in a project no link is followed."""
    with translated_os_errors(path):
        try:
            if _is_users(path):
                return read_named(path, MAX_INDEX_BYTES)
            return read_below(_base(path), INDEX_PATH, MAX_INDEX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except TooLargeError:
            raise CatalogueCorruptError(str(path), f"it is larger than {MAX_INDEX_BYTES >> 20} MB") from None
        except (LinkError, NotRegularError) as error:
            raise CatalogueCorruptError(str(path), reason(error)) from error


def read_index(path: Path) -> IndexFile:
    """Return the content of the file; an empty index if there is none."""
    data = read_bytes(path)
    return IndexFile() if data is None else parse_index(path, data)


def parse_index(path: Path, data: bytes) -> IndexFile:
    """Return the content of a file; raise `CatalogueCorruptError` with the reason if it is unusable."""
    try:
        return _parsed(parse_json(data))
    except (ValueError, TypeError, OverflowError) as error:
        raise CatalogueCorruptError(str(path), str(error)) from error


def _parsed(value: Any) -> IndexFile:
    if not isinstance(value, dict) or not isinstance(value.get("tools"), list):
        raise ValueError("it is not an object with a list of 'tools'")
    version = str(value.get("version", FORMAT_VERSION))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise ValueError(f"its version {version[:20]} is not {FORMAT_VERSION}; a newer Findspot wrote it")
    provider, dimensions = value.get("embeddingProvider") or None, value.get("embeddingDimensions") or 0
    if not isinstance(provider, str | None) or not isinstance(dimensions, int):
        raise ValueError("its 'embeddingProvider' is not a text, or its 'embeddingDimensions' not a number")
    tools = tuple(_read_tool(position, tool, dimensions) for position, tool in enumerate(value["tools"]))
    return IndexFile(
        tools=tools,
        provider=provider,
        revision=str(value.get("embeddingRevision") or ""),
        dimensions=dimensions,
        dtype=str(value.get("embeddingDtype") or DEFAULT_DTYPE),
        created_at=str(value.get("createdAt") or ""),
        updated_at=str(value.get("updatedAt") or value.get("createdAt") or ""),
        servers=_read_servers(value.get("servers")),
    )


def _read_servers(value: Any) -> dict[str, ServerState]:
    """Return the state of each server; one that cannot be read is asked again."""
    listed = value.items() if isinstance(value, dict) else ()
    states: dict[str, ServerState] = {}
    for name, about in listed:
        if isinstance(about, dict):
            tools, updated = about.get("tools"), str(about.get("updatedAt", ""))
            count = tools if isinstance(tools, int) else 0
            states[name] = ServerState(str(about.get("fingerprint", "")), count, updated)
    return states


def _read_tool(position: int, value: Any, dimensions: int) -> IndexedTool:
    from findspot.catalogue.tool_fields import fields, searchable_text, token_counts  # needs numpy

    if not isinstance(value, dict) or not isinstance(value.get("tool"), dict):
        raise ValueError(f"tools[{position}] is not an object with a 'tool'")
    tool = read_definition(value["tool"], "", f"tools[{position}]")
    tool = replace(tool, server_name=str(value.get("serverName") or server_of(tool.name)))
    text = value.get("searchableText")
    text = text if isinstance(text, str) else searchable_text(fields(tool))
    tokens, counts = value.get("tokens"), value.get("counts")
    if not isinstance(tokens, list) or not isinstance(counts, list) or len(tokens) != len(counts):
        counted = token_counts(text)
        tokens, counts = list(counted), list(counted.values())
    embedding = value.get("embedding")
    if embedding is not None and (not isinstance(embedding, list) or len(embedding) != dimensions):
        raise ValueError(f"the embedding of tools[{position}] has not {dimensions} numbers")
    return IndexedTool(
        tool=tool,
        searchable_text=text,
        tokens=tuple(map(str, tokens)),
        counts=tuple(map(int, counts)),
        fingerprint=str(value.get("fingerprint") or ""),
        embedding=None if embedding is None else tuple(map(float, embedding)),
    )


def server_of(name: str) -> str:
    """Return the server in a tool's full name, as mcp-gateway writes it; empty for a name without one."""
    server, separator, own = name.partition(SEPARATOR)
    return server if separator and own else ""


def read_definition(value: Mapping[str, Any], server_name: str, where: str) -> ToolDefinition:
    """Return the tool of an MCP object; its name is already unique."""
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where} has no name")

    def given(key: str, kind: type) -> Any:
        return value[key] if isinstance(value.get(key), kind) else None

    return ToolDefinition(
        name=" ".join(name.split()),
        server_name=server_name,
        description=given("description", str) or "",
        title=given("title", str) or None,
        input_schema=given("inputSchema", dict) or {},
        output_schema=given("outputSchema", dict),
        annotations=given("annotations", dict),
        execution=given("execution", dict),
    )
