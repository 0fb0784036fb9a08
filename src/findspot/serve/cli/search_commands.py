"""`findspot search`, `docs` and `history`, and the picker: search code, documentation and past changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.languages import unknown_language
from findspot.core.model import Assistance, Corpus, Hit, Query, Results, words_of
from findspot.core.paths import Roots
from findspot.core.shared_records import later
from findspot.history.project_history import DEFAULT_LIMIT
from findspot.project import Project
from findspot.serve import activity
from findspot.serve.arguments import CODE_ONLY, SEARCH, count
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import prompt, shown_progress, stoppable
from findspot.serve.cli.listing import show_notes, show_results
from findspot.serve.cli.options import (
    Reply,
    common,
    option_of,
    options_of,
    project_option,
    together,
    update_option,
)
from findspot.serve.cli.terminal import open_in_editor, paged
from findspot.serve.history_answers import ask_history, commits_object, commits_text
from findspot.serve.project_files import location
from findspot.serve.query_options import MAX_LIMIT, query_of
from findspot.serve.search_answers import COMPACT, fitted_text, fitted_values
from findspot.workspace import Asked, projects_of

UNLIMITED = 10**9


_OPEN = "Open the first result, or the one with the number N, in your editor at its line."
_shared_options = together(
    update_option,
    options_of(SEARCH, "-n", path_filter="GLOB", exclude="GLOB", changed_since="REV"),
    click.option("--full", is_flag=True, help="Show whole passages instead of their best lines."),
    click.option("--open", "result_number", type=int, is_flag=False, flag_value=0, metavar="[N]", help=_OPEN),
    click.option("--pager/--no-pager", default=True, help="Use a pager for long answers, or not."),
)


def _known_languages(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a language that no file can have: without a word, its absence would look like an answer."""
    if unknown := unknown_language(words_of(value or "")):
        raise click.BadParameter(unknown)
    return value


@click.command()
@click.argument("words", nargs=-1, metavar="QUERY...")
@_shared_options
@option_of("languages", CODE_ONLY["languages"], callback=_known_languages)
@options_of({name: CODE_ONLY[name] for name in ("include_tests", "group_by")})
@project_option
@common
def search(reply: Reply, words: Sequence[str], project: str | None, **options: Any) -> None:
    """Search the code of a project for QUERY: a question, a name, an error, or a regular expression.

    \b
    findspot search how are sessions stored
    findspot search UserRepository --languages java
    findspot search 'TODO\\(\\w+\\)' --mode regex
    findspot search - < issue.txt
    """
    _answer(reply, Corpus.CODE, _text_of(words), project, options)


def _text_of(words: Sequence[str]) -> str:
    """Return the query; `-` is the standard input, for the text of an issue or a stack trace."""
    return sys.stdin.read() if tuple(words) == ("-",) else " ".join(words)


@click.command()
@click.argument("words", nargs=-1, metavar="QUERY...")
@_shared_options
@project_option
@common
def docs(reply: Reply, words: Sequence[str], project: str | None, **options: Any) -> None:
    """Search the documentation of a project for QUERY."""
    _answer(reply, Corpus.DOCS, _text_of(words), project, options)


def _answer(reply: Reply, corpus: Corpus, text: str, given: str | None, options: dict[str, Any]) -> None:
    if not text.strip() and not options["similar_to"]:
        command = "docs" if corpus is Corpus.DOCS else "search"
        hint = f"Add a question or a name; `findspot {command} -` reads it from standard input."
        raise InvalidArgumentError("Query cannot be empty", hint=hint)
    result_number = options["result_number"]
    query = query_of(options, text=text, corpus=corpus, related=True)
    wanted = Assistance(options["expand_query"], options["synthesize"])

    with open_index(given, reply, update=options["update"], question=text) as index:
        results = index.asked.search(replace(query, under=index.under), wanted)
        results = replace(results, warning=index.warning(results.warning))
        _show(reply, index.asked, corpus, results, options)
        sys.stdout.flush()
        if index.asked.settings.log.activity:
            root, roots = index.asked.root, index.asked.roots
            later(lambda: _record(root, roots, corpus, results))
        if result_number is not None:
            _open(index.asked, results, result_number, first=query.offset + 1)
        index.finish()


def _show(reply: Reply, asked: Asked, corpus: Corpus, results: Results, options: dict[str, Any]) -> None:
    """Print an answer: as a listing for people, or in the form that was asked for, within its tokens."""
    serve, max_tokens = asked.settings.serve, options["max_tokens"]
    form = options["format"] or serve.default_format
    listed = not reply.json and form in (None, "human") and max_tokens is None
    room = max_tokens or (serve.max_tokens if form == COMPACT else UNLIMITED)
    with paged(wanted=options["pager"] and options["result_number"] is None and bool(results.hits)):
        if listed:
            show_results(results, first=results.offset + 1, full=options["full"])
        elif reply.json:
            output.emit(fitted_values(results, corpus, room))
        else:
            _print(fitted_text(results, corpus, form or "human", room), form)
    if listed:
        show_notes(results)


def _record(root: Path, roots: Roots, corpus: Corpus, results: Results) -> None:
    """Note a search once it has been answered."""
    places = [{"path": hit.path, "line": hit.focus or hit.span.start} for hit in results.hits]
    activity.note_call(
        activity.COMMAND_LINE,
        root,
        "docs" if corpus is Corpus.DOCS else "search",
        {"query": results.query},
        {"results": places},
        tokens=sum(len(hit.text) for hit in results.hits) // activity.CHARS_PER_TOKEN,
        baseline=activity.baseline_tokens(roots, results.hits),
        duration_ms=results.elapsed_ms,
    )


def _open(asked: Asked, results: Results, result_number: int, *, first: int) -> None:
    """Open the result with a number of the listing, whose first one has the number `first`; 0 is that one."""
    number, last = result_number or first, first + len(results.hits) - 1
    if not first <= number <= last:
        numbers = f"the results are {first} to {last}" if results.hits else "nothing was found"
        raise click.UsageError(f"There is no result {number}: {numbers}.")
    hit = results.hits[number - first]
    open_in_editor(location(asked, hit.path), hit.focus or hit.span.start)


def _print(text: str, form: str | None) -> None:
    """Print an answer; formats that programs read keep every character, TOON unless a person looks."""
    if form == "json":
        click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
    elif form == "toon" and not sys.stdout.isatty():
        click.echo(text)
    else:
        output.lines(text)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION... | PATH[:LINES] | SYMBOL")
@option_of("limit", count("Commits to show", 1, MAX_LIMIT, default=DEFAULT_LIMIT), "-n")
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
            for each in projects_of(index.asked).values():
                each.history.update_soon()
                each.history.wait(cancel, progress)
        found = ask_history(index.asked, " ".join(words), limit)
    reply.answer_program(commits_object(found))
    with paged(wanted=True):
        output.lines(commits_text(found))


def pick(project: Project) -> None:
    """Answer questions about a project until the user leaves; a number opens that result in the editor."""
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
        show_results(results)
        show_notes(results)


def _line() -> str:
    try:
        return prompt("❯")
    except click.Abort:
        return ""
