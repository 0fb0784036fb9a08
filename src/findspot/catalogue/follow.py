"""Keeping a catalogue current while it is served: servers say when their tools change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from findspot.catalogue.connect import NESTED_VARIABLE, follow_servers
from findspot.catalogue.consent import Agreements
from findspot.catalogue.memory import recall
from findspot.catalogue.model import ToolDefinition
from findspot.catalogue.sources import ServerSpec, read_sources
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger

_log = get_logger("catalogue")

_STOP_PATIENCE_S = 10.0

Changed = Callable[[Path, str, Sequence[ToolDefinition]], None]


class Follower:
    """A thread with a connection to every server that this user agreed to start and to follow."""

    def __init__(self, home: Path, paths: Sequence[Path], changed: Changed) -> None:
        self._specs = agreed_to_follow(home, paths)
        self._changed = changed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow-servers", daemon=True)

    def start(self) -> None:
        if self._specs:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_PATIENCE_S)

    def _run(self) -> None:
        try:
            anyio.run(self._main)
        except Exception:  # noqa: BLE001 - the server goes on without following
            _log.exception("servers are no longer followed")

    async def _main(self) -> None:
        async with anyio.create_task_group() as group:
            for path, specs in self._specs.items():
                group.start_soon(self._follow, path, specs)
            await anyio.to_thread.run_sync(self._stop.wait, abandon_on_cancel=True)
            group.cancel_scope.cancel()

    async def _follow(self, path: Path, specs: Sequence[ServerSpec]) -> None:
        async def changed(server: str, tools: tuple[ToolDefinition, ...]) -> None:
            await anyio.to_thread.run_sync(self._tell, path, server, tools)

        await follow_servers(specs, changed)

    def _tell(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        try:
            self._changed(path, server, tools)
        except (FindspotError, OSError) as error:
            _log.warning("the new tools of %s could not be indexed: %s", server, error)


def agreed_to_follow(
    home: Path, paths: Sequence[Path], environ: Mapping[str, str] = os.environ
) -> dict[Path, list[ServerSpec]]:
    """Return the servers of each index file to listen to: those agreed to that answered when last asked.

    There are none for a Findspot that another one started.
    """
    if NESTED_VARIABLE in environ:
        return {}
    agreements = Agreements(home)
    followed = {}
    for path in paths:
        about = recall(home, path)
        if not about.follow or not path.exists():
            continue
        try:
            specs = read_sources(list(about.files)).without(about.exclude).servers
        except FindspotError as error:
            _log.warning("the servers of %s are not followed: %s", path, error)
            continue
        specs = tuple(spec for spec in specs if spec.name in about.digests and agreements.holds(spec))
        if specs:
            followed[path] = list(specs)
    return followed
