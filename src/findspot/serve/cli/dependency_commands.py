"""`findspot deps`: what a project depends on, and where it is installed."""

from __future__ import annotations

from pathlib import Path

import click

from findspot.dependencies.package import Dependency
from findspot.dependencies.project_dependencies import list_dependencies
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply, common, project_option
from findspot.serve.cli.project_choice import open_project


@click.command()
@project_option
@click.option("--direct", is_flag=True, help="List only what the project names itself.")
@click.option("--missing", is_flag=True, help="List only what is not on this machine, and why.")
@common
def deps(reply: Reply, project: str | None, *, direct: bool, missing: bool) -> None:
    """List what a project depends on: names, versions and folders.

    Manifests, lock files and installed packages are read; nothing is run, and nothing is downloaded.
    """
    with open_project(project) as opened:
        root = opened.root
        found = list_dependencies(root)
    shown = [each for each in found if (each.direct or not direct) and (each.missing or not missing)]
    if reply.json:
        listed = [each.as_dict() for each in shown]
        output.emit({"projectPath": str(root), "dependencies": listed, "total": len(listed)})
    elif not shown:
        output.line("No dependency is missing." if missing and found else "No dependencies were found.")
    else:
        rows = [_row(each, root) for each in shown]
        output.table(rows, ("package", "version", "", "where"))
        named = sum(each.direct for each in shown)
        absent = sum(bool(each.missing) for each in shown)
        output.note(f"{named:,} direct, {len(shown) - named:,} indirect, {absent:,} not on this machine")


def _row(dependency: Dependency, root: Path) -> tuple[str, str, str, str]:
    place = dependency.missing or str(_shortened(dependency.folder, root))
    kind = "" if dependency.direct else "indirect"
    return f"{dependency.ecosystem}/{dependency.name}", dependency.version, kind, place


def _shortened(folder: Path | None, root: Path) -> Path | None:
    """Return a folder of the project relative to it."""
    if folder is not None and folder.is_relative_to(root):
        return folder.relative_to(root)
    return folder
