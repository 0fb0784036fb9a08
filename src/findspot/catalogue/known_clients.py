"""Each client: where its configuration is, and how it names a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.core.files import open_below
from findspot.core.paths import expanded
from findspot.core.platforms import find_program

SERVER = "findspot"

PROJECT_FILES = (
    ".please/mcp.local.json",
    ".please/mcp.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".zed/settings.json",
)
"""Where clients keep the servers of a project."""

USER_FILES = (".please/mcp.local.json", ".please/mcp.json")
"""Further files in the user's home that name servers."""

CLIENT_FOLDERS = frozenset(Path(name).parent.name for name in PROJECT_FILES) - {""}


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where programs keep their files."""

    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def folder(self, variable: str, *otherwise: str) -> Path:
        """Return the folder that a variable names, else one below the home."""
        given = self.environ.get(variable)
        return expanded(given) if given else self.home.joinpath(*otherwise)

    @property
    def applications(self) -> Path:
        """The folder in which desktop programs keep their data."""
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.folder("XDG_CONFIG_HOME", ".config")

    def has_program(self, name: str) -> bool:
        return find_program(name, self.environ.get("PATH", "")) is not None


def _plain(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _typed(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command)}


def _local(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command}


def _extension(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "cmd": command[0], "args": command[1:]}


@dataclass(frozen=True, slots=True)
class Client:
    """One assistant."""

    name: str
    title: str
    locations: Callable[[Machine], list[Path]]
    """Its configuration files, the likeliest first; it is installed if the folder of one exists."""
    read_also: Callable[[Machine], list[Path]] = lambda _machine: []
    """Further files in which it may name servers, which setup does not write."""
    keys: tuple[str, ...] = ("mcpServers",)
    """The keys that lead to the table of servers in its configuration."""
    format: str = "json"
    """`json`, `toml`, `yaml`, or `yaml list` if the servers are a list of mappings with a name."""
    entry: Callable[[list[str]], dict[str, Any]] = _plain
    """The entry that runs a command with its arguments."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Further values of a new entry, such as when tools are loaded; what a user has changed stays."""
    template: str = ""
    """What a new configuration starts with, where the client requires more than servers."""
    levels: int = 1
    """How many folders above the file are the client's own: the outermost shows that it is installed."""
    project_file: str = ""
    """Where it keeps the servers of a project, for all who work on it; empty if it has no such file."""
    program: str = ""
    """Its command, which shows that it is installed before it has run."""
    then: str = "Restart it."

    def configs(self, machine: Machine) -> list[Path]:
        """Return the configuration files to write, existing or not; none if the client is not installed."""
        here = [path for path in self.locations(machine) if path.is_file() or self._has_folder(path, machine)]
        if not here and self.program and machine.has_program(self.program):
            return self.locations(machine)[:1]
        return here

    def _has_folder(self, path: Path, machine: Machine) -> bool:
        """Return whether the client's own folder exists, and is not the home folder itself."""
        folder = path.parents[self.levels - 1]
        return folder != machine.home and folder.is_dir()


def _claude_code(machine: Machine) -> list[Path]:
    return [machine.folder("CLAUDE_CONFIG_DIR") / ".claude.json"]


def _claude_desktop(machine: Machine) -> list[Path]:
    name = "claude_desktop_config.json"
    packaged: list[Path] = []
    if machine.platform == "win32":
        # As a package it reads a folder of its own instead of the documented one.
        packages = machine.folder("LOCALAPPDATA", "AppData", "Local") / "Packages"
        packaged = sorted(packages.glob("Claude_*/LocalCache/Roaming/Claude"))
    return [folder / name for folder in packaged or [machine.applications / "Claude"]]


_EDITIONS = ("Code", "Code - Insiders", "VSCodium")
"""VS Code and what is built from it."""
_FORKS = ("Cursor", "Windsurf")
"""Other editors that run its extensions."""


def _vscode(machine: Machine, name: str = "mcp.json") -> list[Path]:
    return [machine.applications / edition / "User" / name for edition in _EDITIONS]


def _of_extension(machine: Machine, *names: str) -> list[Path]:
    """Return the file of an extension of VS Code, in each edition and in other editors that run it."""
    users = [machine.applications / editor / "User" for editor in (*_EDITIONS, *_FORKS)]
    return [user.joinpath("globalStorage", *names) for user in users]


def _cline(machine: Machine) -> list[Path]:
    name = "cline_mcp_settings.json"
    shared = machine.folder("CLINE_DIR", ".cline") / "data" / "settings" / name
    older = _of_extension(machine, "saoudrizwan.claude-dev", "settings", name)
    return [shared, *(path for path in older if path.is_file())]


def _first(folder: Path, *names: str) -> list[Path]:
    """Return the first of these files that exists, else the last."""
    return [next((folder / name for name in names if (folder / name).is_file()), folder / names[-1])]


def _dotted_config(machine: Machine) -> Path:
    """Return the folder for configurations of programs that use `~/.config` on every system."""
    return machine.folder("XDG_CONFIG_HOME", ".config")


def _goose(machine: Machine) -> list[Path]:
    if machine.platform == "win32":
        return [machine.applications / "Block" / "goose" / "config" / "config.yaml"]
    return [_dotted_config(machine) / "goose" / "config.yaml"]


def _zed(machine: Machine) -> list[Path]:
    if machine.platform == "win32":
        return [machine.applications / "Zed" / "settings.json"]
    base = machine.home / ".config" if machine.platform == "darwin" else machine.applications
    return [base / "zed" / "settings.json"]


CLIENTS = (
    Client("claude-code", "Claude Code", _claude_code, entry=_typed, defaults={"alwaysLoad": True},
           program="claude", project_file=".mcp.json", then="Start a new session; /mcp lists it."),
    Client("claude-desktop", "Claude Desktop", _claude_desktop),
    Client("cursor", "Cursor", lambda m: [m.home / ".cursor" / "mcp.json"],
           project_file=".cursor/mcp.json", then="Turn it on under Settings > MCP."),
    Client("windsurf", "Windsurf", lambda m: [m.home / ".codeium" / "windsurf" / "mcp_config.json"],
           then="Press the refresh button of its MCP servers."),
    Client("vscode", "VS Code", _vscode, lambda m: _vscode(m, "settings.json"), keys=("servers",),
           entry=_typed, project_file=".vscode/mcp.json", then="Run `MCP: List Servers` and start it."),
    Client("copilot", "Copilot CLI", lambda m: [m.folder("COPILOT_HOME", ".copilot") / "mcp-config.json"],
           entry=_typed, defaults={"tools": ["*"], "deferTools": "never"}, program="copilot",
           then="Start a new session; /mcp lists it."),
    Client("codex", "Codex", lambda m: [m.folder("CODEX_HOME", ".codex") / "config.toml"],
           keys=("mcp_servers",), format="toml", program="codex",
           project_file=".codex/config.toml", then="Start a new session; /mcp lists it."),
    Client("gemini", "Gemini CLI", lambda m: [m.home / ".gemini" / "settings.json"], program="gemini",
           project_file=".gemini/settings.json", then="Start a new session; /mcp lists it."),
    Client("zed", "Zed", _zed, keys=("context_servers",),
           project_file=".zed/settings.json", then="It starts immediately."),
    Client("opencode", "opencode",
           lambda m: _first(_dotted_config(m) / "opencode", "opencode.jsonc", "opencode.json"),
           keys=("mcp",), entry=_local, defaults={"enabled": True}, program="opencode",
           project_file="opencode.json", then="Start a new session."),
    Client("cline", "Cline", _cline, levels=3, program="cline"),
    Client("roo", "Roo Code",
           lambda m: _of_extension(m, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"),
           levels=2, project_file=".roo/mcp.json", then="It starts immediately."),
    Client("continue", "Continue", lambda m: [m.folder("CONTINUE_GLOBAL_DIR", ".continue") / "config.yaml"],
           format="yaml list", template="name: Local Config\nversion: 1.0.0\nschema: v1\n",
           project_file=".continue/mcpServers/findspot.yaml",
           then="It starts immediately; use the agent mode."),
    Client("jetbrains", "JetBrains Junie", lambda m: [m.home / ".junie" / "mcp" / "mcp.json"], levels=2,
           program="junie", project_file=".junie/mcp/mcp.json",
           then="Turn it on under Settings > Tools > Junie > MCP Settings."),
    Client("amp", "Amp", lambda m: _first(m.home / ".config" / "amp", "settings.jsonc", "settings.json"),
           keys=("amp.mcpServers",), program="amp",
           project_file=".amp/settings.json", then="Start a new session."),
    Client("goose", "Goose", _goose, keys=("extensions",), format="yaml", entry=_extension,
           defaults={"name": "Findspot", "description": "Find code and documentation by meaning",
                     "enabled": True, "envs": {}, "timeout": 300},
           program="goose", then="Start a new session."),
    Client("qwen", "Qwen Code", lambda m: [m.home / ".qwen" / "settings.json"], program="qwen",
           project_file=".qwen/settings.json", then="Start a new session; /mcp lists it."),
    Client("kilo", "Kilo Code", lambda m: _first(_dotted_config(m) / "kilo", "kilo.jsonc", "kilo.json"),
           keys=("mcp",), entry=_local, defaults={"enabled": True}, program="kilo",
           project_file="kilo.json", then="Start a new session."),
)  # fmt: skip

BY_NAME = {client.name: client for client in CLIENTS}

TEAM = ("claude-code", "cursor", "vscode")
"""Clients that get a file in every project that a team sets up; Copilot CLI reads Claude Code's."""


def project_files(root: Path | None) -> list[Path]:
    """Return the clients' configurations of a project; links are left out."""
    return [] if root is None else [root / name for name in PROJECT_FILES if _is_file_below(root, name)]


def user_files(machine: Machine) -> list[Path]:
    """Return the configurations that name the user's servers for all projects."""
    own = [machine.home / name for name in USER_FILES]
    of_clients = [client.locations(machine) + client.read_also(machine) for client in CLIENTS]
    return [path for paths in (own, *of_clients) for path in paths if path.is_file()]


def workspace_of(path: Path, project: Path | None) -> Path | None:
    """Return what a client calls the workspace: the project that holds a configuration, else `project`."""
    for name in PROJECT_FILES:
        parts = Path(name).parts
        if path.parts[-len(parts) :] == parts:
            base = path.parents[len(parts) - 1]
            return project if base == Path.home() else base
    return project


def _is_file_below(root: Path, name: str) -> bool:
    try:
        with open_below(root, name):
            return True
    except OSError:
        return False
