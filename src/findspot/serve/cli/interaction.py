"""Questions to the user, progress bars, and stopping by Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

import click

from findspot.core.errors import CancelledError
from findspot.core.model import Progress
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.serve.cli import output
from findspot.serve.cli.failure import DECLINED, ConfirmationRequiredError, StoppedError
from findspot.serve.cli.options import Reply
from findspot.serve.cli.terminal import terminal
from findspot.serve.shapes import duration
from findspot.text.snippet import cut

_REDRAW_S = 0.1
_BAR_COLUMNS = 30


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def can_offer() -> bool:
    """Return whether to offer what was not asked for: only to somebody whose answer goes to the terminal."""
    return can_ask() and sys.stdout.isatty()


def prompt(question: str) -> str:
    """Ask a question and return one line; the end of input cancels."""
    click.echo(output.clean(question) + " ", nl=False, err=True)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise click.Abort
    return answer.strip()


def agreed(question: str) -> bool:
    return prompt(f"{question} [y/N]").lower() in ("y", "yes")


def confirm(
    question: str,
    yes: bool,
    reply: Reply,
    *,
    about: str = "",
    unasked: ConfirmationRequiredError | None = None,
) -> None:
    """Continue only with a yes, given by an option or now; a no ends the command.

    `unasked` is raised where nobody can be asked.
    """
    if yes:
        return
    if not can_ask():
        raise unasked or ConfirmationRequiredError(question)
    if about:
        output.note(about, bold=True)
    if not agreed(question):
        cancel(reply)


def cancel(reply: Reply) -> NoReturn:
    if reply.json:
        output.emit({"status": "cancelled"})
    output.note("Cancelled; nothing was changed.")
    raise click.exceptions.Exit(DECLINED)


@contextlib.contextmanager
def unwinding_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the work, as Ctrl-C does: programs that it started are ended with it.

    An event loop takes Ctrl-C between two steps of its tasks. So it does SIGTERM: in the middle of a step a
    server may just have started that nobody has noted yet.
    """
    received: list[int] = []
    if not terminal().is_own:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        (interrupt if callable(interrupt) else signal.default_int_handler)(number, frame)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except BaseException:
        if received:
            raise SystemExit(128 + received[0]) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextlib.contextmanager
def stoppable(*, still_wanted: bool = False) -> Iterator[CancelToken]:
    """Let Ctrl-C and SIGTERM ask the work to stop at a safe point; a second one does not wait.

    Ctrl-C is the user's wish to stop; SIGTERM ends the process, and the work is still wanted. So is, after
    either, an index that a question needs: the next question goes on with it (`still_wanted`).
    """
    token = CancelToken()
    received: list[int] = []

    def stop(number: int) -> None:
        if received and terminal().is_own:
            raise KeyboardInterrupt
        received.append(number)
        if number == signal.SIGINT and not still_wanted:
            token.cancel()
        else:
            token.interrupt()

    try:
        with terminal().stopping(stop):
            yield token
    except CancelledError as error:
        raise StoppedError(received[0]) if received else error from None


@contextlib.contextmanager
def shown_progress(quiet: bool, *, only_indexing: bool = False) -> Iterator[ProgressSink]:
    """Provide a bar on a terminal; elsewhere one line, or nothing if `quiet`.

    With `only_indexing` the bar comes once there are files to index: usually there are none.
    """
    # A bar moves by the same escapes as colours; one that was asked for comes anyway.
    if not (output.wants_colour(sys.stderr) if only_indexing else sys.stderr.isatty()):
        yield ignore_progress if quiet else _one_line()
        return
    to = terminal()
    begun: dict[str, tuple[float, int]] = {}
    is_drawn = False
    drawn_at = 0.0

    def draw(line: str) -> None:
        """Put a line in the place of the one before it; whoever indexes does so in a thread of its own."""
        with contextlib.suppress(OSError):
            click.echo(f"\r\x1b[K{cut(line, to.columns - 1)}", file=to.stderr, nl=False)
            to.stderr.flush()

    def show(progress: Progress) -> None:
        nonlocal is_drawn, drawn_at
        now = time.monotonic()
        since, before = begun.setdefault(progress.phase, (now, progress.done))
        is_drawn |= not only_indexing or (_indexes(progress) and progress.total > 0)
        if is_drawn and now - drawn_at > _REDRAW_S:
            drawn_at = now
            draw(_bar(progress, now - since, progress.done - before))

    try:
        yield show
    finally:
        if is_drawn:
            draw("")


def _bar(progress: Progress, seconds: float, done: int) -> str:
    """Return how far it is, and how long it still takes by what was done in so many seconds."""
    if not progress.total:
        return progress.phase
    filled = _BAR_COLUMNS * progress.done // progress.total
    bar = "#" * filled + "." * (_BAR_COLUMNS - filled)
    left = f"  {duration(seconds / done * (progress.total - progress.done))} left" if done else ""
    return f"{progress.phase}  [{bar}]  {progress.done:,}/{progress.total:,}{left}"


def _indexes(progress: Progress) -> bool:
    return progress.phase.startswith("indexing")


def _one_line() -> ProgressSink:
    """Return what prints once how much there is to do, for logs."""
    printed: list[Progress] = []

    def show(progress: Progress) -> None:
        reads = progress.phase == "history"
        if (reads or _indexes(progress)) and not printed:
            printed.append(progress)
            what = output.count(progress.total, "commit" if reads else "file")
            output.note(f"{'reading' if reads else 'indexing'} {what}")

    return show
