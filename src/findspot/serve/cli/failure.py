"""Report errors to people and to programs, and choose the exit code.

0    done, or nothing to do or to find   4    a provider or a published address is unavailable
1    an error; or the user said no       130  stopped by Ctrl-C
2    wrong usage or configuration        143  stopped by SIGTERM
3    there is no index

A name that the index does not have is an error; nothing found for one that it has is an answer.
"""

from __future__ import annotations

import errno
import os
import traceback
from pathlib import Path

import click

from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    FindspotError,
    InvalidArgumentError,
    PathNotFoundError,
)
from findspot.core.files import translated_os_errors
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply
from findspot.serve.shapes import ERROR

DECLINED = 1
USAGE = 2
NO_INDEX = 3

_EXIT_CODES = {
    "INVALID_ARGUMENT": USAGE,
    "INVALID_PATTERN": USAGE,
    "FILE_LIMIT_WARNING": USAGE,
    "INDEX_NOT_FOUND": NO_INDEX,
    "DOCS_INDEX_NOT_FOUND": NO_INDEX,
    "MODEL_DOWNLOAD_FAILED": 4,
    "PROVIDER_ERROR": 4,
}


class ConfirmationRequiredError(InvalidArgumentError):
    """A question that nobody is there to answer; `agree` says how to answer it beforehand."""

    def __init__(self, question: str, agree: str = "Pass --yes.") -> None:
        self.question = question
        super().__init__(f"This needs confirmation, and there is no terminal to ask on ({question}) {agree}")


class LargeProjectError(ConfirmationRequiredError):
    """The question whether to index more files than are usual."""

    code = FileLimitError.code


class StoppedError(CancelledError):
    """Cancelled by a signal, whose number decides the exit code."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.signal_number = signal_number
        self.hint = "Run `findspot index` again to continue."


def exit_code(error: FindspotError) -> int:
    if isinstance(error, StoppedError):
        return 128 + error.signal_number
    return _EXIT_CODES.get(error.code, 1)


def refusal(error: OSError) -> FindspotError:
    """Return what the system refused as an error that says so; nothing of it is a mistake of Findspot."""
    reason = error.strerror or str(error)
    if error.filename is None:
        if error.errno == errno.ENOENT:
            return FindspotError("The working folder is gone.", hint="Change to a folder that exists.")
        return FindspotError(f"The system refused: {reason}.")
    path = Path(os.fsdecode(error.filename))
    if error.errno == errno.ENOENT:
        return PathNotFoundError(str(path))
    try:
        with translated_os_errors(path):
            raise error
    except FindspotError as known:
        return known
    except OSError:
        return FindspotError(f"{path}: {reason}.")


def report(error: Exception, reply: Reply) -> int:
    """Report what ended a command, to people and to programs; returns the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group of commands, and none of them named
        for text in error.format_message().splitlines():
            output.note(text)
        return USAGE
    known = _as_findspot_error(error)
    if reply.json:
        value = ERROR(known)
        if isinstance(known, ConfirmationRequiredError):
            value = {"status": "confirmation_required", "question": known.question, **value}
        output.emit(value)
    output.note(f"error: {known.statement if known is error else known.user_message}", fg="red")
    if known.hint:
        output.note(f"hint: {known.hint}")
    return error.exit_code if isinstance(error, click.ClickException) else exit_code(known)


def _as_findspot_error(error: Exception) -> FindspotError:
    if isinstance(error, FindspotError):
        return error
    if isinstance(error, OSError):
        return refusal(error)
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"Try `{context.command_path} --help`." if context else ""
        return InvalidArgumentError(error.format_message(), hint=hint)
    for text in "".join(traceback.format_exception(error)).splitlines():
        output.note(text, dim=True)
    return FindspotError(f"Something unexpected went wrong: {type(error).__name__}: {error}", repr(error))
