"""`findspot service`: the resident process that answers all clients of this home."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

import click

from findspot.core.utc_time import age
from findspot.door.address import home_folder, reason_for_none, service_folder
from findspot.door.connection import ask
from findspot.serve.cli import output
from findspot.serve.cli.failure import DECLINED
from findspot.serve.cli.options import Group, Reply, common
from findspot.serve.cli.server_commands import logs

_STOP_S = 70.0
_LOOK_S = 0.05


@click.group(cls=Group)
def service() -> None:
    """Show, stop or follow the resident process.

    It is started by the first command or assistant that needs it, answers all of them, and leaves by itself
    some minutes after the last one.
    """


@service.command()
@common
def status(reply: Reply) -> None:
    """Show whether the resident process runs, and whom it answers."""
    about = ask("status")
    if reply.json:
        output.emit({"running": about is not None, "folder": service_folder(home_folder()), **(about or {})})
        return
    if about is None:
        why = reason_for_none()
        output.line("The resident process does not run." + (f" Here it is not used: {why}." if why else ""))
        return
    output.line(sentence(about), bold=True)
    for client in about["clients"]:
        output.line(f"  {client['command'] or client['kind']}  in {client['folder']}")
    output.fields([("watches", "\n".join(about["projects"]))])


def sentence(about: dict[str, Any]) -> str:
    """Return what the resident process is doing, in one line."""
    clients = output.count(len(about["clients"]), "client")
    minutes = int(age(about["started"]).total_seconds() // 60)
    since = output.count(minutes, "minute")
    return f"Process {about['pid']} of version {about['version']} runs for {since}, with {clients}."


@service.command()
@common
def stop(reply: Reply) -> None:
    """Have the resident process leave, once the calls that run are answered.

    Assistants that are connected go on with a new one.
    """
    about = ask("stop")
    if about is not None:
        deadline = time.monotonic() + _STOP_S
        while _runs(about["pid"]) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if _runs(about["pid"]):
            reply.give({"stopped": False}, f"Process {about['pid']} still finishes its calls.")
            raise click.exceptions.Exit(DECLINED)
    reply.give({"stopped": about is not None}, "Stopped." if about else "The resident process does not run.")


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


service.add_command(logs, "logs")
