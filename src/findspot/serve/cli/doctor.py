"""`findspot doctor`: check what Findspot needs, and say what to do."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from findspot import __version__
from findspot.catalogue.known_clients import CLIENTS, Client, Machine
from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.core.files import folder_bytes
from findspot.core.model import IndexState, SkipReason
from findspot.core.paths import home_folder
from findspot.core.platforms import native, remote_kind
from findspot.core.settings import EmbedSettings
from findspot.door.address import reason_for_none
from findspot.door.connection import ask
from findspot.embed.survey import survey
from findspot.engine import Engine
from findspot.index_folders import find_orphans
from findspot.project import Project
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply, command
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.server_commands import sentence
from findspot.serve.cli.setup_command import Python, command_in, serve_command, server_in

ENOUGH_DISK_BYTES = 1024 * 1024 * 1024
_SERVER_S = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    """One checked thing; `remedy` says what to do, and is empty if there is nothing to do."""

    name: str
    text: str
    remedy: str = ""
    fails: bool = False
    """Whether Findspot does not work without the remedy."""

    @property
    def state(self) -> str:
        return ("error" if self.fails else "warning") if self.remedy else "ok"


def machine_checks() -> Iterator[Check]:
    """Yield the checks that need no index."""
    home, python = home_folder(), Python()
    running = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield Check("python", f"{running}, {platform.system()} {platform.release()}, {platform.machine()}")
    started = " ".join(serve_command(python))
    yield Check("findspot", f"findspot {__version__}, started by `{started}`")
    remedy = "Install a C compiler and then findspot again, or take a released wheel."
    missing = "missing: Findspot indexes more slowly"
    yield Check("compiled part", "in use") if native() else Check("compiled part", missing, remedy)
    nearest = next(each for each in (home, *home.parents) if each.exists())
    yield _home(home, nearest)
    free = shutil.disk_usage(nearest).free
    remedy = "Free some space, or set FINDSPOT_HOME to a folder on another disk."
    text = f"{shapes.size(free)} free at {nearest}"
    yield Check("disk", text, remedy if free < ENOUGH_DISK_BYTES else "")
    if why := reason_for_none():
        yield Check("service", f"not used, as {why}")
    else:
        about = ask("status")
        yield Check("service", sentence(about) if about else "does not run; the next question starts it")


def _home(home: Path, nearest: Path) -> Check:
    text = f"{home}, {shapes.size(folder_bytes(home))}" if home.exists() else f"{home}, not there yet"
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as problem:
        remedy = "Take ownership of it, or set FINDSPOT_HOME to another folder."
        return Check("store", f"{text}; not writable: {problem.strerror}", remedy, fails=True)
    if kind := remote_kind(nearest):
        remedy = "Set FINDSPOT_HOME to a folder on a local disk: locks may not hold here."
        return Check("store", f"{text}; on a remote file system ({kind})", remedy)
    if os.name == "posix" and home.exists() and stat.S_IMODE(home.stat().st_mode) & 0o077:
        return Check("store", f"{text}; others can read it", f"chmod 700 {home}")
    return Check("store", text)


def project_checks(engine: Engine, project: Project | None) -> Iterator[Check]:
    """Yield the checks of configuration, assistants and indexes."""
    settings = project.settings if project else engine.settings
    wrong = "; ".join(settings.warnings)
    remedy = "Correct it; `findspot config` shows the values in force." if wrong else ""
    yield Check("configuration", wrong or "valid", remedy)
    yield _model(settings.embed)
    yield from client_checks(Machine())
    yield from server_checks(engine, project)
    yield _index(project)
    yield _indexes(engine)


def _model(settings: EmbedSettings) -> Check:
    chosen = next(row for row in survey(settings) if row.chosen)
    if not chosen.installed:
        remedy = "`findspot models` lists the providers and what each needs."
        return Check("model", f"{chosen.provider}: {chosen.detail}", remedy, fails=True)
    goes = f"texts go to {chosen.sends_to}" if chosen.leaves_machine else "nothing leaves this machine"
    return Check("model", f"{chosen.provider}, {goes}")


def client_checks(machine: Machine) -> Iterator[Check]:
    """Yield one check per assistant: whether it knows a Findspot that can be started."""
    found = [(client, path) for client in CLIENTS for path in client.configs(machine)]
    for client, path in found:
        yield _client(client, path)
    if not found:
        remedy = "`findspot setup --client NAME` writes a configuration."
        yield Check("assistants", "none found on this machine", remedy)


def _client(client: Client, path: Path) -> Check:
    title, remedy = client.title, "Run `findspot setup`."
    try:
        entry = server_in(client, path)
    except FindspotError as problem:
        return Check("assistants", f"{title}: {problem.user_message}", problem.hint, fails=True)
    if entry is None:
        return Check("assistants", f"{title}: Findspot is not configured ({path})", remedy)
    command = command_in(entry) or [""]
    if Path(command[0]).is_absolute() and not Path(command[0]).exists():
        return Check("assistants", f"{title}: {command[0]} does not exist", remedy, fails=True)
    return Check("assistants", f"{title}: starts `{' '.join(command)}`")


def server_checks(engine: Engine, project: Project | None) -> Iterator[Check]:
    """Yield one check per MCP server of the catalogue that the user agreed to: whether it starts."""
    from findspot.catalogue.server_pool import ask_servers

    registry = engine.catalogue(project.root if project else ".").registry
    usable = [spec for name in registry.usable() if (spec := registry.find(name))]
    remedy = "Check its entry; `findspot tools list` shows what is known of it."
    for name, answer in (ask_servers(usable, _SERVER_S) if usable else {}).items():
        if answer.error is not None:
            yield Check("servers", f"{name}: {answer.error}", remedy)
        else:
            yield Check("servers", f"{name}: starts, {len(answer.tools)} tools")
    for spec in registry.lacking():
        yield Check("servers", f"{spec.name}: not agreed to as it is now", f"Run {spec.index_command}.")


def _index(project: Project | None) -> Check:
    if project is None:
        return Check("index", "no project here")
    status = project.status()
    text = f"{status.project_path}: {status.state.replace('_', ' ')}, {status.total_files:,} files"
    remedy, failed = "Run `findspot index`.", status.state is IndexState.FAILED
    if status.last_error:
        return Check("index", f"{text}; {status.last_error}", remedy, fails=failed)
    if failed or status.state in (IndexState.NOT_FOUND, IndexState.INCOMPLETE):
        return Check("index", text, remedy, fails=failed)
    if status.pending_changes and not status.watcher_active:
        behind = f"{text}; {status.pending_changes:,} changes wait"
        return Check("index", behind, "Run `findspot index`, or let a server watch.")
    if closed := status.skipped.get(SkipReason.UNREADABLE):
        remedy = "Correct their permissions; `findspot status --skipped unreadable` lists them."
        return Check("index", f"{text}; {closed:,} cannot be read", remedy)
    return Check("index", f"{text}, {status.total_chunks:,} chunks")


def _indexes(engine: Engine) -> Check:
    indexed, orphans = engine.projects(), find_orphans(engine.settings.home)
    failed = [status.project_path for _, status in indexed if status.state is IndexState.FAILED]
    text = f"{len(indexed)} on this machine"
    if failed:
        remedy = "Run `findspot index` in each."
        return Check("indexes", f"{text}, damaged: {', '.join(failed)}", remedy, fails=True)
    if orphans:
        return Check("indexes", f"{text}, {len(orphans)} without a project", "Run `findspot clean`.")
    return Check("indexes", text)


_CHECK = shapes.Shape({"name state text remedy": str})
_MARKS = {"ok": ("ok  ", None), "warning": ("warn", "yellow"), "error": ("FAIL", "red")}


@command(path=True)
def doctor(reply: Reply, project: str | None) -> None:
    """Look at everything Findspot needs, and say what to do about what is wrong.

    Exit code 1 when something does not work; warnings alone are 0.
    """
    with open_engine() as engine:
        opened, problem = _open_project(engine, project)
        checks = [*machine_checks(), *project_checks(engine, opened)]
        checks += [problem] if problem else []
    exit_code = int(any(check.state == "error" for check in checks))
    reply.answer_program({"checks": list(map(_CHECK, checks)), "ok": not exit_code}, exit_code)
    for check in checks:
        mark, colour = _MARKS[check.state]
        output.line(f"{mark}  {check.name}: {check.text}", fg=colour)
        if check.remedy:
            output.line(f"      → {check.remedy}", bold=True)
    raise click.exceptions.Exit(exit_code)


def _open_project(engine: Engine, given: str | None) -> tuple[Project | None, Check | None]:
    """Return the project here, or the failed check if it cannot be opened."""
    try:
        return engine.detect("." if given is None else given), None
    except ProjectNotDetectedError:
        return (None if given is None else engine.project(given)), None
    except FindspotError as problem:
        remedy = problem.hint or "Name another folder."
        return None, Check("project", problem.user_message, remedy, fails=True)
