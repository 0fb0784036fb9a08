"""`findspot delete` and `findspot clean`: removing indexes, never a project's files."""

from __future__ import annotations

import click

from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.ask import confirm
from findspot.serve.cli.choose import open_engine, open_project
from findspot.serve.cli.failure import NO_INDEX
from findspot.serve.cli.options import Manner, common, path_or_project, yes_option

_DELETE_QUESTION = "Delete the index for this project? This cannot be undone."


@click.command()
@path_or_project
@yes_option
@common
def delete(manner: Manner, project: str | None, yes: bool) -> None:
    """Delete the index of the project at PATH; the project itself is not touched.

    Asks first. Exit code 3 when there is no index.
    """
    with open_project(project, exact=True) as opened:
        root = str(opened.root)
        if opened.store.folder.exists():
            confirm(_DELETE_QUESTION, yes, manner, about=root)
        deleted = opened.delete()
    message = "Index deleted successfully" if deleted else "There is no index to delete."
    if manner.json:
        output.emit(
            {"status": "success" if deleted else "not_found", "projectPath": root, "message": message}
        )
    else:
        output.line(f"{message}: {root}" if deleted else message)
    if not deleted:
        raise click.exceptions.Exit(NO_INDEX)


@click.command()
@yes_option
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@common
def clean(manner: Manner, yes: bool, dry_run: bool) -> None:
    """Delete indexes whose project folder is gone.

    Asks first. An index that is being written is left alone.
    """
    with open_engine() as engine:
        found = engine.orphans()
        if found and not manner.json:
            output.table([(shapes.size(size), str(folder)) for folder, size in found], numbers=(0,))
        if found and not dry_run:
            confirm(f"Delete {output.count(len(found), 'orphaned index')}?", yes, manner)
            found = engine.clean()
    freed = shapes.size(sum(size for _, size in found))
    if manner.json:
        listed = [{"path": str(folder), "storageSize": shapes.size(size)} for folder, size in found]
        state = "dry_run" if dry_run else "success"
        output.emit({"status": state, "removed": listed, "total": len(found), "storageSize": freed})
    elif not found:
        output.line("Nothing to clean: every index belongs to a project.")
    else:
        output.line(f"{freed} would be freed." if dry_run else f"{freed} freed.")
