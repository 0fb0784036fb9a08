"""`findspot deps`: what a project depends on, and where it is installed; `deps diff`: compare versions."""

from __future__ import annotations

from pathlib import Path

import click

from findspot.dependencies.package import Dependency
from findspot.dependencies.project_dependencies import list_dependencies
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply, common, project_option
from findspot.serve.cli.project_choice import open_project


@click.group(invoke_without_command=True)
@project_option
@click.option("--direct", is_flag=True, help="List only what the project names itself.")
@click.option("--missing", is_flag=True, help="List only what is not on this machine, and why.")
@common
@click.pass_context
def deps(ctx: click.Context, reply: Reply, project: str | None, *, direct: bool, missing: bool) -> None:
    """List what a project depends on: names, versions and folders.

    Manifests, lock files and installed packages are read; nothing is run, and nothing is downloaded.
    """
    if ctx.invoked_subcommand is not None:
        return
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


@deps.command()
@click.argument("package")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@project_option
@common
def diff(reply: Reply, package: str, old: str, new: str, project: str | None) -> None:
    """Show which public names of PACKAGE differ between two versions, and where the project uses them.

    A version can be compared if it is installed, or if it was searched while it was installed.
    """
    from findspot.package_changes import ADDED, compare_versions, with_uses

    with open_project(project) as opened:
        changes = compare_versions(opened.packages, package, old, new)
        if opened.store.exists:
            with opened.reader() as reader:
                changes = with_uses(changes, reader)
        unknown = None if opened.store.exists else _unknown_uses(opened.root)
    if reply.json:
        listed = [each.as_dict() for each in changes]
        warning = {"warning": unknown} if unknown else {}
        output.emit(
            {"package": package, "old": old, "new": new, "changes": listed, "total": len(listed)} | warning
        )
        return
    for each in sorted(changes, key=lambda change: (change.kind == ADDED, not change.uses, change.name)):
        output.line(f"{each.kind:8} {each.name}", bold=bool(each.uses))
        for sign, text in (("-", each.before), ("+", each.after)):
            if text:
                output.line(f"  {sign} {text}")
        for use in each.uses:
            output.line(f"  used in {use}")
    output.note(f"{output.count(len(changes), 'change')} of public names from {old} to {new}")
    if unknown:
        output.warn(unknown)


def _unknown_uses(root: Path) -> str:
    return f"{root} is not indexed, so where it uses them is not known. Run `findspot index`."


def _row(dependency: Dependency, root: Path) -> tuple[str, str, str, str]:
    place = dependency.missing or str(_shortened(dependency.folder, root))
    kind = "" if dependency.direct else "indirect"
    return f"{dependency.ecosystem}/{dependency.name}", dependency.version, kind, place


def _shortened(folder: Path | None, root: Path) -> Path | None:
    """Return a folder of the project relative to it."""
    if folder is not None and folder.is_relative_to(root):
        return folder.relative_to(root)
    return folder
