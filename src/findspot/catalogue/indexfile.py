"""`index.json`: a catalogue as a file that programs and people can read, and its tools as they are searched.

version 1.0.0   as published; `updatedAt`, `totalTools`, `hasEmbeddings`, `servers` and each
                tool's `fingerprint` are additions that others may leave out
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.tool_record import (
    SEPARATOR,
    CatalogueCorruptError,
    CatalogueNotFoundError,
    IndexedTool,
    ToolDefinition,
)
from findspot.core.errors import InvalidArgumentError
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
from findspot.embed.chunk_vectors import field_digest, unit
from findspot.embed.embedder import Embedder, EmbedMode, Vectors
from findspot.text.bm25 import Bm25
from findspot.text.tokens import STOP_WORDS, parts, stem

MAX_TEXT_CHARS = 20_000
"""Characters read per field of a tool: one long description must not outweigh all other tools."""

_MAX_DEPTH = 6
"""Schemas may refer to themselves; parameters nested deeper say little about a tool."""

_BLANKS = re.compile(r"\s+")


class Fields(NamedTuple):
    """The words of a tool by field."""

    name: str
    title: str
    description: str
    parameters: str
    details: str
    """The descriptions of the parameters, the values they take and their examples."""


def fields(tool: ToolDefinition) -> Fields:
    parameters = list(_parameters(tool.input_schema))
    names = dict.fromkeys(name for name, _ in parameters)
    return Fields(
        tool.own_name[:MAX_TEXT_CHARS],
        (tool.title or "")[:MAX_TEXT_CHARS],
        tool.description[:MAX_TEXT_CHARS],
        " ".join(names)[:MAX_TEXT_CHARS],
        " ".join(filter(None, (detail for _, detail in parameters)))[:MAX_TEXT_CHARS],
    )


def searchable_text(read: Fields) -> str:
    """Return everything that is searched as one line, so that a pattern may span fields."""
    joined = " ".join(filter(None, read))
    return _BLANKS.sub(" ", joined)[:MAX_TEXT_CHARS].strip()


def token_counts(text: str) -> Counter[str]:
    """Count the words of a text, lower-cased and without stop words, in their order."""
    return Counter(word for word in parts(text) if word not in STOP_WORDS)


def keyword_counts(text: str, server_name: str) -> dict[str, float]:
    """Count the stems of a tool's words, and of its server's name."""
    known: dict[str, float] = {}
    stems = [(stem(token), count) for token, count in token_counts(text).items()]
    for term, count in (*stems, *((term, 1) for term in query_terms(server_name))):
        known[term] = known.get(term, 0) + count
    return known


def query_terms(query: str) -> list[str]:
    return [stem(token) for token in token_counts(query[:MAX_TEXT_CHARS])]


def _parameters(schema: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each parameter with its description and its values; nested ones follow their parent."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    for name, about in _properties(schema).items():
        yield str(name), _detail(about)
        if isinstance(about, Mapping):
            yield from _parameters(about if "properties" in about else None, depth + 1)
            yield from _parameters(about.get("items"), depth + 1)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a schema; some lists of tools have the parameters without a schema."""
    declared = schema.get("properties")
    if isinstance(declared, Mapping):
        return declared
    flat = bool(schema) and all(isinstance(about, Mapping) and "type" in about for about in schema.values())
    return schema if flat else {}


def _detail(about: Any) -> str:
    if not isinstance(about, Mapping):
        return ""
    texts = [about["description"]] if isinstance(about.get("description"), str) else []
    for values in (about.get("enum"), about.get("examples")):
        if isinstance(values, list):
            texts += [str(value) for value in values if isinstance(value, str | int | float)]
    return " ".join(texts)


NAME_WEIGHT = 0.5
"""A name is a summary in two words: half a description, since names are also short for other things.
Without it, mean NDCG@10 over the six tool sets falls from 0.736 to 0.730."""

SERVER_WEIGHT = 0.8
"""`excel` or `wikipedia` says what all tools of a server are about, often better than any of them.
Without it 0.722, and 0.623 instead of 0.681 where real servers are asked for single steps."""

PARAMETERS_WEIGHT = 0.2
DETAILS_WEIGHT = 0.3
"""What goes into a tool hints at what it does; more would let common parameters (`path`, `limit`) speak.
Meaning alone: 0.669 without the names, 0.664 without the descriptions, 0.673 with both."""

POOLING_REVISION = "tool-fields-2"
"""Part of every fingerprint: raise it when anything here changes a vector."""


def embed_tools(embedder: Embedder, servers: Sequence[str], read: Sequence[Fields]) -> Vectors:
    """Return one unit row per tool.

    Pooling the fields as units moved mean NDCG@10 over six sets from 0.619 to 0.673.
    """
    row_of = {name: row for row, name in enumerate(dict.fromkeys(servers))}
    rows = np.fromiter((row_of[name] for name in servers), dtype=np.intp, count=len(servers))

    def embedded(texts: Sequence[str]) -> Vectors:
        return embedder.embed(texts, EmbedMode.PASSAGE)

    pooled = embedded([field.description for field in read])
    pooled = pooled + NAME_WEIGHT * embedded([f"{field.name} {field.title}" for field in read])
    pooled += SERVER_WEIGHT * embedded(list(row_of))[rows]
    pooled += PARAMETERS_WEIGHT * embedded([field.parameters for field in read])
    pooled += DETAILS_WEIGHT * embedded([field.details for field in read])
    return unit(pooled)


def fingerprint(model: str, server: str, read: Fields) -> str:
    """Equal fingerprints mean equal vectors: the model and everything of the tool that is embedded."""
    return field_digest((model, POOLING_REVISION, server, *read)).hex()[:32]


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
    value: dict[str, Any] = {
        "tool": definition_object(tool.tool),
        "searchableText": tool.searchable_text,
        "tokens": list(token_counts(tool.searchable_text)),
        "serverName": tool.tool.server_name,
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
    if not isinstance(value, dict) or not isinstance(value.get("tool"), dict):
        raise ValueError(f"tools[{position}] is not an object with a 'tool'")
    tool = read_definition(value["tool"], "", f"tools[{position}]")
    tool = replace(tool, server_name=str(value.get("serverName") or server_of(tool.name)))
    text = value.get("searchableText")
    text = text if isinstance(text, str) else searchable_text(fields(tool))
    embedding = value.get("embedding")
    if embedding is not None and (not isinstance(embedding, list) or len(embedding) != dimensions):
        raise ValueError(f"the embedding of tools[{position}] has not {dimensions} numbers")
    return IndexedTool(
        tool=tool,
        searchable_text=text,
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


class ToolSet:
    """Tools that can be searched; rows are in the order in which the files list them."""

    def __init__(self, tools: Sequence[IndexedTool], about: IndexFile, warnings: Sequence[str] = ()) -> None:
        """Take tools, the index file whose model their vectors are of, and warnings about the files."""
        self.about = about
        self.warnings = warnings
        self.names = [tool.tool.name for tool in tools]
        self.servers = [tool.tool.server_name for tool in tools]
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.by_name = np.array(sorted(range(len(tools)), key=self.names.__getitem__), dtype=np.int64)
        lines = [*self.names, *(" ".join(tool.searchable_text.split()) for tool in tools)]
        self.texts = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        """One line per tool name, then one line per tool text."""
        self.vectors = _matrix(tools, about.dimensions) if about.provider is not None else None
        """One unit row per tool; of zeros if a tool has no vector."""
        self._tools = tools
        self._enabled: NDArray[np.bool_] | None = None
        """Which rows a search may give; None if all."""

    def hide(self, disabled: Collection[str]) -> None:
        shown = [
            name not in disabled and server not in disabled
            for name, server in zip(self.names, self.servers, strict=True)
        ]
        self._enabled = None if all(shown) else np.array(shown, dtype=np.bool_)

    @property
    def offered_servers(self) -> tuple[str, ...]:
        """The servers that have a tool which a search may give."""
        rows = self.allowed(None)
        return tuple(sorted({server for server, is_on in zip(self.servers, rows, strict=True) if is_on}))

    @cached_property
    def keywords(self) -> Bm25:
        texts = (tool.searchable_text for tool in self._tools)
        return Bm25.build(map(keyword_counts, texts, self.servers))

    @cached_property
    def name_order(self) -> NDArray[np.int64]:
        return np.argsort(self.by_name)

    def __len__(self) -> int:
        return len(self.names)

    def definition(self, row: int) -> ToolDefinition:
        return self._tools[row].tool

    def allowed(self, server: str | None) -> NDArray[np.bool_]:
        if server is None:
            mask = np.ones(len(self), dtype=np.bool_)
        elif server in self.servers:
            mask = np.fromiter((name == server for name in self.servers), dtype=np.bool_, count=len(self))
        else:
            known = ", ".join(sorted(set(self.servers))[:20])
            raise InvalidArgumentError(
                f"There is no server '{server}' in the catalogue.", hint=f"Known servers: {known}."
            )
        return mask if self._enabled is None else mask & self._enabled


def _matrix(tools: Sequence[IndexedTool], dimensions: int) -> Vectors:
    rows = np.zeros((len(tools), dimensions), dtype=np.float32)
    for row, tool in enumerate(tools):
        if tool.embedding is not None:
            rows[row] = tool.embedding
    return unit(rows)


def open_toolset(paths: Sequence[Path], own: Collection[str] = ()) -> ToolSet:
    """Read the tools of the index files that exist; of tools of the same name, the first counts.

    What the last file, the user's, says about the servers in `own` counts, not what the others say. A file
    that cannot be read is named in a warning; an error if that leaves none.
    """
    files: list[tuple[Path, IndexFile]] = []
    broken: list[CatalogueCorruptError] = []
    for path in paths:
        try:
            data = read_bytes(path)
            if data is not None:
                files.append((path, parse_index(path, data)))
        except CatalogueCorruptError as error:
            broken.append(error)
    if not files:
        raise broken[0] if broken else CatalogueNotFoundError(" or ".join(map(str, paths)))
    warnings = [error.user_message for error in broken]
    chosen = next((index for _, index in files if index.has_embeddings), IndexFile())
    tools: dict[str, IndexedTool] = {}
    for path, index in files:
        apart = index.has_embeddings and _model(index) != _model(chosen)
        if apart:  # vectors of different models cannot be compared
            warnings.append(f"{path} was made with another model; its tools are found by words only.")
        for tool in index.tools:
            if path != paths[-1] and not {tool.tool.server_name, server_of(tool.tool.name)}.isdisjoint(own):
                continue
            tools.setdefault(tool.tool.name, replace(tool, embedding=None) if apart else tool)
    updated = max(index.updated_at for _, index in files)
    return ToolSet(list(tools.values()), replace(chosen, updated_at=updated), warnings)


def _model(index: IndexFile) -> tuple[str | None, str, int]:
    return index.provider, index.revision, index.dimensions
