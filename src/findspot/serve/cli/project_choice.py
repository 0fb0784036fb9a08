"""Open the project that a command is about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from findspot.core.caller import working_folder
from findspot.core.errors import ProjectNotDetectedError
from findspot.core.log import warn_on_stderr
from findspot.core.paths import absolute, expanded, is_denied
from findspot.core.settings import Settings
from findspot.discover.checkouts import find_root, holds_code
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.cli import output
from findspot.serve.cli.interaction import can_ask, can_offer, prompt
from findspot.serve.cli.terminal import terminal
from findspot.serve.project_files import covers, folder_in, limit_note, package_around
from findspot.workspace import Asked, is_workspace


@contextlib.contextmanager
def open_engine() -> Iterator[Engine]:
    with _engine(None) as engine:
        _show_warnings(engine.settings)
        yield engine


@contextlib.contextmanager
def open_project(
    given: str | None, flags: dict[str, object] | None = None, *, exact: bool = False, ask: bool = True
) -> Iterator[Project]:
    """Provide the project named on the command line, else the one around the working directory.

    `exact` is for commands that change an index: they take a named folder for what it is,
    where the others find the project around it. Without `ask`, nothing detected is an error,
    and so it is for a question whose answer goes into a pipe.
    """
    with open_asked(given, flags, exact=exact, ask=ask) as asked:
        yield asked.only()


@contextlib.contextmanager
def open_asked(
    given: str | None,
    flags: dict[str, object] | None = None,
    *,
    exact: bool = False,
    to_index: bool = False,
    ask: bool = True,
) -> Iterator[Asked]:
    """Provide the project or workspace that is named on the command line, else the one around the folder.

    With `to_index` a named folder is taken for what it is, but for one that the index of the project
    around it covers.
    """
    with _engine(flags) as engine:
        may_ask = ask and (can_ask() if exact or to_index else can_offer())
        if given is None:
            asked = _detected(engine, ask=ask, may_ask=may_ask)
        else:
            asked = _find(engine, given, exact=exact, to_index=to_index)
        _show_warnings(asked.settings)
        yield asked


@contextlib.contextmanager
def _engine(flags: dict[str, object] | None) -> Iterator[Engine]:
    shared = terminal().engine
    if shared and not flags:
        yield shared
        return
    warn_on_stderr(but_of="config")  # which `_show_warnings` prints
    with contextlib.closing(Engine(flags)) as engine:
        yield engine


def _show_warnings(settings: Settings) -> None:
    shown = terminal().warned
    for warning in settings.warnings:
        if warning not in shown:
            shown.add(warning)
            output.warn(warning)


def _to_index(engine: Engine, folder: Path) -> Project:
    around = engine.project(engine.indexed_root(folder) or folder)
    under = folder_in(around, folder)
    return engine.project(folder) if under and not covers(around, under) else around


def _find(engine: Engine, given: str, *, exact: bool, to_index: bool) -> Asked:
    """Return what a command is about: a name of a member, then a folder, then the name of any project."""
    here = engine.workspace()
    chosen = here.chosen(given) if here else None
    if chosen := chosen or (None if absolute(given).is_dir() else engine.named(given)):
        return chosen
    folder = engine.folder(given)
    if not (exact or to_index):
        return (here and here.around(folder)) or engine.workspace(folder) or _around(engine, folder)
    around = engine.workspace(folder)
    if around is not None and around.here is None:
        return around
    return _to_index(engine, folder) if to_index else engine.project(folder)


def _around(engine: Engine, folder: Path) -> Project:
    return engine.project(engine.indexed_root(folder) or find_root(folder) or folder)


def _detected(engine: Engine, *, ask: bool, may_ask: bool) -> Asked:
    try:
        return engine.workspace() or engine.detect()
    except ProjectNotDetectedError:
        if not ask:
            raise
    return engine.project(_choose_folder() if may_ask else _unmarked_folder())


_OF_THE_SYSTEM = frozenset({"bin", "boot", "dev", "etc", "lib", "proc", "run", "sbin", "sys", "usr"})


def _unmarked_folder() -> Path:
    """Return the working folder, if it has code in it; else say why it cannot be meant."""
    here, home = working_folder(), expanded("~").resolve()
    top = next((part for part in here.parts[1:] if part != "usr"), "usr")
    why = ""
    if home.is_relative_to(here):
        why = f"{here} {'is' if here == home else 'holds'} your home folder, and is no project."
    elif not any(here.iterdir()):
        why = f"{here} is empty."
    elif top in _OF_THE_SYSTEM or is_denied(here.name, folder=True):
        why = f"{here} belongs to the system or to a tool, and is no project."
    elif holds_code(here):
        output.note(f"No .git or manifest is here or above: {here} is taken for the project.")
        return here
    hint = "Go to the folder of a project, or name it with --project."
    nothing = f"No code is in {here} or directly below. Name the project's folder, or run `git init` in it."
    raise ProjectNotDetectedError(str(here), why, hint=hint if why else nothing)


def _choose_folder() -> str:
    """Ask which folder to use if none upwards looks like a project."""
    here = str(working_folder())
    output.note("Could not detect project root.")
    output.note(f" [1] Use current directory: {here}")
    output.note(" [2] Enter a custom path")
    while (choice := prompt("Choice:")) not in ("1", "2"):
        output.note("Please answer 1 or 2.")
    return here if choice == "1" else prompt("Path:")


def folder_inside(asked: Asked, given: str | None) -> str | None:
    """Return the folder that a command is about, if it is inside a larger project.

    It is the folder that was named, else the package that the working directory belongs to.
    """
    if is_workspace(asked) and len(asked.members) > 1:
        return None
    project = asked.only()
    if given is None:
        return package_around(project, working_folder())
    return folder_in(project, absolute(given).resolve())


def folder_note(project: Asked, under: str | None) -> str | None:
    return limit_note(project, under, f"Use --project {project.root}") if under else None
