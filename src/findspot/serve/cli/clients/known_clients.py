"""Each client, where its configuration is and how it names a server; and the command that starts Findspot."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from findspot.core.platforms import find_program

SERVER = "findspot"
_UV_CACHE = {"archive-v0", "environments-v2", "builds-v0"}
"""Folders of uv's cache in which `uvx` makes an environment for one run."""


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


def _vscode(machine: Machine) -> list[Path]:
    editions = ("Code", "Code - Insiders", "VSCodium")
    return [machine.applications / edition / "User" / "mcp.json" for edition in editions]


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
    Client("vscode", "VS Code", _vscode, keys=("servers",), typed=True,
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


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that runs Findspot, and how Findspot was installed."""

    prefix: Path = field(default_factory=lambda: Path(sys.prefix))
    base_prefix: Path = field(default_factory=lambda: Path(sys.base_prefix))
    executable: str = sys.executable
    scripts: Path = field(default_factory=lambda: Path(sysconfig.get_path("scripts")))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    origin: str = field(default_factory=lambda: _origin())  # noqa: PLW0108
    """The URL that the package was installed from; empty if it came from an index."""

    def find(self, program: str) -> str | None:
        return find_program(program, self.environ.get("PATH", ""))


def _origin() -> str:
    """Return the URL that an installer recorded for the package, or an empty string."""
    try:
        noted = metadata.distribution("findspot").read_text("direct_url.json")
        return str(json.loads(noted)["url"]) if noted else ""
    except (metadata.PackageNotFoundError, ValueError, KeyError):
        return ""


def installation(python: Python) -> str:
    """Return how Findspot was installed: `uvx`, `pipx run`, `uv tool`, `pipx`, `venv` or `python`."""
    parts = set(python.prefix.parts)
    if parts & _UV_CACHE:
        return "uvx"
    if (python.prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    if "pipx" in parts and parts & {".cache", "Cache", "Caches", ".pipx-cache"}:
        return "pipx run"
    if (python.prefix / "pipx_metadata.json").is_file():
        return "pipx"
    return "venv" if python.prefix != python.base_prefix else "python"


def serve_command(python: Python) -> list[str]:
    """Return the command, with its arguments, that starts the server."""
    how = installation(python)
    if how == "uvx":
        source = ["--from", python.origin] if python.origin else []
        return [python.find("uvx") or "uvx", *source, "findspot", "serve"]
    if how == "pipx run":
        source = ["--spec", python.origin] if python.origin else []
        return [python.find("pipx") or "pipx", "run", *source, "findspot", "serve"]
    launcher = _launcher(python, lasting=how in ("uv tool", "pipx"))
    # -P: clients start it inside the project, whose own findspot.py must not be what runs.
    return [launcher, "serve"] if launcher else [python.executable, "-P", "-m", "findspot", "serve"]


def _launcher(python: Python, *, lasting: bool) -> str | None:
    """Return the installed script; for a tool the one on the PATH, which outlives its environment."""
    own = [python.scripts / name for name in ("findspot", "findspot.exe")]
    script = next((path for path in own if path.is_file()), None)
    public = python.find("findspot") if lasting else None
    if public and script and Path(public).resolve() == script.resolve():
        return str(Path(public).absolute())
    return str(script) if script else None
