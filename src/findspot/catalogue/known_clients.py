"""Each client: where its configuration is, and how it names a server."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from findspot.core.files import open_below
from findspot.core.paths import expanded
from findspot.core.platforms import find_program

SERVER = "findspot"

_DATA = tomllib.loads(files(__package__).joinpath("known_clients.toml").read_text("utf-8"))

PROJECT_FILES: tuple[str, ...] = tuple(_DATA["project_files"])
"""Where clients keep the servers of a project."""

TABLES = tuple(map(tuple, _DATA["tables"]))
"""The keys that lead to the servers in a configuration."""

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

    def places(self, paths: Sequence[str]) -> list[Path]:
        """Return where these paths of clients lead; the folder of a file may be a pattern."""
        found: list[Path] = []
        for path in paths:
            start, _, rest = path.partition("/")
            for base in self._bases(start):
                file = Path(rest)
                folders = sorted(base.glob(file.parent.as_posix())) if "*" in rest else [base / file.parent]
                found += [folder / file.name for folder in folders]
        return found

    def _bases(self, start: str) -> list[Path]:
        if start in ("editions", "editors"):
            names = _DATA["editions"] + (_DATA["forks"] if start == "editors" else [])
            return [self.applications / name / "User" for name in names]
        if start in _DATA["folders"]:
            return [self.folder(start, _DATA["folders"][start])]
        return [self.applications if start == "applications" else self.home]


@dataclass(frozen=True, slots=True)
class Client:
    """One assistant; its paths begin as `known_clients.toml` says."""

    name: str
    title: str
    paths: Sequence[str] = ()
    """Its configuration files, the likeliest first; it is installed if the folder of one exists."""
    darwin: Sequence[str] = ()
    win32: Sequence[str] = ()
    """Its files on these systems instead, if there are any."""
    one_of: Sequence[str] = ()
    """Of these files the first that exists counts, else the last."""
    older: Sequence[str] = ()
    """Files that count only if they exist."""
    reads: Sequence[str] = ()
    """Further files in which it may name servers, which setup does not write."""
    keys: tuple[str, ...] = ("mcpServers",)
    """The keys that lead to the table of servers in its configuration."""
    format: str = "json"
    """`json`, `toml`, `yaml`, or `yaml list` if the servers are a list of mappings with a name."""
    kind: str = "plain"
    """How an entry names a command: see `entry`."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Further values of a new entry, such as when tools are loaded; what a user has changed stays."""
    template: str = ""
    """What a new configuration starts with, where the client requires more than servers."""
    levels: int = 1
    """How many folders above the file are the client's own: the outermost shows that it is installed."""
    program: str = ""
    """Its command, which shows that it is installed before it has run."""
    then: str = "Restart it."
    plugin: str = ""
    """How its plugin is installed from `{source}`."""

    def entry(self, command: list[str]) -> dict[str, Any]:
        """Return the entry that runs a command with its arguments."""
        if self.kind == "local":
            return {"type": "local", "command": command}
        typed = {"type": "stdio"} if self.kind in ("typed", "extension") else {}
        return {**typed, "cmd" if self.kind == "extension" else "command": command[0], "args": command[1:]}

    def locations(self, machine: Machine) -> list[Path]:
        if self.one_of:
            candidates = machine.places(self.one_of)
            return [next((path for path in candidates if path.is_file()), candidates[-1])]
        own = {"darwin": self.darwin, "win32": self.win32}.get(machine.platform, ())
        older = [path for path in machine.places(self.older) if path.is_file()]
        return [*(machine.places(own) or machine.places(self.paths)), *older]

    def configs(self, machine: Machine) -> list[Path]:
        """Return the configuration files to write, existing or not; none if the client is not installed."""
        here = [path for path in self.locations(machine) if path.is_file() or self._has_folder(path, machine)]
        if not here and self.program and find_program(self.program, machine.environ.get("PATH", "")):
            return self.locations(machine)[:1]
        return here

    def _has_folder(self, path: Path, machine: Machine) -> bool:
        """Return whether the client's own folder exists, and is not the home folder itself."""
        folder = path.parents[self.levels - 1]
        return folder != machine.home and folder.is_dir()


CLIENTS = tuple(
    Client(name, **about | ({"keys": tuple(about["keys"])} if "keys" in about else {}))
    for name, about in _DATA["clients"].items()
)
BY_NAME = {client.name: client for client in CLIENTS}


def project_files(root: Path | None) -> list[Path]:
    """Return the clients' configurations of a project; links are left out."""
    return [] if root is None else [root / name for name in PROJECT_FILES if _is_file_below(root, name)]


def user_files(machine: Machine) -> list[Path]:
    """Return the configurations that name the user's servers for all projects."""
    own = [machine.home / name for name in _DATA["user_files"]]
    of_clients = [client.locations(machine) + machine.places(client.reads) for client in CLIENTS]
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
