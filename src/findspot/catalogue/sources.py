"""Where tools come from: clients' configurations, which name servers, and JSON files of tools."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from findspot.catalogue.indexfile import read_definition
from findspot.catalogue.model import SEPARATOR, ToolDefinition
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.files import content_hash

MAX_SOURCE_BYTES = 256 * 1024 * 1024

CLIENT_FILES = (".please/mcp.json", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")
"""Where clients keep the servers of a project."""

_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


class MissingVariableError(Exception):
    """An environment variable that a server's entry needs and nobody has set."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server of a client's configuration, its variables not yet expanded."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    """Of the configuration, from which relative paths are meant."""

    @property
    def fingerprint(self) -> str:
        """Changes with what is started or called; values of variables and headers are not part of it."""
        programs = [_state_of(self.folder / part) for part in (self.command, *self.args) if part]
        said = [self.command, self.args, sorted(self.env), self.cwd, self.url, sorted(self.headers), programs]
        return content_hash(json.dumps(said).encode())[:32]

    def expanded(self, environ: Mapping[str, str] = os.environ) -> ServerSpec:
        """With the values of variables; `MissingVariableError` names one that is not set."""

        def value(text: str) -> str:
            return _expand(text, environ)

        return ServerSpec(
            name=self.name,
            command=self.command and value(self.command),
            args=tuple(map(value, self.args)),
            env={name: value(text) for name, text in self.env.items()},
            cwd=self.cwd and value(self.cwd),
            url=self.url and value(self.url),
            headers={name: value(text) for name, text in self.headers.items()},
            folder=self.folder,
        )


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that a JSON file lists, by server, with the fingerprint of the file."""

    server_name: str
    fingerprint: str
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that a catalogue is to be made from."""

    servers: tuple[ServerSpec, ...] = ()
    lists: tuple[ToolList, ...] = ()
    notes: tuple[str, ...] = ()

    def without(self, patterns: Sequence[str]) -> Sources:
        """Less the servers that match a pattern; single tools are left out later."""
        return Sources(
            tuple(spec for spec in self.servers if not matches(spec.name, patterns)),
            tuple(listed for listed in self.lists if not matches(listed.server_name, patterns)),
            self.notes,
        )


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_sources(paths: Sequence[Path]) -> Sources:
    """The files together; a server that a later file names again is taken from the first."""
    servers: dict[str, ServerSpec] = {}
    lists: dict[str, ToolList] = {}
    notes: list[str] = []
    for path in paths:
        value, fingerprint = _read(path)
        named = _server_entries(value)
        if named is not None:
            for name, entry in named.items():
                spec = _spec(path, name, entry, notes)
                if spec is not None:
                    servers.setdefault(name, spec)
        else:
            for listed in _tool_lists(path, value, fingerprint):
                lists.setdefault(listed.server_name, listed)
    return Sources(tuple(servers.values()), tuple(lists.values()), tuple(notes))


def _read(path: Path) -> tuple[Any, str]:
    try:
        with path.open("rb") as source:
            data = source.read(MAX_SOURCE_BYTES + 1)
    except IsADirectoryError:
        raise InvalidArgumentError(f"{path} is a folder, not a JSON file.") from None
    except OSError as error:
        raise InvalidArgumentError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_SOURCE_BYTES:
        raise InvalidArgumentError(f"{path} is larger than {MAX_SOURCE_BYTES >> 20} MB.")
    try:
        return json.loads(data), content_hash(data)[:32]
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{path} is not valid JSON: {error}.") from error


def _server_entries(value: Any) -> dict[str, Any] | None:
    """`mcpServers` as most clients spell it, `servers` as VS Code does."""
    if not isinstance(value, dict) or "tools" in value:
        return None
    found = next((value[key] for key in ("mcpServers", "servers") if isinstance(value.get(key), dict)), None)
    return found if found is not None else ({} if "mcpServers" in value else None)


def _spec(path: Path, name: str, entry: Any, notes: list[str]) -> ServerSpec | None:
    if not isinstance(entry, dict) or not (entry.get("command") or entry.get("url") or entry.get("httpUrl")):
        notes.append(f"{path}: server '{name}' has neither a command nor a url")
        return None
    if entry.get("disabled") is True:
        notes.append(f"{path}: server '{name}' is disabled")
        return None
    url = entry.get("url") or entry.get("httpUrl")
    return ServerSpec(
        name=name,
        command=None if url else str(entry["command"]),
        args=tuple(map(str, entry.get("args") or ())),
        env={str(key): str(text) for key, text in (entry.get("env") or {}).items()},
        cwd=str(entry["cwd"]) if entry.get("cwd") else None,
        url=str(url) if url else None,
        headers={str(key): str(text) for key, text in (entry.get("headers") or {}).items()},
        folder=path.parent,
    )


def _tool_lists(path: Path, value: Any, fingerprint: str) -> list[ToolList]:
    """The tools of a file, by server: an array, a `tools/list` result, or an `index.json`."""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    listed = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise InvalidArgumentError(
            f"{path} is neither a client's configuration nor a list of tools.",
            hint="It should hold mcpServers, a tools array, or an array of tools.",
        )
    by_server: dict[str, list[ToolDefinition]] = {}
    for place, item in enumerate(listed):
        tool = _listed_tool(item, path.stem, f"tools[{place}]", path)
        by_server.setdefault(tool.server_name, []).append(tool)
    return [ToolList(name, fingerprint, tuple(tools)) for name, tools in by_server.items()]


def _listed_tool(item: Any, default_server: str, where: str, path: Path) -> ToolDefinition:
    if not isinstance(item, dict):
        raise InvalidArgumentError(f"{path}: {where} is not an object.")
    inner = next((item[key] for key in ("tool", "function") if isinstance(item.get(key), dict)), item)
    server = next((item[key] for key in ("serverName", "server") if isinstance(item.get(key), str)), None)
    schema = next((inner[k] for k in ("inputSchema", "input_schema", "parameters") if k in inner), None)
    try:
        tool = read_definition(inner | {"inputSchema": schema}, "", where)
    except ValueError as error:
        raise InvalidArgumentError(f"{path}: {error}.") from error
    return named_tool(tool, default_server if server is None else server)


def named_tool(tool: ToolDefinition, server: str) -> ToolDefinition:
    """A tool under its server's name; a name that begins with it already is left as it is."""
    prefix = server + SEPARATOR if server else ""
    return replace(tool, name=prefix + tool.name.removeprefix(prefix), server_name=server)


def client_files(root: Path | None) -> list[Path]:
    """The configurations of clients that a project holds."""
    if root is None:
        return []
    return [root / name for name in CLIENT_FILES if (root / name).is_file()]


def existing(paths: Iterable[str]) -> list[Path]:
    """The files that were named, absolute; a missing one is an error."""
    found = [Path(path).expanduser().absolute() for path in paths]
    for path in found:
        if not path.exists():
            raise _no_file(path)
    return found


def _no_file(path: Path) -> PathNotFoundError:
    error = PathNotFoundError(str(path))
    error.user_message = f"File does not exist: {path}"
    error.args = (error.user_message,)
    return error


def _expand(text: str, environ: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name, default = found["name"], found["default"]
        if name in environ:
            return environ[name]
        if default is not None:
            return default
        raise MissingVariableError(f"the environment variable {name} is not set")

    return _VARIABLE.sub(value, text)


def _state_of(path: Path) -> list[int]:
    """Size and time of a program's file: a server that was changed is asked again."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return []
    return [state.st_size, state.st_mtime_ns] if path.is_file() else []
