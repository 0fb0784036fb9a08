"""`findspot history`: search past changes, or show the commits that shaped a file, some lines or a symbol."""

from __future__ import annotations

from collections.abc import Sequence

import click

from findspot.history.project_history import DEFAULT_LIMIT
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import shown_progress, stoppable
from findspot.serve.cli.options import Reply, common, joined, limit_option, project_option
from findspot.serve.cli.terminal import paged
from findspot.serve.history_answers import ask_history, commits_object, commits_text
from findspot.workspace import projects_of

_MOST = 100


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION... | PATH[:LINES] | SYMBOL")
@limit_option(_MOST, DEFAULT_LIMIT, "Commits")
@project_option
@common
def history(reply: Reply, words: Sequence[str], limit: int, project: str | None) -> None:
    """Search past changes for QUESTION, or show the commits that shaped a file, some lines or a symbol.

    \b
    findspot history why do we retry only twice
    findspot history when was the option --legacy removed
    findspot history src/shop/cart.py:10-40
    findspot history CartService
    """
    with open_index(project, reply, update=True) as index:
        with stoppable() as cancel, shown_progress(quiet=True) as progress:
            for each in projects_of(index.asked):
                each.history.update_soon()
                each.history.wait(cancel, progress)
        found = ask_history(index.asked, joined(words), limit)
    if reply.json:
        output.emit(commits_object(found))
        return
    with paged(wanted=True):
        output.lines(commits_text(found))
