"""Catalogues of a temporary folder, and real servers to ask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from findspot.catalogue.catalogue import BuildOptions, Built, Catalogue
from findspot.embed.provider_registry import open_embedder

SERVER = Path(__file__).with_name("example_server.py")
PATIENCE_S = 60
OWN_OPTIONS = {"provider", "agree", "agree_to_tools", "user_wide", "refresh", "replace_sources"}

TOOLS: list[dict[str, Any]] = [
    {
        "name": "read_file",
        "title": "Read File",
        "description": "Read contents of a file",
        "inputSchema": {},
        "serverName": "filesystem",
    },
    {
        "name": "send_email",
        "description": "Send a message to somebody by electronic mail.",
        "serverName": "mail",
        "inputSchema": {
            "type": "object",
            "properties": {
                "recipient": {"type": "string", "description": "Who gets it"},
                "priority": {"type": "string", "enum": ["urgent", "normal"]},
                "attachments": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"encoding": {"description": "How it is packed"}},
                    },
                },
            },
        },
        "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        "annotations": {"destructiveHint": True},
    },
    {"name": "get_forecast", "description": "Weather for the next days in a city.", "serverName": "weather"},
]


def entry(kind: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """A server of a client's configuration."""
    return {"command": sys.executable, "args": [str(SERVER), kind, *arguments], **more}


Write = Callable[[str, Any], Path]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "findspot"))
    (tmp_path / "user").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: Path) -> Write:
    """A JSON file in the project."""

    def written(name: str, value: Any) -> Path:
        path = root / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return path

    return written


@pytest.fixture
def open_catalogue(root: Path, tmp_path: Path) -> Iterator[Callable[[], Catalogue]]:
    """The project's catalogue as a process would open it anew."""
    opened: list[Catalogue] = []

    def catalogue() -> Catalogue:
        opened.append(Catalogue(root, tmp_path / "findspot", open_embedder))
        return opened[-1]

    yield catalogue
    for one in opened:
        one.close()


@pytest.fixture
def catalogue(open_catalogue: Callable[[], Catalogue], write: Write) -> Catalogue:
    """The three example tools, indexed."""
    made = open_catalogue()
    index(made, write("tools.json", TOOLS))
    return made


def index(catalogue: Catalogue, *sources: Path, **options: Any) -> Built:
    """Index with the agreement to every server; options of the catalogue and of the build together."""
    own = {"provider": "local:static", "agree": list}
    own |= {name: options.pop(name) for name in OWN_OPTIONS & options.keys()}
    return catalogue.indexer.index(sources, BuildOptions(**options), **own)[1]
