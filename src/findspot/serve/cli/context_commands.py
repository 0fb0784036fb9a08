"""`findspot context` and `findspot review`: what a task, or a pull request, needs besides what is at hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import current_commit, find_commit, run_git
from findspot.research.task_signals import Request
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import stoppable
from findspot.serve.cli.options import Command, Reply, common, joined, project_option, update_option
from findspot.serve.context_answers import DEFAULT_TOKENS, context_object, context_text

_RANGE = re.compile(r"(?P<base>.+?)(?:\.{2,3}(?P<head>.*))?")
_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def _tokens(command: Command) -> Command:
    limit = click.IntRange(MIN_TOKENS)
    text = "Shorten the answer to this many characters / 4."
    return click.option("--max-tokens", type=limit, default=DEFAULT_TOKENS, show_default=True, help=text)(
        command
    )


@click.command()
@click.argument("words", nargs=-1, metavar="[SIGNAL]...")
@click.option("--diff", metavar="REV|worktree", help="What changed since a revision, or is not committed.")
@_tokens
@project_option
@update_option
@common
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
    signal = joined(words)
    if signal == "-":
        signal = sys.stdin.read()
    if not signal.strip() and not diff:
        raise click.UsageError("Give a SIGNAL, or --diff.")
    _answer(reply, Request(signal, diff or ""), **options)


@click.command()
@click.argument("commits", required=False, metavar="[BASE..HEAD]")
@_tokens
@project_option
@update_option
@common
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
    _answer(reply, Request(diff=since), markdown=True, **options)


def _commit(root: Path, name: str) -> str | None:
    said = run_git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return said.strip() if said else None


def _answer(
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
            found = index.project.context(replace(request, under=index.under), cancel)
        found = replace(found, warning=index.warning(found.warning))
    if reply.json:
        output.emit(context_object(found, max_tokens))
    else:
        output.lines(context_text(found, max_tokens, markdown=markdown))
