"""`findspot export` and `findspot import`: an index in one file, made once and used by everyone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.core.errors import HomeNotWritableError
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.ask import confirm
from findspot.serve.cli.choose import open_project
from findspot.serve.cli.indexing import summarise, update_project
from findspot.serve.cli.options import Manner, common, path_or_project, yes_option
from findspot.store.prebuilt import read_manifest

if TYPE_CHECKING:
    from findspot.project import Project

_REPLACE_QUESTION = "This project has an index already. Replace it?"

_file = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command()
@_file
@path_or_project
@click.option("--no-update", is_flag=True, help="Export the index as it is, without updating it first.")
@yes_option
@common
def export(manner: Manner, file: Path, project: str | None, no_update: bool, yes: bool) -> None:
    """Write the index of the project at PATH to FILE, for others who work on the same files.

    The index is brought up to date first, or made. In a build pipeline, keep FILE where everyone
    can get it; `findspot import FILE` takes it over.
    """
    with open_project(project, exact=True) as opened:
        if not no_update:
            _update_if_writable(opened, manner, yes)
        manifest = opened.export_index(file.expanduser().absolute())
        root = str(opened.root)
    size = shapes.size(file.stat().st_size)
    if manner.json:
        output.emit(
            {
                "status": "success",
                "projectPath": root,
                "file": str(file),
                "size": size,
                "totalFiles": manifest.files,
                "totalChunks": manifest.chunks,
                "model": manifest.model,
            }
        )
    else:
        held = f"{output.count(manifest.files, 'file')}, {output.count(manifest.chunks, 'chunk')}"
        output.line(f"{file} ({size}): {held}")


def _update_if_writable(project: Project, manner: Manner, yes: bool) -> None:
    """Update the index, or say that it is exported as it is where nothing can be written."""
    try:
        update_project(project, manner, force=False, yes=yes)
    except HomeNotWritableError as error:
        if not project.store.exists:
            raise
        output.note(f"warning: {error.user_message} The index is exported as it is.")


@click.command("import")
@_file
@path_or_project
@click.option(
    "--no-update",
    is_flag=True,
    help="Take over what fits the files here, without indexing the rest.",
)
@yes_option
@common
def import_(manner: Manner, file: Path, project: str | None, no_update: bool, yes: bool) -> None:
    """Take over the index in FILE for the project at PATH, and bring it up to the files that are here.

    Files are compared by their content, so only what differs from the files of the build is embedded.
    The file may come from anyone: what the files here do not confirm is left out of it.
    """
    read_manifest(file.expanduser().absolute())  # before any question
    with open_project(project, exact=True) as opened:
        if opened.store.exists:
            confirm(_REPLACE_QUESTION, yes, manner, about=str(opened.root))
        imported = opened.import_index(file.expanduser().absolute())
        report = None if no_update else update_project(opened, manner, force=False, yes=yes)
        status = opened.status(check_disk=False)
    if manner.json:
        taken = {"filesImported": imported.files, "chunksImported": imported.chunks}
        output.emit((shapes.report_object(report, forced=False) if report else {"status": "success"}) | taken)
        return
    files = f"{imported.files} of {output.count(imported.manifest.files, 'file')}"
    output.line(f"{file}: {files}, {output.count(imported.chunks, 'chunk')} taken over", bold=True)
    if report:
        summarise(report, status)
