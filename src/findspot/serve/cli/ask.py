"""Questions to the user, on the terminal only; results on standard output stay clean."""

from __future__ import annotations

import sys

import click

from findspot.serve.cli import output
from findspot.serve.cli.failure import DECLINED, ConfirmationRequiredError
from findspot.serve.cli.options import Manner


def can_ask() -> bool:
    """Return whether somebody sits at both ends of the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prompt(question: str) -> str:
    """Return one line of answer; the end of input is a cancellation."""
    click.echo(output.clean(question) + " ", nl=False, err=True)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise click.Abort
    return answer.strip()


def confirm(
    question: str, yes: bool, manner: Manner, *, about: str = "", code: str = "INVALID_ARGUMENT"
) -> None:
    """Go on only with a yes: given beforehand, or now; a no ends the command.

    `code` names the reason for the question to programs that cannot answer it.
    """
    if yes:
        return
    if not can_ask():
        raise ConfirmationRequiredError(question, code)
    if about:
        output.note(about, bold=True)
    if prompt(f"{question} [y/N]").lower() in ("y", "yes"):
        return
    if manner.json:
        output.emit({"status": "cancelled"})
    output.note("Cancelled; nothing was changed.")
    raise click.exceptions.Exit(DECLINED)
