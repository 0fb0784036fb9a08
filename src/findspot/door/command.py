"""A command at the door: the resident process runs it, this process has its terminal.

What comes is printed; questions, pager and browser are here. A command that the resident process leaves to
its caller, or that nobody can be asked about, runs in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading

from findspot.door.connection import Greeted, RefusedError, connect, lines_from, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMANDS = frozenset(
    (
        "search", "docs", "research", "callers", "callees", "implementations", "uses", "overrides",
        "importers", "impact", "tests", "history", "context", "review", "status", "files", "projects",
        "index", "reindex", "watch", "ui",
    )
)  # fmt: skip
"""What the resident process runs: whatever asks an index or changes one."""

_HELP = frozenset(("-h", "--help"))
_WRITING = frozenset(("index", "reindex", "watch", "ui"))
_LOST = 70


def start(command: list[str], text: str | None) -> None:
    """Show a text in the user's pager, or without one start a browser, which must not want this terminal.

    A pager quits if all fits on one screen, keeps colours, and leaves them.
    """
    import subprocess

    if text is None:
        nowhere = subprocess.DEVNULL
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        return
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    sys.stdout.flush()
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    with contextlib.suppress(KeyboardInterrupt):
        pager.communicate(text.encode("utf-8", "backslashreplace"))


def run(arguments: list[str]) -> int | None:
    """Run a command in the resident process and return its exit code; None if it has to run here."""
    if not arguments or arguments[0] not in COMMANDS or not _HELP.isdisjoint(arguments):
        return None
    try:
        greeted = connect("command", arguments=arguments, terminal=_terminal())
    except RefusedError as error:
        say(f"error: {error}")
        return error.code
    if greeted is None:
        return None
    return _Attendant(greeted, is_repeatable=arguments[0] not in _WRITING).run()


def _terminal() -> dict[str, Any]:
    facts: dict[str, Any] = {
        "in": sys.stdin is not None and sys.stdin.isatty(),
        "out": sys.stdout is not None and sys.stdout.isatty(),
        "err": sys.stderr is not None and sys.stderr.isatty(),
    }
    for stream in (1, 2, 0):
        with contextlib.suppress(OSError):
            return facts | {"columns": os.get_terminal_size(stream).columns}
    return facts | {"columns": int(os.environ.get("COLUMNS", "0") or 0)}


class _Attendant:
    """Does for a command what only the process at the terminal can."""

    def __init__(self, greeted: Greeted, *, is_repeatable: bool) -> None:
        self._is_repeatable = is_repeatable
        """Whether the command can be run again: it only reads, and has said nothing yet."""
        self._socket = greeted.socket
        self._rest = greeted.rest
        self._stops = 0
        self._sending = threading.RLock()  # a signal may come while something is sent
        self._is_asking = False

    def run(self) -> int | None:
        """Attend until the command ends, and return its exit code; None if it has to run here after all."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            return self._attend()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if isinstance(error, BrokenPipeError):  # the reader has seen enough
                return 0
            say(f"error: The answer cannot be written: {error.strerror}.")
            return 1
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _attend(self) -> int | None:
        for said in map(json.loads, lines_from(self._socket, self._rest)):
            self._is_repeatable = False
            if "exit" in said:
                sys.stdout.flush()
                return int(said["exit"])
            if "out" in said:
                sys.stdout.write(said["out"])
                if said["out"].endswith("\n"):
                    sys.stdout.flush()
            elif "err" in said:
                say(said["err"], end="")
            elif "read" in said:
                self._send(answer=self._read(said["read"]))
            elif "start" in said:
                with contextlib.suppress(OSError):
                    start(said["start"], said["text"])
                self._send(answer=0)
        if self._is_repeatable:
            return None
        say("error: The process that answers ended. Run the command again.")
        return _LOST

    def _read(self, wanted: str) -> str:
        self._is_asking = True
        try:
            return sys.stdin.read() if wanted == "all" else sys.stdin.readline()
        except KeyboardInterrupt:
            return ""
        finally:
            self._is_asking = False

    def _send(self, **said: Any) -> None:
        with contextlib.suppress(OSError), self._sending:
            self._socket.sendall(json.dumps(said).encode() + b"\n")

    def _stop(self, number: int, _frame: Any) -> None:
        """Ask the command to stop at a safe point; a second time, it is not waited for."""
        if self._is_asking:
            raise KeyboardInterrupt
        self._stops += 1
        if self._stops > 1:
            os._exit(128 + number)
        self._send(stop=number)
