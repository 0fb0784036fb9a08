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

from findspot.core.errors import CancelledError, FindspotError, PathNotFoundError
from findspot.core.files import translated_os_errors
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply

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


class ConfirmationRequiredError(click.UsageError):
    """A question that nobody is there to answer."""

    def __init__(self, question: str, code: str = "INVALID_ARGUMENT") -> None:
        self.question = question
        self.code = code
        super().__init__(
            f"This needs confirmation, and there is no terminal to ask on ({question}) Pass --yes."
        )


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


def report(error: FindspotError, reply: Reply) -> None:
    """Report an error raised on purpose."""
    if reply.json:
        from findspot.serve.shapes import error_object  # only now: the program must start fast

        output.emit(error_object(error))
    _print_error(error.statement, error.hint, error.developer_message if reply.verbose else "")


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


def report_usage(error: click.ClickException, reply: Reply) -> int:
    """Report a command line that cannot be run; returns the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group of commands, and none of them named
        for text in error.format_message().splitlines():
            output.note(text)
        return USAGE
    message = error.format_message()
    if reply.json:
        code = error.code if isinstance(error, ConfirmationRequiredError) else "INVALID_ARGUMENT"
        value = _object(code, message, f"{code}: {message}")
        if isinstance(error, ConfirmationRequiredError):
            value = {"status": "confirmation_required", "question": error.question, **value}
        output.emit(value)
    _print_error(message, _help_hint(error))
    return error.exit_code


def _help_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or isinstance(error, ConfirmationRequiredError):
        return ""
    return f"Try `{context.command_path} --help`."


def report_bug(error: Exception, reply: Reply) -> None:
    """Report an error that nobody expected: one sentence, and the traceback with `-v`."""
    message = f"Something unexpected went wrong: {type(error).__name__}: {error}"
    if reply.json:
        output.emit(_object("INTERNAL_ERROR", message, f"INTERNAL_ERROR: {error!r}"))
    _print_error(message, "" if reply.verbose else "Run it again with -v for the details.")
    if reply.verbose:
        for text in "".join(traceback.format_exception(error)).splitlines():
            output.note(text)


def _object(code: str, user_message: str, developer_message: str) -> dict[str, str]:
    return {"code": code, "userMessage": user_message, "developerMessage": developer_message}


def _print_error(message: str, hint: str, detail: str = "") -> None:
    output.note(f"error: {message}", fg="red")
    if hint:
        output.note(f"hint: {hint}")
    if detail:
        output.note(detail, dim=True)
