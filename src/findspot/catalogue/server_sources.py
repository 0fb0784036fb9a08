"""The sources of a catalogue: clients' configurations, which name servers, and JSON files of tools."""

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
from findspot.catalogue.tool_record import SEPARATOR, ToolDefinition
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.files import ContentError, content_hash, open_below, parse_json, read_named, reason
from findspot.core.folder import NotRegularError, TooLargeError

MAX_SOURCE_BYTES = 256 * 1024 * 1024

START_TIMEOUT_S = 30.0
"""For a server to start and list its tools; some download themselves first."""

CLIENT_FILES = (".please/mcp.json", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")
"""Where clients keep the servers of a project."""

OAUTH_KEYS = ("clientId", "clientSecret", "scopes", "authorizationServer", "callbackPort")
"""What an entry can say about logins."""

_CLIENT_FOLDERS = frozenset(Path(name).parent.name for name in CLIENT_FILES) - {""}

_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


class MissingVariableError(Exception):
    """An environment variable that a server needs is not set."""


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
    sse: bool = False
    """Whether a remote server is reached by SSE, the older transport."""
    oauth: Mapping[str, str] = field(default_factory=dict)
    """What a login needs beyond what the server states itself; the keys are those of `OAUTH_KEYS`."""
    source: Path = Path()
    """The configuration that names it."""

    @property
    def base(self) -> Path:
        """The folder that relative paths start from: the configuration's, or the one above a client's own."""
        folder = self.source.parent
        return folder.parent if folder.name in _CLIENT_FOLDERS else folder

    @property
    def working_folder(self) -> Path:
        """Where the server is started."""
        return self.base / self.cwd if self.cwd else self.base

    @property
    def fingerprint(self) -> str:
        """A hash of what is started or called, without the values of variables and headers."""
        parts = [self.command, self.args, sorted(self.env), self.cwd, self.url, sorted(self.headers)]
        return content_hash(json.dumps([*parts, self._programs(), *self._remote()]).encode())[:32]

    @property
    def launch(self) -> str:
        """Everything that decides what is started or called, with values: never stored in clear."""
        env, headers = sorted(self.env.items()), sorted(self.headers.items())
        parts = [self.command, self.args, str(self.working_folder), env, self.url, headers]
        return json.dumps([*parts, *self._remote(), *([sorted(self.oauth.items())] if self.oauth else [])])

    @property
    def changes_unseen(self) -> bool:
        """Whether the server may change without a change of a local file: `npx`, an address."""
        return not any(self._programs())

    def _remote(self) -> list[str]:
        """Return what hashes of entries contain only where it is set, so that earlier hashes stay valid."""
        return ["sse"] if self.sse else []

    def _programs(self) -> list[list[int]]:
        return [_state_of(self.base / part) for part in (self.command, *self.args) if part]

    def expanded(self, environ: Mapping[str, str] = os.environ) -> ServerSpec:
        """Return the server with variables expanded; raise `MissingVariableError` for one that is not set."""

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
            sse=self.sse,
            oauth={name: value(text) for name, text in self.oauth.items()},
            source=self.source,
        )


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that a JSON file lists, by server, with the fingerprint of the file."""

    server_name: str
    fingerprint: str
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything to build a catalogue from."""

    servers: tuple[ServerSpec, ...] = ()
    lists: tuple[ToolList, ...] = ()
    notes: tuple[str, ...] = ()
    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """File → the servers that it names or whose tools it lists."""

    @property
    def names(self) -> set[str]:
        return {spec.name for spec in self.servers} | {listed.server_name for listed in self.lists}

    def without(self, patterns: Sequence[str]) -> Sources:
        """Return the sources without the servers that match a pattern; single tools are left out later."""
        return Sources(
            tuple(spec for spec in self.servers if not matches(spec.name, patterns)),
            tuple(listed for listed in self.lists if not matches(listed.server_name, patterns)),
            self.notes,
            self.files,
        )

    def and_then(self, later: Sources) -> Sources:
        """Return these sources with later ones; a server that both name is taken from these."""
        known = self.names
        return Sources(
            (*self.servers, *(spec for spec in later.servers if spec.name not in known)),
            (*self.lists, *(listed for listed in later.lists if listed.server_name not in known)),
            (*self.notes, *later.notes),
            {**later.files, **self.files},
        )


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_sources(paths: Sequence[Path], max_bytes: int = MAX_SOURCE_BYTES) -> Sources:
    """Read the files together; a server that a later file names again is taken from the first."""
    read = Sources()
    for path in paths:
        read = read.and_then(_read_source(path, max_bytes))
    return read


def _read_source(path: Path, max_bytes: int) -> Sources:
    value, fingerprint = _read(path, max_bytes)
    notes: list[str] = []
    entries = _server_entries(value)
    if entries is None:
        lists = {listed.server_name: listed for listed in _tool_lists(path, value, fingerprint)}
        return Sources(lists=tuple(lists.values()), files={path: tuple(lists)})
    specs = [_spec(path, name, entry, notes) for name, entry in entries.items()]
    servers = tuple(spec for spec in specs if spec is not None)
    return Sources(servers, notes=tuple(notes), files={path: tuple(spec.name for spec in servers)})


def _read(path: Path, max_bytes: int) -> tuple[Any, str]:
    try:
        data = read_named(path, max_bytes)
        return parse_json(data), content_hash(data)[:32]
    except TooLargeError:
        raise InvalidArgumentError(f"{path} is larger than {max_bytes >> 20} MB.") from None
    except (ContentError, NotRegularError) as error:
        raise InvalidArgumentError(f"{path} is {reason(error)}.") from error
    except OSError as error:
        raise InvalidArgumentError(f"{path} cannot be read: {reason(error)}.") from error


def _server_entries(value: Any) -> dict[str, Any] | None:
    """Return the entries of `mcpServers` (most clients) or `servers` (VS Code)."""
    if not isinstance(value, dict) or "tools" in value:
        return None
    tables = (value[key] for key in ("mcpServers", "servers") if isinstance(value.get(key), dict))
    return next(tables, {} if "mcpServers" in value else None)


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
        headers=_headers(path, name, entry, notes),
        sse=str(entry.get("type") or entry.get("transport")).lower() == "sse",
        oauth=_oauth(path, name, entry, notes),
        source=path,
    )


def _headers(path: Path, name: str, entry: Mapping[str, Any], notes: list[str]) -> dict[str, str]:
    """Return the headers of an entry; `authorization: {type: "bearer", token}` is one of them."""
    headers = {str(key): str(text) for key, text in (entry.get("headers") or {}).items()}
    authorization = _authorization(entry)
    if authorization.get("type") == "bearer":
        if authorization.get("token"):
            headers = {key: text for key, text in headers.items() if key.lower() != "authorization"}
            headers["Authorization"] = f"Bearer {authorization['token']}"
        else:
            notes.append(f"{path}: the authorization of server '{name}' has no token")
    return headers


def _oauth(path: Path, name: str, entry: Mapping[str, Any], notes: list[str]) -> dict[str, str]:
    """Return what an entry says about logins: its `authorization.oauth`, or `oauth` as other clients do."""
    authorization = _authorization(entry)
    if authorization.get("type") not in (None, "none", "bearer", "oauth2"):
        notes.append(f"{path}: server '{name}' has an unknown type of authorization; known: bearer, oauth2")
    given = authorization.get("oauth") or entry.get("oauth")
    if not isinstance(given, dict):
        return {}
    if isinstance(given.get("scopes"), list):
        given = {**given, "scopes": " ".join(map(str, given["scopes"]))}
    return {key: str(given[key]) for key in OAUTH_KEYS if given.get(key)}


def _authorization(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    given = entry.get("authorization")
    return given if isinstance(given, dict) else {}


def _tool_lists(path: Path, value: Any, fingerprint: str) -> list[ToolList]:
    """Return the tools of a file, by server: an array, a `tools/list` result, or an `index.json`."""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    listed = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise InvalidArgumentError(
            f"{path} is neither a client's configuration nor a list of tools.",
            hint="It should hold mcpServers, a tools array, or an array of tools.",
        )
    by_server: dict[str, list[ToolDefinition]] = {}
    for position, item in enumerate(listed):
        tool = _listed_tool(item, path.stem, f"tools[{position}]", path)
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
    return with_server_name(tool, default_server if server is None else server)


def with_server_name(tool: ToolDefinition, server: str) -> ToolDefinition:
    """Return a tool with its server's name as prefix, unless it has that prefix already."""
    prefix = server + SEPARATOR if server else ""
    return replace(tool, name=prefix + tool.name.removeprefix(prefix), server_name=server)


def client_files(root: Path | None) -> list[Path]:
    """Return the clients' configurations of a project; links are left out."""
    return [] if root is None else [root / name for name in CLIENT_FILES if _is_file_below(root, name)]


def _is_file_below(root: Path, name: str) -> bool:
    try:
        with open_below(root, name):
            return True
    except OSError:
        return False


def existing(paths: Iterable[str]) -> list[Path]:
    """Return these files as absolute paths; a missing one is an error."""
    files = [Path(path).expanduser().absolute() for path in paths]
    for path in files:
        if not path.exists():
            raise _no_file(path)
    return files


def _no_file(path: Path) -> PathNotFoundError:
    error = PathNotFoundError(str(path))
    error.user_message = f"File does not exist: {path}"
    error.args = (error.user_message,)
    return error


def _expand(text: str, environ: Mapping[str, str]) -> str:
    def value(variable: re.Match[str]) -> str:
        name, default = variable["name"], variable["default"]
        if name in environ:
            return environ[name]
        if default is not None:
            return default
        raise MissingVariableError(f"the environment variable {name} is not set")

    return _VARIABLE.sub(value, text)


def _state_of(path: Path) -> list[int]:
    """Return size and time of a program's file, so that a changed server is asked again."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return []
    return [state.st_size, state.st_mtime_ns] if path.is_file() else []
