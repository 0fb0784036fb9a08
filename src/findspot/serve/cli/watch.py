"""`findspot watch`: keeping an index fresh from a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from findspot.core.progress import CancelToken
from findspot.serve.cli import output
from findspot.serve.cli.choose import open_project
from findspot.serve.cli.indexing import offer_index
from findspot.serve.cli.options import Manner, common, path_or_project
from findspot.serve.cli.progress import stoppable

if TYPE_CHECKING:
    from findspot.project import Project
    from findspot.sync.supervisor import Standing

_LOOK_S = 0.5


@click.command()
@path_or_project
@common
def watch(manner: Manner, project: str | None) -> None:
    """Keep the index of the project at PATH up to date until you press Ctrl-C.

    A server watches the projects it is asked about by itself; this is for when none runs. Of several
    processes on one project one watches, and another takes over when it ends.
    """
    with open_project(project) as opened, stoppable() as cancel:
        offer_index(opened, manner)
        opened.files(limit=1)  # without an index there is nothing to keep
        _follow(opened, manner, cancel)
        output.note("Stopped watching.")


def _follow(project: Project, manner: Manner, cancel: CancelToken) -> None:
    supervisor = project.watch()
    told: tuple[object, ...] = ()
    while not cancel.wait(_LOOK_S):
        standing = supervisor.standing
        if _facts(standing) != told:
            told = _facts(standing)
            _tell(project, standing, manner)


def _facts(standing: Standing) -> tuple[object, ...]:
    updates = standing.strategy.flushes if standing.strategy else 0
    return standing.watching, standing.polling, standing.last_error, updates


def _tell(project: Project, standing: Standing, manner: Manner) -> None:
    stats = standing.strategy
    values = {
        "projectPath": str(project.root),
        "watching": standing.watching,
        "strategy": stats.name if stats else project.settings.sync.strategy,
        "updates": stats.flushes if stats else 0,
        "pendingChanges": stats.pending if stats else 0,
        "lastError": standing.last_error or None,
        "polling": standing.polling or None,
    }
    if manner.json:
        output.emit_line(values)
    else:
        output.line(_sentence(values, wanted=project.wanted))


def _sentence(values: dict[str, object], *, wanted: bool) -> str:
    if values["lastError"]:
        return f"trouble: {values['lastError']}"
    if not wanted:
        return f"{values['projectPath']}: not watching; indexing was stopped. Run `findspot index` to go on."
    if not values["watching"]:
        return f"{values['projectPath']}: another process watches; standing by"
    how = f" (every few seconds: {values['polling']})" if values["polling"] else ""
    updates = output.count(int(str(values["updates"])), "update")
    return f"{values['projectPath']}: watching, {values['strategy']}, {updates}{how}"
