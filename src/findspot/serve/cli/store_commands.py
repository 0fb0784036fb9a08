"""`findspot store` and `import`: read an index that is published, at an address or in a file."""

from __future__ import annotations

from pathlib import Path

import click

from findspot.core.config import INDEX_FILE, load_settings, set_value, unset_value
from findspot.core.files import remove_folder
from findspot.core.paths import absolute
from findspot.project import Project
from findspot.publishing.archive import IMPORTED, unpack
from findspot.publishing.published_store import published_address
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import decline_published, update_project
from findspot.serve.cli.options import Group, Reply, common, path_or_project, yes_option
from findspot.serve.cli.project_choice import open_project
from findspot.store.index_meta import write_metadata


@click.group(cls=Group)
def store() -> None:
    """Read a published index, or look after your own."""


@store.command()
@click.argument("address", metavar="ADDRESS|default")
@path_or_project
@yes_option
@common
def use(reply: Reply, address: str, project: str | None, yes: bool) -> None:
    """Read the index published at ADDRESS, for the project at PATH.

    With the project's files, they are indexed here, and vectors of a slow model are taken from ADDRESS.
    Without them, searches answer from what is published, where it lies. Nothing is
    ever written to ADDRESS. With `default` the project reads no published index any more.
    """
    with open_project(project, exact=True) as opened:
        if address == "default":
            _detach(opened)
        else:
            set_value(opened.store.folder / INDEX_FILE, "store", published_address(opened.root, address))
    _show_reading(reply, address, project, yes=yes)


@click.command("import")
@click.argument("file")
@path_or_project
@yes_option
@common
def import_(reply: Reply, file: str, project: str | None, yes: bool) -> None:
    """Read the index in FILE, which `findspot export` wrote, for the project at PATH.

    It is unpacked and read as `findspot store use` reads a folder. Importing again replaces it.
    """
    with open_project(project, exact=True) as opened:
        unpacked = unpack(absolute(file), opened.store.folder)
        set_value(opened.store.folder / INDEX_FILE, "store", str(unpacked))
        _remove_imported(opened, keep=unpacked)
    _show_reading(reply, file, project, yes=yes)


def _show_reading(reply: Reply, address: str, project: str | None, *, yes: bool) -> None:
    """Index the files that are here, and say what the project reads now."""
    with open_project(project, exact=True) as opened:
        if opened.index.shared and opened.index.has_files:
            update_project(opened, reply, force=False, yes=yes)
        status = opened.status(check_disk=False)
        if opened.store.exists:
            write_metadata(opened.store, opened.root)
    result = {
        "status": "success",
        "projectPath": status.project_path,
        "store": address,
        "totalFiles": status.total_files,
        "totalChunks": status.total_chunks,
    }
    figures = f"{output.count(status.total_files, 'file')}, {output.count(status.total_chunks, 'chunk')}"
    reply.give(result, f"{status.project_path} reads {address}: {figures}")
    for note in () if reply.json else status.notes:
        output.note(note)


def _remove_imported(project: Project, keep: Path | None = None) -> None:
    for folder in project.store.folder.glob(f"{IMPORTED}*"):
        if folder != keep:
            remove_folder(folder)


def _detach(project: Project) -> None:
    """Stop reading a published index, and withdraw the agreement to its address."""
    config, settings = project.store.folder / INDEX_FILE, project.settings
    unset_value(config, "store")
    _remove_imported(project)
    published = settings.publishing.address
    if published is None:
        return
    own = load_settings().publishing.agreed
    if published in own:
        kept = [address for address in own if address != published]
        set_value(settings.home / INDEX_FILE, "publishedAgreed", kept)
    decline_published(project)
