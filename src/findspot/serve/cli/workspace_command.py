"""`findspot workspace`: the projects that are asked as one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from findspot.core.config import INDEX_FILE, configured_roots, load_settings, set_value
from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.paths import absolute, index_folder, project_root
from findspot.engine import Engine
from findspot.serve.cli.options import Group, Reply, common
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.project_commands import show_members

_FOLDER = click.option("--path", metavar="PATH", help="The workspace's folder. Default: the one you are in.")


@click.group(cls=Group, invoke_without_command=True)
@_FOLDER
@common
@click.pass_context
def workspace(ctx: click.Context, reply: Reply, path: str | None) -> None:
    """Show the members of the workspace that you are in: the repositories below a folder, and others.

    A question that is asked in the folder is put to all members, one that is asked inside a member to that
    one. `--project` takes the names that are listed here, and globs of them.
    """
    if ctx.invoked_subcommand is None:
        with _opened(path) as (engine, folder):
            _show(engine, folder, reply)


@workspace.command("add")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@_FOLDER
@common
def add(reply: Reply, folders: tuple[str, ...], path: str | None) -> None:
    """Add members that lie elsewhere; `findspot index` indexes them."""
    with _opened(path) as (engine, folder):
        added = [project_root(each) for each in folders]
        _keep(engine, folder, [*_named(engine, folder), *added])
        _show(engine, folder, reply)


@workspace.command("remove")
@click.argument("members", nargs=-1, required=True, metavar="MEMBER...")
@_FOLDER
@common
def remove(reply: Reply, members: tuple[str, ...], path: str | None) -> None:
    """Remove members that lie elsewhere, by name or folder; their indexes stay."""
    with _opened(path) as (engine, folder):
        named, around = _named(engine, folder), engine.workspace(folder)
        known = around.members if around else {}
        for member in members:
            root = known.get(member) or absolute(member).resolve()
            if root not in named:
                found = "lies in the workspace's folder" if root in known.values() else "is no member"
                hint = "`findspot workspace` lists the members; `remove` takes those that were added."
                raise InvalidArgumentError(f"'{member}' {found}.", hint=hint)
            named.remove(root)
        _keep(engine, folder, named)
        _show(engine, folder, reply)


@contextlib.contextmanager
def _opened(given: str | None) -> Iterator[tuple[Engine, Path]]:
    """Provide the engine and the folder of the workspace around a folder; else the folder itself."""
    with open_engine() as engine:
        folder = project_root(given or ".")
        around = engine.workspace(folder)
        yield engine, around.folder if around else folder


def _named(engine: Engine, folder: Path) -> list[Path]:
    own = index_folder(engine.settings.home, folder)
    return list(configured_roots(folder, load_settings(folder, own)))


def _keep(engine: Engine, folder: Path, roots: list[Path]) -> None:
    """Write the list of members into the configuration of the workspace, and remember the workspace."""
    file = index_folder(engine.settings.home, folder) / INDEX_FILE
    set_value(file, "roots", [str(root) for root in dict.fromkeys(roots) if root != folder])
    if (around := engine.workspace(folder)) is not None:
        engine.known_workspaces.note(around.folder, around.members.values())


def _show(engine: Engine, folder: Path, reply: Reply) -> None:
    found = engine.workspace(folder)
    if found is None:
        error = ProjectNotDetectedError(str(folder))
        error.user_message = f"{folder} is no workspace: it holds no repository, and names no member."
        error.hint = "Go to a folder of repositories, or add members: findspot workspace add FOLDER."
        raise error
    show_members(replace(found, here=None), reply, here=found.here)
