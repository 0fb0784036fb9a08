"""Open the project that a command is about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from findspot.core.caller import working_folder
from findspot.core.errors import ProjectNotDetectedError
from findspot.core.paths import absolute
from findspot.serve.cli import output
from findspot.serve.cli.interaction import can_ask, can_offer, prompt
from findspot.serve.cli.remote_terminal import remote_terminal

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue
    from findspot.core.settings import Settings
    from findspot.engine import Engine
    from findspot.project import Project


@contextlib.contextmanager
def open_engine(flags: dict[str, object] | None = None) -> Iterator[Engine]:
    """Provide the engine, for a command that needs no project."""
    with _engine(flags) as engine:
        _show_warnings(engine.settings)
        yield engine


@contextlib.contextmanager
def open_catalogue(given: str | None) -> Iterator[Catalogue]:
    """Provide the catalogue of tools of a project."""
    with open_engine() as engine:
        yield engine.catalogue(given or ".")


@contextlib.contextmanager
def open_project(
    given: str | None,
    flags: dict[str, object] | None = None,
    *,
    exact: bool = False,
    to_index: bool = False,
    ask: bool = True,
) -> Iterator[Project]:
    """Provide the project named on the command line, else the one around the working directory.

    `exact` is for commands that change an index: they take a named folder for what it is,
    where the others find the project around it. With `to_index` it is the same, but for a folder that
    the index of the project around it covers. Without `ask`, nothing detected is an error,
    and so it is for a question whose answer goes into a pipe.
    """
    with _engine(flags) as engine:
        if to_index and given is not None:
            project = _to_index(engine, given)
        else:
            changes = exact or to_index
            may_ask = ask and (can_ask() if changes else can_offer())
            project = _find(engine, given, exact=changes, may_ask=may_ask)
        _show_warnings(project.settings)
        yield project


@contextlib.contextmanager
def _engine(flags: dict[str, object] | None) -> Iterator[Engine]:
    from findspot.engine import Engine

    if not flags and (terminal := remote_terminal()) is not None:
        yield terminal.engine()
        return
    with contextlib.closing(Engine(flags)) as engine:
        yield engine


def _show_warnings(settings: Settings) -> None:
    terminal = remote_terminal()
    shown = _warned if terminal is None else terminal.warned
    for warning in settings.warnings:
        if warning not in shown:
            shown.add(warning)
            output.warn(warning)


_warned: set[str] = set()
"""Warnings that this process has printed."""


def _to_index(engine: Engine, given: str) -> Project:
    from findspot.serve.project_files import covers, folder_in

    folder = engine.folder(given)
    around = engine.project(engine.indexed_root(folder) or folder)
    under = folder_in(around, folder)
    return engine.project(folder) if under and not covers(around, under) else around


def _find(engine: Engine, given: str | None, *, exact: bool, may_ask: bool) -> Project:
    if given is not None and exact:
        return engine.project(given)
    try:
        return engine.detect("." if given is None else given)
    except ProjectNotDetectedError:
        if given is not None:
            return engine.project(given)
        if not may_ask:
            raise
    return engine.project(_choose_folder())


def _choose_folder() -> str:
    """Ask which folder to use if none upwards looks like a project."""
    here = str(working_folder())
    output.note("Could not detect project root.")
    output.note(f" [1] Use current directory: {here}")
    output.note(" [2] Enter a custom path")
    while (choice := prompt("Choice:")) not in ("1", "2"):
        output.note("Please answer 1 or 2.")
    return here if choice == "1" else prompt("Path:")


def folder_inside(project: Project, given: str | None) -> str | None:
    """Return the folder that a command is about, if it is inside a larger project.

    It is the folder that was named, else the package that the working directory belongs to.
    """
    from findspot.serve.project_files import folder_in, package_around

    if given is None:
        return package_around(project, working_folder())
    return folder_in(project, absolute(given).resolve())


def folder_note(project: Project, under: str | None) -> str | None:
    """Return the note that a command is about one folder only, or None."""
    from findspot.serve.project_files import limit_note

    return limit_note(project, under, f"Use --project {project.root}") if under else None
