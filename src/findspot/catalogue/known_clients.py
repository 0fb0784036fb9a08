"""Each client: where its configuration is, and how it names a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.core.files import open_below
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
        return Path(given).expanduser() if given else self.home.joinpath(*otherwise)

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
    typed: bool = False
    """Whether an entry names its transport, standard input and output."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Further values of a new entry, such as when tools are loaded; what a user has changed stays."""
    program: str = ""
    """Its command, which shows that it is installed before it has run."""
    then: str = "Restart it."

    def entry(self, command: list[str]) -> dict[str, Any]:
        """Return the entry that starts Findspot."""
        kind = {"type": "stdio"} if self.typed else {}
        return {**kind, "command": command[0], "args": command[1:]}

    def configs(self, machine: Machine) -> list[Path]:
        """Return the configuration files to write, existing or not; none if the client is not installed."""
        here = [path for path in self.locations(machine) if path.is_file() or _is_own(path.parent, machine)]
        if not here and self.program and machine.has_program(self.program):
            return self.locations(machine)[:1]
        return here


def _is_own(folder: Path, machine: Machine) -> bool:
    """Return whether a folder exists and is not the home folder itself."""
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


def _vscode(machine: Machine, name: str = "mcp.json") -> list[Path]:
    editions = ("Code", "Code - Insiders", "VSCodium")
    return [machine.applications / edition / "User" / name for edition in editions]


def _zed(machine: Machine) -> list[Path]:
    if machine.platform == "win32":
        return [machine.applications / "Zed" / "settings.json"]
    base = machine.home / ".config" if machine.platform == "darwin" else machine.applications
    return [base / "zed" / "settings.json"]


CLIENTS = (
    Client("claude-code", "Claude Code", _claude_code, typed=True, defaults={"alwaysLoad": True},
           program="claude", then="Start a new session; /mcp lists it."),
    Client("claude-desktop", "Claude Desktop", _claude_desktop),
    Client("cursor", "Cursor", lambda m: [m.home / ".cursor" / "mcp.json"],
           then="Turn it on under Settings > MCP."),
    Client("windsurf", "Windsurf", lambda m: [m.home / ".codeium" / "windsurf" / "mcp_config.json"],
           then="Press the refresh button of its MCP servers."),
    Client("vscode", "VS Code", _vscode, lambda m: _vscode(m, "settings.json"), keys=("servers",), typed=True,
           then="Run `MCP: List Servers` and start it."),
    Client("copilot", "Copilot CLI", lambda m: [m.folder("COPILOT_HOME", ".copilot") / "mcp-config.json"],
           typed=True, defaults={"tools": ["*"], "deferTools": "never"}, program="copilot",
           then="Start a new session; /mcp lists it."),
    Client("codex", "Codex", lambda m: [m.folder("CODEX_HOME", ".codex") / "config.toml"],
           keys=("mcp_servers",), format="toml", program="codex", then="Start a new session; /mcp lists it."),
    Client("gemini", "Gemini CLI", lambda m: [m.home / ".gemini" / "settings.json"], program="gemini",
           then="Start a new session; /mcp lists it."),
    Client("zed", "Zed", _zed, keys=("context_servers",), then="It starts immediately."),
)  # fmt: skip

BY_NAME = {client.name: client for client in CLIENTS}


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
