"""The configurations of clients: their formats, and the variables in them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Self

from findspot.catalogue.known_clients import SERVER, TABLES
from findspot.catalogue.tool_record import SEPARATOR
from findspot.core.config import MAX_CONFIG_BYTES
from findspot.core.files import ContentError
from findspot.core.yaml_text import yaml_loader
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
        return _parse_yaml(text)
    with contextlib.suppress(ValueError):  # far faster than the reader that knows comments
        return json.loads(text)
    node = jsonc.parse(text)
    return node.value if node else None


def _parse_yaml(text: str) -> Any:
    """Return the values of a client's YAML, in which no alias is read: they can make it grow."""
    import yaml  # type: ignore[import-untyped]

    if len(text) > MAX_CONFIG_BYTES:
        raise MalformedError(f"more than {MAX_CONFIG_BYTES >> 10} KB of YAML")
    try:
        return yaml.load(text, yaml_loader())
    except ContentError as error:
        raise MalformedError(str(error)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise MalformedError(str(error.problem or "this is not YAML"), line) from None
    except (yaml.YAMLError, ValueError):
        raise MalformedError("this is not YAML") from None


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
