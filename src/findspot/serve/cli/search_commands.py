"""Questions: `search`, `docs`, `history`, `research` and its verbs, `context`, `review`, and the picker."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from findspot.core.caller import working_folder
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.git import current_commit, find_commit, object_named, run_git
from findspot.core.model import (
    NOTHING_FITS,
    Assistance,
    Corpus,
    Hit,
    IncludeTests,
    Query,
    Results,
    Strength,
)
from findspot.core.paths import Roots, is_folder, stat_of
from findspot.history.project_history import DEFAULT_LIMIT, ProjectHistory
from findspot.project import Project
from findspot.research.findings import DEFAULT_DEPTH, RELATIONS, Aim, Inquiry
from findspot.research.task_signals import Request
from findspot.serve import activity, arguments
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import prompt, shown_progress, stoppable
from findspot.serve.cli.options import Command, Reply, command, option_of, options_of, together
from findspot.serve.cli.terminal import paged
from findspot.serve.context_answers import DEFAULT_TOKENS, context_object, context_text
from findspot.serve.history_answers import ask_history, commits_object, commits_text
from findspot.serve.research_answers import fitted_findings, fitted_report, report
from findspot.serve.search_answers import COMPACT, assistance_lines, fitted_text, fitted_values, related_lines
from findspot.text.snippet import cut, shorten
from findspot.text.tokens import STOP_WORDS, parts
from findspot.workspace import Asked

SHOWN_LINES = 12
"""Lines shown of each passage, around the one that matches best; `--format human` shows all."""
TAB = "    "
_MATCH: dict[str, Any] = {"fg": "yellow", "bold": True}
_STRENGTH_STYLES: dict[Strength, dict[str, Any]] = {
    Strength.STRONG: {"fg": "green"},
    Strength.LIKELY: {"fg": "yellow"},
    Strength.WEAK: {"dim": True},
}


def show_results(results: Results) -> None:
    """Print the hits in the order of their rank; what else a reader should know goes to standard error."""
    output.warn(results.warning)
    with paged(wanted=bool(results.hits)):
        _list(results)
    if results.hits:
        output.note(output.count(len(results.hits), "result"), dim=True)
    else:
        output.note("No results. Try other words, or fewer filters.")


def _list(results: Results) -> None:
    if results.nothing_fits and results.hits:
        output.line(NOTHING_FITS, fg="yellow")
    for line in assistance_lines(results):
        output.line(line)
    marked = _query_words(results.query)
    first = results.offset + 1
    width = len(str(results.offset + len(results.hits)))
    for rank, hit in enumerate(results.hits, first):
        _show_heading(hit, f"{rank:>{width}}")
        if hit.strength is Strength.WEAK and rank > first:
            continue
        _show_lines(hit, marked)
        for line in related_lines(hit):
            output.line(cut(f"  {line}", output.room(0)), dim=True)
        if hit.why:
            why = ", ".join(f"{name} {value:g}" for name, value in hit.why.items())
            output.line(f"  why: {why}", dim=True)
        output.line()


def _show_heading(hit: Hit, rank: str) -> None:
    what = hit.breadcrumb or ", ".join(hit.symbols[:3]) or hit.kind
    location = output.paint(output.clean(hit.path), sys.stdout, bold=True, fg="cyan")
    location += output.paint(f":{hit.span.start}-{hit.span.end}", sys.stdout, dim=True)
    strength = output.paint(hit.strength, sys.stdout, **_STRENGTH_STYLES[hit.strength])
    click.echo(f"{rank}  {location}  {strength}  {output.clean(what)}", color=True)


def _show_lines(hit: Hit, marked: re.Pattern[str] | None) -> None:
    """Print the lines around the best one; of a file's first lines, which are imports, what it defines."""
    lines = (hit.overview or hit.text).split("\n")
    best = 0 if hit.overview else (hit.focus or hit.span.start) - hit.span.start
    start, end = _window(best, len(lines))
    width = 0 if hit.overview else len(str(hit.span.start + end)) + 2
    room = output.room(width + 2)
    if best < len(lines) and not hit.overview:
        lines[best] = shorten(lines[best], 0, room, hit.focus_column)
    for place, line in enumerate(lines[start:end], hit.span.start + start):
        number = output.paint(f"{place}  ".rjust(width), sys.stdout, dim=True) if width else ""
        shown = cut(output.clean(line.rstrip("\r").replace("\t", TAB)), room)
        if marked:
            shown = marked.sub(lambda found: output.paint(found[0], sys.stdout, **_MATCH), shown)
        click.echo(f"  {number}{shown}", color=True)
    if len(lines) > end - start:
        rest = output.count(len(lines) - (end - start), "more line")
        output.line(f"  {' ' * width}… {rest}", dim=True)


def _window(best: int, count: int) -> tuple[int, int]:
    """Return lines to show: from the first one on if the best is near, else around it."""
    top = 0 if best < SHOWN_LINES else max(0, min(best - SHOWN_LINES // 2, count - SHOWN_LINES))
    return top, min(count, top + SHOWN_LINES)


def _query_words(query: str) -> re.Pattern[str] | None:
    words = {word for word in parts(query) if len(word) > 1 and word not in STOP_WORDS}
    if not words:
        return None
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True)[:50])), re.IGNORECASE)


NOT_FOUND = 1
UNLIMITED = 10**9


_shared_options = options_of(arguments.SEARCH, "-n", path_filter="GLOB", exclude="GLOB", changed_since="REV")


@command(project=True, update=True)
@click.argument("words", nargs=-1, metavar="QUERY...")
@_shared_options
@options_of({name: arguments.CODE_ONLY[name] for name in ("languages", "include_tests", "group_by")})
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


@command(project=True, update=True)
@click.argument("words", nargs=-1, metavar="QUERY...")
@_shared_options
def docs(reply: Reply, words: Sequence[str], project: str | None, **options: Any) -> None:
    """Search the documentation of a project for QUERY."""
    _answer(reply, Corpus.DOCS, _text_of(words), project, options)


def _answer(reply: Reply, corpus: Corpus, text: str, given: str | None, options: dict[str, Any]) -> None:
    if not text.strip() and not options["similar_to"]:
        command = "docs" if corpus is Corpus.DOCS else "search"
        hint = f"Add a question or a name; `findspot {command} -` reads it from standard input."
        raise InvalidArgumentError("Query cannot be empty", hint=hint)
    query = arguments.query_of(options, text=text, corpus=corpus, related=True)
    wanted = Assistance(options["expand_query"], options["synthesize"])

    with open_index(given, reply, update=options["update"], question=text) as index:
        like = _from_here(index.asked.roots, query.similar_to) if query.similar_to else None
        results = index.asked.search(replace(query, under=index.under, similar_to=like), wanted)
        results = replace(results, warning=index.warning(results.warning))
        _show(reply, index.asked, corpus, results, options)
        sys.stdout.flush()
        if index.asked.settings.log.activity:
            root = index.asked.root
            activity.later(lambda: _record(root, corpus, results))


def _show(reply: Reply, asked: Asked, corpus: Corpus, results: Results, options: dict[str, Any]) -> None:
    """Print an answer: as a listing for people, or in the form that was asked for, within its tokens."""
    serve, max_tokens = asked.settings.serve, options["max_tokens"]
    form = options["format"] or serve.default_format
    room = max_tokens or (serve.max_tokens if form == COMPACT else UNLIMITED)
    if reply.json:
        output.emit(fitted_values(results, corpus, room))
    elif form is None and max_tokens is None:
        show_results(results)
    else:
        with paged(wanted=bool(results.hits)):
            _print(fitted_text(results, corpus, form or "human", room), form)


def _record(root: Path, corpus: Corpus, results: Results) -> None:
    places = tuple(f"{hit.path}:{hit.focus or hit.span.start}" for hit in results.hits)
    tool = "docs" if corpus is Corpus.DOCS else "search"
    tokens = sum(len(hit.text) for hit in results.hits) // activity.CHARS_PER_TOKEN
    about = activity.COMMAND_LINE, str(root), tool, results.query
    activity.note(activity.Entry(*about, places, len(places), "ok", results.elapsed_ms, tokens))


def _print(text: str, form: str | None) -> None:
    """Print an answer; formats that programs read keep every character, TOON unless a person looks."""
    if form == "json":
        click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
    elif form == "toon" and not sys.stdout.isatty():
        click.echo(text)
    else:
        output.lines(text)


@command(project=True)
@click.argument("words", nargs=-1, required=True, metavar="QUESTION... | PATH[:LINES] | SYMBOL")
@option_of("limit", arguments.count("Commits to show", 1, arguments.MAX_LIMIT, default=DEFAULT_LIMIT), "-n")
def history(reply: Reply, words: Sequence[str], limit: int, project: str | None) -> None:
    """Search past changes for QUESTION, or show the commits that shaped a file, some lines or a symbol.

    \b
    findspot history why do we retry only twice
    findspot history when was the option --legacy removed
    findspot history src/shop/cart.py:10-40
    findspot history CartService
    """
    with (
        open_index(project, reply, update=True) as index,
        stoppable() as cancel,
        shown_progress(quiet=reply.json) as progress,
    ):

        def read(history: ProjectHistory) -> None:
            history.update_soon()
            history.wait(cancel, progress)

        found = ask_history(index.asked, _from_here(index.asked.roots, " ".join(words)), limit, read=read)
    reply.answer_program(commits_object(found))
    with paged(wanted=True):
        output.lines(commits_text(found))


def _from_here(roots: Roots, typed: str) -> str:
    """Return what was typed as the path of a file, if it leads to one from the working folder."""
    path = re.sub(r":\d+(-\d+)?$", "", typed)
    here = (working_folder() / path).resolve()
    if (is_folder(here) or stat_of(here) is None) and not path.startswith("../"):
        return typed
    return (roots.spelled(here) or roots.relative(path)) + typed[len(path) :]


def _depth(default: int) -> Callable[[Command], Command]:
    return option_of("depth", arguments.DEPTH, default=default)


_limits = together(
    options_of(arguments.FOLLOWED),
    click.option(
        "--no-tests", "include_tests", flag_value=IncludeTests.NO.value, help="Same as --include-tests no."
    ),
)


@command(project=True, update=True)
@click.argument("words", nargs=-1, metavar="[QUESTION]...")
@click.option("--relation", type=click.Choice(RELATIONS), help="Ask for this relation, without a question.")
@options_of(arguments.RESEARCH)
@_limits
@_depth(DEFAULT_DEPTH)
def research(reply: Reply, words: Sequence[str], **options: Any) -> None:
    """Follow the code from QUESTION: who calls what, who implements what, how A reaches B.

    \b
    findspot research what calls authenticate
    findspot research all implementations of Handler
    findspot research how does Server.handle reach Database.query --depth 4
    findspot research --focus architecture how is it built
    findspot research --relation path --symbol main --to Store.save
    """
    if not words and not options["relation"]:
        raise click.UsageError("Give a QUESTION, or --relation and --symbol.")
    _research(reply, question=" ".join(words), **options)


_follow = together(_limits, _depth(1))
_since = option_of("since", arguments.SINCE, metavar="REV")


def _verb(
    aim: Aim, about: str, options: Callable[[Command], Command] = _follow, metavar: str = "NAME"
) -> Any:
    """Return a command that follows one relation from a name; of what changed, where that can be left out."""

    @command(aim.value, help=about, project=True, update=True)
    @click.argument("name", metavar=metavar, required=not metavar.startswith("["))
    @options
    def verb(reply: Reply, name: str | None, **options: Any) -> None:
        _research(reply, relation=aim, symbol=name or "", **options)

    return verb


callers = _verb(Aim.CALLERS, "Show what calls NAME: a function, a `Type.method`, a type.")
callees = _verb(Aim.CALLEES, "Show what NAME calls.")
implementations = _verb(Aim.IMPLEMENTATIONS, "Show every type that implements, extends or conforms to NAME.")
importers = _verb(
    Aim.IMPORTERS, "Show the files that import PATH: a file, a folder or a module.", metavar="PATH"
)
uses = _verb(Aim.USES, "Show where NAME is used: calls, types, decorators, values.")
overrides = _verb(Aim.OVERRIDES, "Show what overrides the method NAME.")
impact = _verb(
    Aim.IMPACT,
    "Show what depends on NAME or FILE; without either, on what the working tree changes.",
    together(_since, _limits, _depth(DEFAULT_DEPTH)),
    "[NAME|FILE]",
)
tests = _verb(
    Aim.TESTS,
    "Show the tests most likely to notice a change of NAME or FILE; without either, of the working tree.",
    _since,
    "[NAME|FILE]",
)


def _research(
    reply: Reply, *, project: str | None, update: bool, max_tokens: int | None = None, **asked: Any
) -> None:
    inquiry = Inquiry(**{name: value for name, value in asked.items() if value is not None})
    with open_index(project, reply, update=update) as index:
        inquiry = replace(inquiry, symbol=_from_here(index.asked.roots, inquiry.symbol))
        with stoppable() as cancel:
            findings = index.asked.research(replace(inquiry, under=index.under), cancel=cancel)
        findings = replace(findings, warning=index.warning(findings.warning))
    output.warn(findings.warning)
    if reply.json:
        output.emit(fitted_findings(findings, max_tokens, full="question" not in asked))
    elif findings.unknown:
        output.note(findings.summary)
    else:
        output.report(fitted_report(findings, max_tokens) if max_tokens else report(findings))
    if findings.unknown:
        raise click.exceptions.Exit(NOT_FOUND)


_RANGE = re.compile(r"(?P<base>.+?)(?:\.{2,3}(?P<head>.*))?")
_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


_tokens = option_of("max_tokens", arguments.CONTEXT_TOKENS, default=DEFAULT_TOKENS)


@command(project=True, update=True)
@click.argument("words", nargs=-1, metavar="[SIGNAL]...")
@click.option("--diff", metavar="REV|worktree", help="What changed since a revision, or is not committed.")
@_tokens
def context(reply: Reply, words: Sequence[str], diff: str | None, **options: Any) -> None:
    """Show what SIGNAL needs next: where to change, what relies on it, which tests to run.

    SIGNAL is an issue or intent in words, PATH:LINE, `worktree`, or `-` for a diff, a stack trace or the
    output of tests on the standard input.

    \b
    findspot context the cookie is not removed on sign-out
    findspot context src/app.py:120
    findspot context worktree
    pytest | findspot context -
    """
    signal = " ".join(words)
    if signal == "-":
        signal = sys.stdin.read()
    if not signal.strip() and not diff:
        raise click.UsageError("Give a SIGNAL, or --diff.")
    _show_context(reply, Request(signal, diff or ""), **options)


@command(project=True, update=True)
@click.argument("commits", required=False, metavar="[BASE..HEAD]")
@_tokens
def review(reply: Reply, commits: str | None, **options: Any) -> None:
    """Print what a reviewer should look at besides the diff, as Markdown for a comment.

    HEAD is what is checked out. BASE is the branch that it goes into; by default the main branch.

    \b
    findspot review
    findspot review origin/main..HEAD
    """
    with open_index(options["project"], reply, update=False) as index:
        root = index.project.root
        found = _RANGE.fullmatch(commits or "")
        base = found["base"] if found else next(filter(partial(object_named, root), _BASES), "HEAD")
        commit = find_commit(root, base, "A review", "Run it where the branch is checked out.")
        head = (found and found["head"]) or "HEAD"
        if object_named(root, f"{head}^{{commit}}") != current_commit(root):
            raise InvalidArgumentError(f"'{head}' is not checked out.", hint="Check it out first.")
        since = (run_git(root, "merge-base", commit, "HEAD") or commit).strip()
    _show_context(reply, Request(diff=since), markdown=True, **options)


def _show_context(
    reply: Reply,
    request: Request,
    *,
    max_tokens: int,
    project: str | None,
    update: bool,
    markdown: bool = False,
) -> None:
    with open_index(project, reply, update=update) as index, stoppable() as cancel:
        found = index.asked.context(replace(request, under=index.under), cancel)
        found = replace(found, warning=index.warning(found.warning))
    if reply.json:
        output.emit(context_object(found, max_tokens))
    else:
        output.report(context_text(found, max_tokens, markdown=markdown))


def pick(project: Project) -> None:
    """Answer questions about a project until the user leaves."""
    output.note("Ask a question; an empty line leaves.", dim=True)
    while asked := _line():
        try:
            results = project.search(Query(asked))
        except FindspotError as error:
            output.note(f"error: {error.statement}", fg="red")
            continue
        show_results(results)


def _line() -> str:
    try:
        return prompt("❯")
    except click.Abort:
        return ""
