"""Generate the entry that setup adds for each client."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from findspot.catalogue.known_clients import CLIENTS, Client, Machine

_HEAD = """\
# Entries for each assistant

`findspot setup` finds the assistants on your machine and adds an entry to each one's configuration file
([first steps](quickstart.md#5-connect-an-assistant)). Each section below names the file and the entry. Setup
writes the full path of the command `findspot`, and leaves everything else in the file as it is. For a client
that is not listed, the command is `findspot serve --toolsets project`, over standard input and output. For a
[team's server](teams.md#connect-assistants), use the entries on that page instead.
This page is generated from the program's table of clients.
"""
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_WINDOWS_FOLDERS = {"APPDATA": "%APPDATA%", "LOCALAPPDATA": "%LOCALAPPDATA%"}
_LANGUAGES = {"json": "json", "toml": "toml"}


def clients_page() -> str:
    """Return a section for each client as Markdown."""
    entries = _printed_entries()
    return "\n".join([_HEAD, *(_section(client, entries[client.title]) for client in CLIENTS)])


def _section(client: Client, entry: str) -> str:
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
            entry,
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


def _printed_entries() -> dict[str, str]:
    """Return what `findspot setup --print` prints for each client, by its title."""
    chosen = [word for client in CLIENTS for word in ("--client", client.name)]
    with tempfile.TemporaryDirectory() as home:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-m", "findspot", "setup", "--print", *chosen],
            env=kept | {"HOME": home, "USERPROFILE": home, "FINDSPOT_HOME": home, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
    command = re.compile(r'"[^"\n]*findspot(?:\.exe)?"(?=,?$)|(?<=: )\S*/findspot$', re.MULTILINE)
    titles = "|".join(re.escape(client.title) for client in CLIENTS)
    parts = re.split(rf"^({titles}): .*\n", done.stdout, flags=re.MULTILINE)[1:]
    return {
        title: command.sub(lambda match: '"findspot"' if match[0][0] == '"' else "findspot", text.strip())
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
