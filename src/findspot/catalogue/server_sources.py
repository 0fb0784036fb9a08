"""The sources of a catalogue: clients' configurations, in any of their formats, and JSON files of tools."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePath
from typing import Any, Self

from findspot.catalogue.indexfile import read_definition, server_of
from findspot.catalogue.known_clients import (
    CLIENT_FOLDERS,
    SERVER,
    TABLES,
    Machine,
    project_files,
    user_files,
    workspace_of,
)
from findspot.catalogue.tool_record import SEPARATOR, ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.config import MAX_CONFIG_BYTES
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.files import (
    ContentError,
    NotRegularError,
    TooLargeError,
    content_hash,
    parse_json,
    parse_yaml,
    read_named,
    reason,
)
from findspot.core.paths import expanded
from findspot.text import jsonc
from findspot.text.jsonc import MalformedError

_VARIABLE = re.compile(
    r"\$\{(?:(?P<kind>env|input|command|config):)?(?P<name>[A-Za-z_/][\w./-]*)(?::-(?P<default>[^}]*))?\}"
)
_WORKSPACE = ("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR")
_MAX_NAME_CHARS = 100


class MissingVariableError(Exception):
    """A variable that a server needs has no value."""


def name_problem(name: str) -> str | None:
    """Return why a server cannot have this name: it is shown in questions, and begins its tools' names."""
    if not name or name != name.strip() or not name.isprintable():
        return "has no name, or one with characters that cannot be seen"
    if SEPARATOR in name or name.endswith("_"):
        return f"has a name with '{SEPARATOR}' or with '_' at its end; '{SEPARATOR}' ends a server's name"
    return f"has a name of more than {_MAX_NAME_CHARS} characters" if len(name) > _MAX_NAME_CHARS else None


def without_literals(text: str) -> str:
    """Return a value with its variables as they are written, and the rest, which may be secret, as `…`."""
    shown, last = "", 0
    for found in _VARIABLE.finditer(text):
        kind = f"{found['kind']}:" if found["kind"] else ""
        default = ":-…" if found["default"] else ""
        shown += "…" * (found.start() > last) + f"${{{kind}{found['name']}{default}}}"
        last = found.end()
    return shown + "…" * (len(text) > last)


def fill_folders(text: str, workspace: Path | None) -> str:
    """Return a text with the folders that a client knows; `workspace` is the project, if there is one."""
    known = {"userHome": str(Path.home()), "pathSeparator": os.sep, "/": os.sep}
    if workspace is not None:
        known |= dict.fromkeys(_WORKSPACE, str(workspace)) | {"workspaceFolderBasename": workspace.name}

    def value(found: re.Match[str]) -> str:
        return found[0] if found["kind"] else known.get(found["name"], found[0])

    return _VARIABLE.sub(value, text)


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Return a text with its variables replaced; raise `MissingVariableError` for one without a value."""

    def value(found: re.Match[str]) -> str:
        kind, name, default = found["kind"], found["name"], found["default"]
        if kind in ("command", "config"):
            raise MissingVariableError(f"only its client knows {found[0]}")
        known = environ.get(input_variable(name) if kind == "input" else name)
        if known is not None:
            return known
        if default is not None:
            return default
        what = f"the environment variable {name} is not set"
        if kind == "input":
            what = f"the input {name} has no value: set {input_variable(name)}"
        raise MissingVariableError(what)

    return _VARIABLE.sub(value, text)


def input_variable(name: str) -> str:
    return "FINDSPOT_INPUT_" + re.sub(r"\W|[.-]", "_", name).upper()


_AMBIGUOUS = (("extensions",), ("mcp",))
_STARTERS = frozenset(("command", "cmd", "url", "uri"))

_PROJECTS = "projects"
"""The table of Claude Code's file that has one entry per project, each with its own servers."""

OAUTH_KEYS = ("clientId", "clientSecret", "scopes", "callbackPort")

MOST_NESTED = 100

_ERROR_LINE = re.compile(r"\(at line (\d+)")
_SHELL_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_ENV_VARIABLE = re.compile(r"(?<!\$)\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLES = dict.fromkeys((".gemini", ".qwen"), _SHELL_VARIABLE) | dict.fromkeys(
    ("opencode", "kilo"), _ENV_VARIABLE
)
"""The folder of a client's configuration → how variables are written in it."""


def parse_config(text: str, kind: str = "json") -> Any:
    """Return the values of a configuration; None if there is nothing in it.

    What is nested deeper than any client's configuration is refused: comparing it would not end well.
    """
    try:
        values = _parsed(text, kind)
        inside = [values] if isinstance(values, dict | list) else []
        for _ in range(MOST_NESTED):
            tables = (each.values() if isinstance(each, dict) else each for each in inside)
            inside = [each for table in tables for each in table if isinstance(each, dict | list)]
        if inside:
            raise RecursionError
        return values
    except RecursionError:
        raise MalformedError("nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        line = _ERROR_LINE.search(str(error))
        reason = str(error).partition(" (at ")[0]
        raise MalformedError(reason, int(line[1]) if line else 0) from None


def _parsed(text: str, kind: str) -> Any:
    if kind == "toml":
        return tomllib.loads(text)
    if kind.startswith("yaml"):
        if len(text) > MAX_CONFIG_BYTES:
            raise MalformedError(f"more than {MAX_CONFIG_BYTES >> 10} KB of YAML")
        try:
            return parse_yaml(text)
        except ContentError as error:
            raise MalformedError(str(error)) from None
    with contextlib.suppress(ValueError):  # far faster than the reader that knows comments
        return json.loads(text)
    node = jsonc.parse(text)
    return node.value if node else None


def value_at(values: Any, keys: Sequence[str]) -> Any:
    """Return the value at the end of `keys`, or None; an item of a list is found by its name."""
    for key in keys:
        values = named(values).get(key)
    return values


def named(values: Any) -> dict[str, Any]:
    """Return the values of a mapping, or the items of a list by their names."""
    if isinstance(values, list):
        return {str(item["name"]): item for item in values if isinstance(item, dict) and item.get("name")}
    return values if isinstance(values, dict) else {}


@dataclass(frozen=True, slots=True)
class ServerTable:
    """The servers of a configuration that count for one index."""

    entries: Mapping[str, Any]
    project: Path | None = None
    """The project that they belong to, if the file has servers of several projects."""
    leaves_out: bool = False
    """Whether there are servers of all projects that do not count, as the project has its own."""


def server_table(values: Any, project: Path | None) -> ServerTable | None:
    """Return the servers that a configuration names; None if this is no configuration.

    Of Claude Code's file, the servers of the project count, where it has any; else those of all projects.
    """
    if not isinstance(values, dict) or isinstance(values.get("tools"), list):
        return None
    tables = ((keys, value_at(values, keys)) for keys in TABLES)
    entries = next((named(table) for keys, table in tables if _is_table(keys, table)), None)
    if own := _of_project(values, project):
        return ServerTable(own, project, bool(entries))
    is_config = "mcpServers" in values or isinstance(values.get(_PROJECTS), dict)
    return ServerTable(entries or {}) if entries is not None or is_config else None


def _of_project(values: Mapping[str, Any], project: Path | None) -> Mapping[str, Any]:
    folders = [project, project.resolve()] if project is not None else []
    for spelled, about in _object(values, _PROJECTS).items():
        servers = _object(about, "mcpServers") if isinstance(about, dict) else {}
        if servers and Path(spelled) in folders:
            return servers
    return {}


def _is_table(keys: tuple[str, ...], table: Any) -> bool:
    """Return whether a value names servers; under a key that other programs use too, one must be evident."""
    if not isinstance(table, dict):
        return isinstance(table, list) and bool(named(table))
    evident = any(isinstance(entry, dict) and _STARTERS & entry.keys() for entry in table.values())
    return keys not in _AMBIGUOUS or evident


@dataclass(frozen=True, slots=True)
class Entry:
    """One server as an entry describes it, in whatever client's words."""

    name: str = ""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    """The tools that the client offers; all if there are none."""
    left_out: tuple[str, ...] = ()
    sse: bool = False
    """Whether a remote server is reached by SSE, the older transport."""
    oauth: Mapping[str, str] = field(default_factory=dict)
    """What a login needs beyond what the server states itself; the keys are those of `OAUTH_KEYS`."""
    shared: bool = False
    """Whether all clients call the same process; otherwise each connection has its own."""
    disabled: bool = False

    def mapped(self, value: Callable[[str], str]) -> Self:
        """Return the entry with every text replaced that may hold a variable."""
        return replace(
            self,
            command=self.command and value(self.command),
            args=tuple(map(value, self.args)),
            env={name: value(text) for name, text in self.env.items()},
            cwd=self.cwd and value(self.cwd),
            url=self.url and value(self.url),
            headers={name: value(text) for name, text in self.headers.items()},
            oauth={name: value(text) for name, text in self.oauth.items()},
        )


def read_entry(value: Any) -> Entry | str:
    """Return what an entry says, or why it names no server."""
    if not isinstance(value, dict):
        return "has neither a command nor a url"
    url = _first(value, "url", "httpUrl", "serverUrl", "uri")
    # In Zed's older format the command is an object; as a list it holds the arguments, too.
    command = _first(value, "command", "cmd")
    inner = command if isinstance(command, dict) else value
    command = command.get("path") if isinstance(command, dict) else command
    first, *rest = command if isinstance(command, list) and command else [command]
    if not (url or first):
        own = value.get("type") in ("builtin", "platform", "frontend") or value.get("source") == "extension"
        return "is run by its client itself" if own else "has neither a command nor a url"
    only = _names(value, "includeTools", "enabled_tools", "tools")
    env = _pairs(_first(inner, "env", "environment", "envs"))
    return Entry(
        command=None if url else str(first),
        args=(*map(str, rest), *_texts(inner.get("args"))),
        env=env | {name: f"${{{name}:-}}" for name in _texts(value.get("env_vars"))},
        cwd=str(value["cwd"]) if value.get("cwd") else None,
        url=str(url) if url else None,
        headers=_headers(value),
        only=() if "*" in only else only,
        left_out=_names(value, "excludeTools", "disabledTools", "disabled_tools"),
        sse=str(value.get("type") or value.get("transport")).lower() == "sse",
        oauth=_oauth(value),
        shared=value.get("shared") is True,
        disabled=value.get("disabled") is True or value.get("enabled") is False,
    )


def _headers(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of an entry; Codex has keys of its own for values from the environment, and Continue
    has an object around them.
    """
    headers = _pairs(_object(value, "requestOptions").get("headers"))
    headers |= _pairs(value.get("headers")) | _pairs(value.get("http_headers"))
    from_env = _pairs(value.get("env_http_headers"))
    headers |= {name: f"${{{variable}}}" for name, variable in from_env.items()}
    variable, authorization = value.get("bearer_token_env_var"), _object(value, "authorization")
    token = f"${{{variable}}}" if variable else None
    if authorization.get("type") == "bearer":
        token = authorization.get("token") or token
    if token:
        headers = {key: text for key, text in headers.items() if key.lower() != "authorization"}
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _oauth(value: Mapping[str, Any]) -> dict[str, str]:
    """Return what an entry says about logins: its `authorization.oauth`, or `oauth` as other clients do."""
    given = _object(_object(value, "authorization"), "oauth") or _object(value, "oauth")
    scopes = given.get("scopes")
    given = {**given, "scopes": " ".join(_texts(scopes))}
    return {key: str(given[key]) for key in OAUTH_KEYS if given.get(key)}


def _first(value: Mapping[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key)), None)


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    given = value.get(key)
    return given if isinstance(given, dict) else {}


def _names(value: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    return next((_texts(value[key]) for key in keys if isinstance(value.get(key), list)), ())


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (value,) if isinstance(value, str) else ()


def _pairs(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): "" if each is None else _text(each) for key, each in value.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_findspot(name: str, entry: Entry) -> bool:
    """Return whether an entry starts Findspot itself, in any of the ways that setup writes."""
    given = (entry.command or "", *entry.args)
    words = [PurePath(word.replace("\\", "/")).name.removesuffix(".exe") for word in given]
    by_runner = words[0] in ("uvx", "pipx", "uv") and SERVER in words
    as_module = ("-m", SERVER) in itertools.pairwise(words)
    return name == SERVER or words[0] == SERVER or by_runner or as_module


def with_braces(value: Any, path: Path) -> Any:
    """Return an entry with `$NAME` of Gemini CLI or `{env:NAME}` of opencode written as `${NAME}`."""
    variable = _VARIABLES.get(path.parent.name)
    if variable is None:
        return value
    if isinstance(value, dict):
        return {key: with_braces(item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [with_braces(item, path) for item in value]
    return variable.sub(r"${\1}", value) if isinstance(value, str) else value


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
        at = f" at line {error.line}" if error.line else ""
        problem = f"is {error}" if kind == "yaml" else f"is not valid {kind.upper()}{at}"
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
