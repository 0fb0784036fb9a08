"""`findspot store`, `export` and `import`: where an index is kept, and an index in one file for others."""

from __future__ import annotations

from pathlib import Path

import click

from findspot.core.config import INDEX_FILE, load_settings, set_value, unset_value
from findspot.core.errors import HomeNotWritableError
from findspot.core.paths import expanded
from findspot.project import Project
from findspot.publishing.published_store import published_address
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import decline_published, summarise, update_project
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import Group, Reply, common, path_or_project, yes_option
from findspot.serve.cli.project_choice import open_project
from findspot.store.index_meta import write_metadata
from findspot.store.prebuilt import pack, read_manifest

_REPLACE_QUESTION = "This project has an index already. Replace it?"

_file = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


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

    With the project's files, an index of your own begins from the published version that is nearest, and
    is updated as you work. Without them, searches answer from what is published, where it lies. Nothing is
    ever written to ADDRESS. With `default` the project reads no published index any more.
    """
    with open_project(project, exact=True) as opened:
        if address == "default":
            _detach(opened)
        else:
            set_value(opened.store.folder / INDEX_FILE, "store", published_address(opened.root, address))
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
    figures = _figures(status.total_files, status.total_chunks)
    reply.give(result, f"{status.project_path} reads {address}: {figures}")
    for note in () if reply.json else status.notes:
        output.note(note)


def _detach(project: Project) -> None:
    """Stop reading a published index, and withdraw the agreement to its address."""
    config, settings = project.store.folder / INDEX_FILE, project.settings
    unset_value(config, "store")
    published = settings.publishing.address
    if published is None:
        return
    own = load_settings().publishing.agreed
    if published in own:
        kept = [address for address in own if address != published]
        set_value(settings.home / INDEX_FILE, "publishedAgreed", kept)
    decline_published(project)


@click.command()
@_file
@path_or_project
@click.option("--no-update", is_flag=True, help="Export the index as it is, without updating it first.")
@yes_option
@common
def export(reply: Reply, file: Path, project: str | None, no_update: bool, yes: bool) -> None:
    """Write the index of the project at PATH to FILE, for others who work on the same files.

    The index is brought up to date first, or made. In a build pipeline, keep FILE where everyone
    can get it; `findspot import FILE` takes it over.
    """
    with open_project(project, exact=True) as opened:
        if not no_update:
            _update_if_writable(opened, reply, yes)
        manifest = pack(opened.store, expanded(file).absolute(), opened.root.name)
        root = str(opened.root)
    size = shapes.size(file.stat().st_size)
    result = {
        "status": "success",
        "projectPath": root,
        "file": str(file),
        "size": size,
        "totalFiles": manifest.files,
        "totalChunks": manifest.chunks,
        "model": manifest.model,
    }
    reply.give(result, f"{file} ({size}): {_figures(manifest.files, manifest.chunks)}")


def _figures(files: int, chunks: int) -> str:
    return f"{output.count(files, 'file')}, {output.count(chunks, 'chunk')}"


def _update_if_writable(project: Project, reply: Reply, yes: bool) -> None:
    """Update the index; if nothing can be written, warn that it is exported as it is."""
    try:
        update_project(project, reply, force=False, yes=yes)
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
    help="Import what matches the files here, without indexing the rest.",
)
@yes_option
@common
def import_(reply: Reply, file: Path, project: str | None, no_update: bool, yes: bool) -> None:
    """Take over the index in FILE for the project at PATH, and bring it up to the files that are here.

    Files are compared by their content, so only what differs from the files of the build is embedded.
    The file may come from anyone: what the files here do not confirm is left out of it.
    """
    read_manifest(expanded(file).absolute())  # before any question
    with open_project(project, exact=True) as opened:
        if opened.store.exists:
            confirm(_REPLACE_QUESTION, yes, reply, about=str(opened.root))
        imported = opened.index.import_index(expanded(file).absolute())
        report = None if no_update else update_project(opened, reply, force=False, yes=yes)
        status = opened.status(check_disk=False)
    taken = {"filesImported": imported.files, "chunksImported": imported.chunks}
    reply.answer_program(
        (shapes.report_object(report, forced=False) if report else {"status": "success"}) | taken
    )
    files = f"{imported.files} of {output.count(imported.manifest.files, 'file')}"
    output.line(f"{file}: {files}, {output.count(imported.chunks, 'chunk')} taken over", bold=True)
    if report:
        summarise(report, status)
