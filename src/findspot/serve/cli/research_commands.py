"""Commands about the graph: `research` and its verbs, `context` and `review`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from findspot.core.caller import working_folder
from findspot.core.errors import InvalidArgumentError
from findspot.core.git import current_commit, find_commit, run_git
from findspot.core.model import IncludeTests
from findspot.core.paths import Roots
from findspot.research.findings import DEFAULT_DEPTH, RELATIONS, Aim, Inquiry
from findspot.research.task_signals import Request
from findspot.serve.arguments import CONTEXT_TOKENS, DEPTH, FOLLOWED, RESEARCH, SINCE
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import stoppable
from findspot.serve.cli.options import Command, Reply, asking, option_of, options_of, together
from findspot.serve.context_answers import DEFAULT_TOKENS, context_object, context_text
from findspot.serve.research_answers import fitted_findings, fitted_report, report

NOT_FOUND = 1


def depth_option(default: int = DEFAULT_DEPTH) -> Callable[[Command], Command]:
    return option_of("depth", DEPTH, default=default)


_limits = together(
    options_of(FOLLOWED),
    click.option(
        "--no-tests", "include_tests", flag_value=IncludeTests.NO.value, help="Same as --include-tests no."
    ),
)


@click.command()
@click.argument("words", nargs=-1, metavar="[QUESTION]...")
@click.option("--relation", type=click.Choice(RELATIONS), help="Ask for this relation, without a question.")
@options_of(RESEARCH)
@_limits
@depth_option()
@asking
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
    _answer(reply, question=" ".join(words), **options)


def _verb(name: str, aim: Aim, depth: int, about: str) -> click.Command:
    """Return a command that follows one relation from a name."""

    @click.command(name=name, help=about)
    @click.argument("name", metavar="PATH" if aim is Aim.IMPORTERS else "NAME")
    @_limits
    @depth_option(depth)
    @asking
    def verb(reply: Reply, name: str, **options: Any) -> None:
        _answer(reply, relation=aim, symbol=name, **options)

    return verb


callers = _verb("callers", Aim.CALLERS, 1, "Show what calls NAME: a function, a `Type.method`, a type.")
callees = _verb("callees", Aim.CALLEES, 1, "Show what NAME calls.")
implementations = _verb(
    "implementations", Aim.IMPLEMENTATIONS, 1, "Show every type that implements, extends or conforms to NAME."
)
importers = _verb(
    "importers", Aim.IMPORTERS, 1, "Show the files that import PATH: a file, a folder or a module."
)
uses = _verb("uses", Aim.USES, 1, "Show where NAME is used: calls, types, decorators, values.")
overrides = _verb("overrides", Aim.OVERRIDES, 1, "Show what overrides the method NAME.")


_since = option_of("since", SINCE, metavar="REV")
_subject = click.argument("name", required=False, metavar="[NAME|FILE]")


@click.command()
@_subject
@_since
@_limits
@depth_option()
@asking
def impact(reply: Reply, name: str | None, **options: Any) -> None:
    """Show what depends on NAME or FILE; without either, on what the working tree changes."""
    _answer(reply, relation=Aim.IMPACT, symbol=name or "", **options)


@click.command()
@_subject
@_since
@asking
def tests(reply: Reply, name: str | None, **options: Any) -> None:
    """Show the tests most likely to notice a change of NAME or FILE; without either, of the working tree."""
    _answer(reply, relation=Aim.TESTS, symbol=name or "", **options)


def _answer(
    reply: Reply,
    *,
    project: str | None,
    update: bool,
    max_tokens: int | None = None,
    **asked: Any,
) -> None:
    """Answer what is asked; an unknown name is an error."""
    inquiry = Inquiry(**{name: value for name, value in asked.items() if value is not None})
    with open_index(project, reply, update=update) as index:
        if inquiry.symbol and (working_folder() / inquiry.symbol).is_file():
            roots = index.asked.roots
            inquiry = replace(inquiry, symbol=roots.relative(_from_here(roots, inquiry.symbol)))
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


def _from_here(roots: Roots, file: str) -> str:
    """Return a path as typed: relative to the working directory where that is inside, else to the root."""
    here = working_folder() / file
    return str(here.resolve()) if here.exists() and roots.spelled(here.resolve()) else file


_RANGE = re.compile(r"(?P<base>.+?)(?:\.{2,3}(?P<head>.*))?")
_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


_tokens = option_of("max_tokens", CONTEXT_TOKENS, default=DEFAULT_TOKENS)


@click.command()
@click.argument("words", nargs=-1, metavar="[SIGNAL]...")
@click.option("--diff", metavar="REV|worktree", help="What changed since a revision, or is not committed.")
@_tokens
@asking
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
    _answer_with_context(reply, Request(signal, diff or ""), **options)


@click.command()
@click.argument("commits", required=False, metavar="[BASE..HEAD]")
@_tokens
@asking
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
        base = found["base"] if found else next(filter(lambda name: _commit(root, name), _BASES), "HEAD")
        hint = "Name the branch that it goes into."
        commit = find_commit(root, base, "A review", hint)
        if found and found["head"] and _commit(root, found["head"]) != current_commit(root):
            raise InvalidArgumentError(f"'{found['head']}' is not checked out.", hint="Check it out first.")
        since = (run_git(root, "merge-base", commit, "HEAD") or commit).strip()
    _answer_with_context(reply, Request(diff=since), markdown=True, **options)


def _commit(root: Path, name: str) -> str | None:
    said = run_git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return said.strip() if said else None


def _answer_with_context(
    reply: Reply,
    request: Request,
    *,
    max_tokens: int,
    project: str | None,
    update: bool,
    markdown: bool = False,
) -> None:
    with open_index(project, reply, update=update) as index:
        with stoppable() as cancel:
            found = index.asked.context(replace(request, under=index.under), cancel)
        found = replace(found, warning=index.warning(found.warning))
    if reply.json:
        output.emit(context_object(found, max_tokens))
    else:
        output.report(context_text(found, max_tokens, markdown=markdown))
