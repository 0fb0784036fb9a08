"""`findspot store`, `export` and `import`: where an index is kept, and an index in one file for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.core.errors import HomeNotWritableError
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import summarise, update_project
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import Manner, common, path_or_project, yes_option
from findspot.serve.cli.project_choice import open_project
from findspot.store.prebuilt import read_manifest

if TYPE_CHECKING:
    from findspot.project import Project


@click.group()
def store() -> None:
    """Move an index to another store, or look after the one it is in."""


def _checked_store(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    from findspot.core.config import check_value

    try:
        check_value("store", value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


@store.command()
@path_or_project
@click.option(
    "--to",
    metavar="NAME|URL",
    required=True,
    callback=_checked_store,
    help="default, lancedb, or an address such as s3://bucket/prefix.",
)
@common
def convert(manner: Manner, project: str | None, to: str) -> None:
    """Move the index of the project at PATH to another store.

    Nothing is embedded again: chunks and vectors are copied as they are. Until the copy is complete,
    searches answer from where the index was. Tables of an object store are left to their other readers.
    """
    with open_project(project, exact=True) as opened:
        before = opened.store.kind
        opened.convert_store(to)
        status = opened.status(check_disk=False)
    result = {
        "status": "success",
        "projectPath": status.project_path,
        "from": before,
        "to": to,
        "totalFiles": status.total_files,
        "totalChunks": status.total_chunks,
    }
    held = f"{output.count(status.total_files, 'file')}, {output.count(status.total_chunks, 'chunk')}"
    _answer(manner, result, f"{status.project_path} is now kept in {to}: {held}")


@store.command()
@click.argument("address", metavar="URL", callback=_checked_store)
@path_or_project
@common
def use(manner: Manner, address: str, project: str | None) -> None:
    """Search the index at URL, which others keep there, for the project at PATH.

    Nothing is indexed here. An index that is here already stays, and is not used.
    """
    from findspot.core.settings import StoreSettings
    from findspot.store.stores import attach

    with open_project(project, exact=True) as opened:
        attach(opened.store, StoreSettings(address, opened.settings.store.uri), str(opened.root))
    with open_project(project, exact=True) as opened:
        status = opened.status(check_disk=False)
    result = {"status": "success", "projectPath": status.project_path, "store": address}
    held = f"{output.count(status.total_files, 'file')}, {output.count(status.total_chunks, 'chunk')}"
    _answer(manner, result, f"{status.project_path} is searched in {address}: {held}")


@store.command()
@path_or_project
@common
def tidy(manner: Manner, project: str | None) -> None:
    """Put small parts of the index of the project at PATH together, and let go of old ones.

    A store looks after itself as it is written to; this does it now, for a schedule of your own.
    """
    with open_project(project, exact=True) as opened:
        opened.store.tidy()
        status = opened.status(check_disk=False)
    size = shapes.size(status.storage_bytes)
    result = {"status": "success", "projectPath": status.project_path, "storageSize": size}
    _answer(manner, result, f"{status.project_path}: {size}")


def _answer(manner: Manner, result: dict[str, Any], text: str) -> None:
    if manner.json:
        output.emit(result)
    else:
        output.line(text)


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
