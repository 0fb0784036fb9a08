"""Servers that move from clients' configurations behind Findspot, and back.

A moved server is stored like one that the user added for all projects. The client's file loses its entry,
which the journal of setup keeps, so that undo puts it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot.catalogue.client_configs import with_braces
from findspot.catalogue.known_clients import Client
from findspot.catalogue.server_sources import ServerSpec, read_sources
from findspot.core.errors import FindspotError
from findspot.serve.cli.clients.config_files import servers_in

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class MovableServer:
    """A server of a client's configuration that can be moved."""

    client: Client
    path: Path
    entry: Any
    spec: ServerSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def stored_entry(self) -> dict[str, Any]:
        """The entry as it is stored; one with a path from its own folder keeps that folder."""
        own = dict(with_braces(self.entry, self.path))
        starts_there = self.spec.url is None and not own.get("cwd") and self.spec.names_own_file
        return own | ({"cwd": str(self.spec.base)} if starts_there else {})


def movable_servers(client: Client, path: Path) -> list[MovableServer]:
    """Return the enabled servers of a configuration other than Findspot itself."""
    entries = servers_in(client, path)
    try:
        specs = read_sources([path]).servers if entries else ()
    except FindspotError:  # the file names no servers that can be read
        return []
    return [
        MovableServer(client, path, entries[spec.name], spec)
        for spec in specs
        if spec.name in entries and "${{" not in str(entries[spec.name])  # which Continue looks up
    ]


class Gateway:
    """The servers behind Findspot that came from clients."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._registry = catalogue.registry
        self._indexer = catalogue.indexer
        self._index = catalogue.user_index
        self._added = self._registry.added(self._index)

    def conflicts(self, server: MovableServer, chosen: Iterable[MovableServer]) -> bool:
        """Return whether another server already has the name of this one."""
        stored = self._added.entries().get(server.name)
        others = [other.stored_entry for other in chosen if other.name == server.name]
        return any(other != server.stored_entry for other in ([stored] if stored else []) + others)

    def take(self, servers: Sequence[MovableServer]) -> None:
        """Store servers that the user agreed to move and to start."""
        self._added.put({server.name: server.stored_entry for server in servers})
        names = {server.name for server in servers}
        self._registry.agreements.add(
            spec for spec in self._registry.servers(self._index)
            if spec.name in names and spec.source == self._added.path
        )  # fmt: skip

    def is_moved(self, name: str, entry: Any, path: Path) -> bool:
        """Return whether the stored server is the entry that was moved from a client's file.

        The user may have removed it since, and added another one of that name.
        """
        stored = dict(self._added.entries().get(name) or {})
        stored.pop("cwd", None)
        return stored == {key: value for key, value in with_braces(entry, path).items() if key != "cwd"}

    def drop(self, names: Collection[str]) -> None:
        """Forget servers, with their agreements, choices and tools."""
        for spec in self._registry.servers(self._index):
            if spec.name in names and spec.source == self._added.path:
                self._registry.agreements.remove(spec)
                self._registry.choices.forget(self._index, spec.name)
                self._indexer.remove_server(self._index, spec.name)
        self._added.remove(names)
