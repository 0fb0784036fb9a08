"""The interactive picker: ask, see numbered results, and open one in the editor by its number."""

from __future__ import annotations

import click

from findspot.core.errors import FindspotError
from findspot.core.model import Hit, Query
from findspot.project import Project
from findspot.serve.cli import output
from findspot.serve.cli.interaction import prompt
from findspot.serve.cli.listing import show_notes, show_results
from findspot.serve.cli.terminal import open_in_editor


def pick(project: Project) -> None:
    """Answer questions about a project until the user leaves."""
    output.note("Ask a question; a number opens that result; an empty line leaves.", dim=True)
    hits: tuple[Hit, ...] = ()
    while asked := _line():
        if asked.isdecimal() and 0 < int(asked) <= len(hits):
            hit = hits[int(asked) - 1]
            open_in_editor(project.roots / hit.path, hit.focus or hit.span.start)
            continue
        try:
            results = project.search(Query(asked))
        except FindspotError as error:
            output.note(f"error: {error.statement}", fg="red")
            continue
        hits = results.hits
        show_results(results, {hit.path: project.roots / hit.path for hit in hits})
        show_notes(results)


def _line() -> str:
    try:
        return prompt("❯")
    except click.Abort:
        return ""
