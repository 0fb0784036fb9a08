"""Generate the entry that setup adds for each client."""

from __future__ import annotations

from pathlib import Path

from findspot.catalogue.known_clients import CLIENTS, Client, Machine
from findspot.serve.cli.setup_command import with_server

_HEAD = """\
# Entries for each assistant

`findspot setup` finds the assistants on your machine and adds an entry to each one's configuration file
([first steps](quickstart.md#5-connect-an-assistant)). Each section below names the file and the entry. Setup
writes the full path of the command `findspot`, and leaves everything else in the file as it is. For a client
that is not listed, the command is `findspot serve --toolsets project`, over standard input and output. For a
[team's server](teams.md#connect-assistants), use the entries on that page instead.
This page is generated from the program's table of clients.
"""
_COMMAND = ["findspot", "serve", "--toolsets", "project"]
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_WINDOWS_FOLDERS = {"APPDATA": "%APPDATA%", "LOCALAPPDATA": "%LOCALAPPDATA%"}
_LANGUAGES = {"json": "json", "toml": "toml"}


def clients_page() -> str:
    """Return a section for each client as Markdown."""
    return "\n".join([_HEAD, *map(_section, CLIENTS)])


def _section(client: Client) -> str:
    return "\n".join(
        [
            f"## {client.title}",
            "",
            "```bash",
            f"findspot setup --client {client.name}",
            "```",
            "",
            f"{client.then} Findspot's entry is in {_files(client)}:",
            "",
            f"```{_LANGUAGES.get(client.format, 'yaml')}",
            _entry(client),
            "```",
            "",
        ]
    )


def _files(client: Client) -> str:
    """Return the usual file on each system, once if it is the same on all."""
    named: dict[str, list[str]] = {}
    for platform, system in _SYSTEMS.items():
        environment = _WINDOWS_FOLDERS if platform == "win32" else {}
        path = client.locations(Machine(platform, Path("~"), environment))[0].as_posix()
        shown = path.replace("/", "\\") if path.startswith("%") else path
        named.setdefault(shown, []).append(system)
    if len(named) == 1:
        return f"`{next(iter(named))}`"
    return ", ".join(f"`{path}` ({' and '.join(systems)})" for path, systems in named.items())


def _entry(client: Client) -> str:
    """Return what setup writes to a file that is not there yet."""
    written = with_server(client, Path("no such file"), _COMMAND).after or b""
    return written.decode().strip()
