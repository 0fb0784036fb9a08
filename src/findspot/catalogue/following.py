"""Following servers: whoever reports a change of its tools has them indexed again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from findspot.catalogue.consent import read_build_record
from findspot.catalogue.live_connection import NESTED_VARIABLE, ServerCallError, error_line
from findspot.catalogue.server_pool import ServerPool
from findspot.catalogue.server_registry import ServerRegistry
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger

_log = get_logger("catalogue")

_STOP_PATIENCE_S = 10.0

Changed = Callable[[Path, str, Sequence[ToolDefinition]], None]


class Follower:
    """A thread that keeps every server running that this user agreed to start and to follow."""

    def __init__(self, home: Path, paths: Sequence[Path], changed: Changed) -> None:
        self._home = home
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
        pool = ServerPool(self._home)
        async with anyio.create_task_group() as group:
            for path, specs in self._specs.items():
                for spec in specs:
                    group.start_soon(self._follow, pool, path, spec)
            await anyio.to_thread.run_sync(self._stop.wait, abandon_on_cancel=True)
            group.cancel_scope.cancel()
        await pool.aclose()

    async def _follow(self, pool: ServerPool, path: Path, spec: ServerSpec) -> None:
        async def changed(tools: tuple[ToolDefinition, ...]) -> None:
            await anyio.to_thread.run_sync(self._apply, path, spec.name, tools)

        try:
            await pool.follow(spec, changed)
        except ServerCallError as error:
            _log.warning("the server %s is no longer followed: %s", spec.name, error_line(error))

    def _apply(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        try:
            self._changed(path, server, tools)
        except (FindspotError, OSError) as error:
            _log.warning("the new tools of %s could not be indexed: %s", server, error)


def agreed_to_follow(
    home: Path, paths: Sequence[Path], environ: Mapping[str, str] = ENVIRONMENT
) -> dict[Path, list[ServerSpec]]:
    """Return the servers of each index file to listen to: those agreed to that answered when last asked.

    There are none for a Findspot that another one started.
    """
    if NESTED_VARIABLE in environ:
        return {}
    registry = ServerRegistry(home, paths)
    followed = {}
    for path in paths:
        about = read_build_record(home, path)
        if not about.follow or not path.exists():
            continue
        specs = [spec for spec in registry.servers(path) if spec.name in about.digests]
        specs = [spec for spec in specs if registry.is_usable(spec)]
        if specs:
            followed[path] = specs
    return followed
