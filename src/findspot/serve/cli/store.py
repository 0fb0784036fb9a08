"""`findspot store`: where an index is kept, and its upkeep there."""

from __future__ import annotations

from typing import Any

import click

from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.choose import open_project
from findspot.serve.cli.options import Manner, common, path_or_project


@click.group()
def store() -> None:
    """Move an index to another store, or look after the one it is in."""


def _checked(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
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
    callback=_checked,
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
@click.argument("address", metavar="URL", callback=_checked)
@path_or_project
@common
def use(manner: Manner, address: str, project: str | None) -> None:
    """Search the index at URL, which others keep there, for the project at PATH.

    Nothing is indexed here. An index that is here already stays, and is not used.
    """
    from findspot.core.settings import StoreSettings
    from findspot.store.transfer import attach

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
