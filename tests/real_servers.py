"""Real MCP servers from npm and PyPI, in pinned versions, installed into a folder.

`install(folder)` returns the entries of a client's configuration (`mcpServers`). A second call finds what is
already there. Nothing is downloaded when a server starts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NPM_OPTIONS = (
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--silent",
    "--prefer-offline",
    "--ignore-scripts",
)
_INSTALL_S = 600


@dataclass(frozen=True, slots=True)
class RealServer:
    """One server: its package, its program, and a call that changes nothing."""

    package: str
    program: str
    """The name of its script in npm's `.bin`; for a Python package, its module."""
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """`{work}` stands for the folder that the server may use."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def from_pypi(self) -> bool:
        return "==" in self.package


SERVERS = {
    "filesystem": RealServer(
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "mcp-server-filesystem",
        "list_directory",
        {"path": "{work}"},
        args=("{work}",),
    ),
    "everything": RealServer(
        "@modelcontextprotocol/server-everything@2026.8.31",
        "mcp-server-everything",
        "echo",
        {"message": "hello"},
    ),
    "memory": RealServer(
        "@modelcontextprotocol/server-memory@2026.8.31",
        "mcp-server-memory",
        "read_graph",
        env={"MEMORY_FILE_PATH": "{work}/memory.jsonl"},
    ),
    "git": RealServer("mcp-server-git==2026.10.19", "mcp_server_git", "git_status", {"repo_path": "{work}"}),
    "time": RealServer(
        "mcp-server-time==2026.10.19", "mcp_server_time", "get_current_time", {"timezone": "UTC"}
    ),
}


def install(folder: Path, work: Path, names: Iterable[str] = SERVERS) -> dict[str, dict[str, Any]]:
    """Install servers; return their entries, which let them use the folder `work`."""
    chosen = {name: SERVERS[name] for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    _install_npm(folder, [server.package for server in chosen.values() if not server.from_pypi])
    python = _install_pypi(folder, [server for server in chosen.values() if server.from_pypi])
    return {name: _entry(server, folder, python, work) for name, server in chosen.items()}


def filled(value: Any, work: Path) -> Any:
    """Return arguments or variables with the folder put in."""
    return json.loads(json.dumps(value).replace("{work}", str(work)))


def _install_npm(folder: Path, packages: list[str]) -> None:
    wanted = {"private": True, "dependencies": dict(package.rsplit("@", 1) for package in packages)}
    manifest = folder / "package.json"
    if not packages or (manifest.exists() and json.loads(manifest.read_text()) == wanted):
        return
    manifest.unlink(missing_ok=True)
    made = folder / "wanted.json"
    made.write_text(json.dumps(wanted))
    made.rename(manifest)
    try:
        subprocess.run(["npm", "install", *NPM_OPTIONS], cwd=folder, check=True, timeout=_INSTALL_S)
    except BaseException:
        manifest.unlink()
        raise


def _install_pypi(folder: Path, servers: list[RealServer]) -> Path:
    """Return a Python that has the packages: this one, or that of a new environment."""
    here = subprocess.run(
        [sys.executable, "-c", "".join(f"import {server.program}\n" for server in servers)],
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if here.returncode == 0:
        return Path(sys.executable)
    python = folder / "python" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "python", with_pip=False)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, "--quiet", *(server.package for server in servers)],
        check=True,
        timeout=_INSTALL_S,
        stderr=subprocess.DEVNULL,
    )
    return python


def _entry(server: RealServer, folder: Path, python: Path, work: Path) -> dict[str, Any]:
    if server.from_pypi:
        command, args = str(python), ["-m", server.program]
    else:
        command, args = str(folder / "node_modules" / ".bin" / server.program), []
    return {
        "command": command,
        "args": [*args, *filled(list(server.args), work)],
        "env": filled(dict(server.env), work),
    }
