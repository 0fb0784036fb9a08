"""The sources of a catalogue: clients' configurations, which name servers, and JSON files of tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from findspot.catalogue.client_configs import (
    Entry,
    ServerTable,
    expand,
    fill_folders,
    is_findspot,
    name_problem,
    parse_config,
    read_entry,
    server_table,
    with_braces,
)
from findspot.catalogue.indexfile import read_definition, server_of
from findspot.catalogue.known_clients import CLIENT_FOLDERS, Machine, project_files, user_files, workspace_of
from findspot.catalogue.tool_record import SEPARATOR, ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.files import (
    ContentError,
    NotRegularError,
    TooLargeError,
    content_hash,
    parse_json,
    read_named,
    reason,
)
from findspot.core.paths import expanded
from findspot.text.jsonc import MalformedError

MAX_SOURCE_BYTES = 256 * 1024 * 1024

START_TIMEOUT_S = 30.0
"""For a server to start and list its tools; some download themselves first."""

NESTED_VARIABLE = "FINDSPOT_STARTED_BY_FINDSPOT"
"""Set in the environment of servers that we start. A Findspot that finds it set starts no servers itself."""

_MAX_COMMENTED_BYTES = 8 * 1024 * 1024
"""JSON with comments is read far more slowly, and a configuration is small."""

WORKSPACE = "${workspaceFolder}"
"""The folder of a server of all projects whose entry names none."""

_SHOWN_NAME_CHARS = 60
_KINDS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class ServerSpec(Entry):
    """One server of a client's configuration, its variables not yet expanded."""

    source: Path = Path()
    project: Path | None = None
    """The project whose index it is part of; None for a server of all projects."""
    workspace: Path | None = None
    """What `${workspaceFolder}` means in the entry of a server of all projects: the project of whoever starts
    it, or the home folder."""

    @property
    def base(self) -> Path:
        """The folder that relative paths start from: the configuration's, or the one above a client's own."""
        folder = self.source.parent
        return folder.parent if folder.name in CLIENT_FOLDERS else folder

    @property
    def working_folder(self) -> Path:
        return self.base / self.cwd if self.cwd else self.base

    @property
    def shown_folder(self) -> str:
        return "the project that is open" if self.cwd == WORKSPACE else str(self.working_folder)

    @property
    def fingerprint(self) -> str:
        """A hash of what is started or called, without the values of variables and headers."""
        parts = [self.command, self.args, sorted(self.env), self.cwd, self.url, sorted(self.headers)]
        return content_hash(json.dumps([*parts, *self._tools(), *self._optional()]).encode())[:32]

    @property
    def launch(self) -> str:
        """Everything that decides what is started or called, with values: never stored in clear.

        It is the same in every project, so that an agreement to a server of all projects holds in each.
        """
        env, headers = sorted(self.env.items()), sorted(self.headers.items())
        parts = [self.command, self.args, str(self.working_folder), env, self.url, headers]
        oauth = [sorted(self.oauth.items())] if self.oauth else []
        return json.dumps([*parts, *self._optional(), *oauth, *self._tools()])

    def _optional(self) -> list[str]:
        """Return what hashes of entries contain only where it is set, so that earlier hashes stay valid."""
        return ["sse"] * self.sse + ["shared"] * self.shared

    def _tools(self) -> list[tuple[str, ...]]:
        return [self.only, self.left_out] if self.only or self.left_out else []

    @property
    def index_command(self) -> str:
        """What asks for an agreement to it, and for its tools."""
        return "`findspot tools index`" if self.project else "`findspot tools index --user`"

    def offers(self, tool: str) -> bool:
        """Return whether the client's configuration offers a tool, named without its server."""
        return (not self.only or tool in self.only) and tool not in self.left_out

    @property
    def names_own_file(self) -> bool:
        """Whether the entry runs a program by a path from its configuration's folder.

        In the folder of a project, the project could hold another one of that name.
        """
        is_path = len(Path(self.command or "").parts) > 1
        parts = [part for part in (self.command, *self.args) if part and not Path(part).is_absolute()]
        return (is_path and self.command in parts) or any(_is_file(self.base / part) for part in parts)

    def expanded(self, environ: Mapping[str, str] = ENVIRONMENT) -> ServerSpec:
        """Return the server with variables expanded; raise `MissingVariableError` for one that is not set."""

        def value(text: str) -> str:
            return expand(fill_folders(text, self.workspace or Path.home()), environ)

        return self.mapped(value)


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that a JSON file lists, by server, with the fingerprint of the file."""

    server_name: str
    fingerprint: str
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    servers: tuple[ServerSpec, ...] = ()
    lists: tuple[ToolList, ...] = ()
    notes: tuple[str, ...] = ()
    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """File → the servers that it names or whose tools it lists."""

    @property
    def names(self) -> set[str]:
        return {spec.name for spec in self.servers} | {listed.server_name for listed in self.lists}

    def and_then(self, later: Sources) -> Sources:
        """Return these sources with later ones; a server that both name is taken from these."""
        known = self.names
        return Sources(
            (*self.servers, *(spec for spec in later.servers if spec.name not in known)),
            (*self.lists, *(listed for listed in later.lists if listed.server_name not in known)),
            (*self.notes, *later.notes),
            {**later.files, **self.files},
        )


def read_sources(
    paths: Sequence[Path], max_bytes: int = MAX_SOURCE_BYTES, project: Path | None = None
) -> Sources:
    """Read the files together; a server that a later file names again is taken from the first.

    `project` is the folder that clients would call the workspace; there is none for the user's own index.
    """
    read = Sources()
    for path in paths:
        read = read.and_then(_read_source(path, max_bytes, project))
    return read


def _read_source(path: Path, max_bytes: int, project: Path | None) -> Sources:
    value, fingerprint = _read(path, max_bytes)
    table = server_table(value, project)
    if table is None:
        lists = {listed.server_name: listed for listed in _tool_lists(path, value, fingerprint)}
        return Sources(lists=tuple(lists.values()), files={path: tuple(lists)})
    notes: list[str] = []
    if table.leaves_out:
        notes.append(f"{path}: servers of all projects are left out here; `--user` indexes them")
    read = [spec for name in table.entries if (spec := _spec(path, name, table, project, notes))]
    return Sources(tuple(read), notes=tuple(notes), files={path: tuple(spec.name for spec in read)})


def _read(path: Path, max_bytes: int) -> tuple[Any, str]:
    """Return the values of a file, TOML or YAML by its ending, else JSON, and a hash of it."""
    kind = _KINDS.get(path.suffix, "json")
    try:
        data = read_named(path, max_bytes)
        if kind == "json" and len(data) > _MAX_COMMENTED_BYTES:
            values = parse_json(data)
        else:
            values = parse_config(data.decode("utf-8-sig"), kind)
        return values, content_hash(data)[:32]
    except MalformedError as error:
        problem = f"is not valid {kind.upper()}{f' at line {error.line}' if error.line else ''}"
    except UnicodeDecodeError:
        problem = "is not UTF-8 text"
    except TooLargeError:
        problem = f"is larger than {max_bytes >> 20} MB"
    except (ContentError, NotRegularError) as error:
        problem = f"is {reason(error)}"
    except OSError as error:
        problem = f"cannot be read: {reason(error)}"
    raise InvalidArgumentError(f"{path} {problem}.")


def _spec(
    path: Path, name: str, table: ServerTable, project: Path | None, notes: list[str]
) -> ServerSpec | None:
    """Return a server; None for what is no server, for one that is disabled, and for Findspot."""
    workspace = workspace_of(path, project)
    value = with_braces(table.entries[name], path)
    entry = name_problem(name) or read_entry(value)
    if isinstance(entry, str):
        notes.append(f"{path}: server {name[:_SHOWN_NAME_CHARS]!r} {entry}")
        return None
    if is_findspot(name, entry):
        return None
    if value.get("envFile"):
        notes.append(
            f"{path}: server '{name}' names an envFile, which is not read; name its variables in env"
        )
    if entry.disabled:
        notes.append(f"{path}: server '{name}' is disabled")
        return None
    folder = entry.cwd or (str(table.project) if table.project else None)
    entry = replace(entry, name=name, cwd=folder).mapped(lambda text: fill_folders(text, workspace))
    own = {known.name: getattr(entry, known.name) for known in fields(entry)}
    spec = ServerSpec(**own, source=path, project=project)
    if folder is None and workspace is None and spec.command and not spec.names_own_file:
        spec = replace(spec, cwd=WORKSPACE)  # as clients start the servers of all projects
    return spec


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
    if server is None and isinstance(item.get("tool"), dict):
        server = server_of(tool.name) or None
    return with_server_name(tool, default_server if server is None else server)


def with_server_name(tool: ToolDefinition, server: str) -> ToolDefinition:
    """Return a tool with its server's name as prefix, unless it has that prefix already."""
    prefix = server + SEPARATOR if server else ""
    return replace(tool, name=prefix + tool.name.removeprefix(prefix), server_name=server)


def find_configurations(project: Path | None, machine: Machine) -> tuple[list[Path], list[str]]:
    """Return the configurations that name servers of a project, or of the user if there is none.

    Also return a note for each file that cannot be read.
    """
    shared = user_files(machine)
    found, notes = [], []
    for path in [*project_files(project), *shared] if project else shared:
        try:
            table = server_table(_read(path, MAX_SOURCE_BYTES)[0], project)
        except InvalidArgumentError as error:
            notes.append(error.user_message)
            continue
        if table is None or (project and path in shared and table.project is None):
            continue
        if any(_spec(path, name, table, project, []) for name in table.entries):
            found.append(path)
    return found, notes


def existing(paths: Iterable[str]) -> list[Path]:
    """Return these files as absolute paths; a missing one is an error."""
    files = [expanded(path).absolute() for path in paths]
    for path in files:
        if not path.exists():
            error = PathNotFoundError(str(path))
            error.user_message = f"File does not exist: {path}"
            error.args = (error.user_message,)
            raise error
    return files


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
