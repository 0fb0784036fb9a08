"""The terminal that a command is for: that of this process, or that of the door it came through.

A command of the resident process passes what it prints, asks and starts to its door, an object per line;
the door (`door/command.py`) has the terminal, the pager and the browser.
"""

from __future__ import annotations

import contextlib
import io
import json
import queue
import shlex
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from findspot.core.caller import ENVIRONMENT
from findspot.core.config import terminal_settings
from findspot.core.platforms import find_program, resolved
from findspot.door.command import start
from findspot.door.connection import lines_from

if TYPE_CHECKING:
    from findspot.engine import Engine


class _Stream(io.TextIOBase):
    """A standard stream that is not one of this process."""

    encoding = "utf-8"

    def __init__(
        self, write: Callable[[str], object], *, is_terminal: bool, read: Callable[[str], Any] = str
    ) -> None:
        self._write = write
        self._is_terminal = is_terminal
        self._read = read

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self._write("" + text)  # click asks by writing bytes whether a stream takes them: this one fails
        return len(text)

    def readline(self, _size: int = -1, /) -> str:  # type: ignore[override]
        return str(self._read("line") or "")

    def read(self, _size: int | None = -1) -> str:
        return str(self._read("all") or "")


class OwnTerminal:
    is_own = True
    engine: Engine | None = None
    """The engine that commands share, where they do."""

    def __init__(self) -> None:
        self.warned: set[str] = set()
        """Warnings that were printed."""

    @property
    def columns(self) -> int:
        return shutil.get_terminal_size().columns

    @property
    def stderr(self) -> IO[str]:
        return sys.stderr

    @contextlib.contextmanager
    def stopping(self, action: Callable[[int], None]) -> Iterator[None]:
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, lambda number, _: action(number)) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def printing_to(self, stream: _Stream) -> contextlib.AbstractContextManager[object]:
        return contextlib.redirect_stdout(cast(IO[str], stream))

    def start(self, command: list[str], text: str | None = None) -> None:
        start(command, text)


class RemoteTerminal:
    """The terminal of a door."""

    is_own = False

    def __init__(self, connection: socket.socket, facts: Mapping[str, Any], engine: Engine) -> None:
        self.engine: Engine | None = engine
        self.columns = int(facts.get("columns") or 80)
        self.warned: set[str] = set()
        self.stdout = _Stream(lambda text: self.send(out=text), is_terminal=bool(facts.get("out")))
        err = _Stream(lambda text: self.send(err=text), is_terminal=bool(facts.get("err")))
        self.stderr = cast(IO[str], err)
        is_terminal = bool(facts.get("in"))
        self.stdin = _Stream(str, is_terminal=is_terminal, read=lambda what: self._ask(read=what))
        self._connection = connection
        self._sending = threading.Lock()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped: int | None = None
        self._on_stop: list[Callable[[int], None]] = []
        self._guard = threading.Lock()
        threading.Thread(target=self._listen, name="door", daemon=True).start()

    def send(self, **said: Any) -> None:
        """Tell the door something; `BrokenPipeError` if it is gone."""
        with self._sending:
            try:
                self._connection.sendall(json.dumps(said).encode() + b"\n")
            except OSError:
                raise BrokenPipeError from None

    def _ask(self, **said: Any) -> Any:
        """Tell the door to do something, and return what came of it; None if it is gone."""
        self.send(**said)
        return self._answers.get()

    @contextlib.contextmanager
    def printing_to(self, stream: _Stream) -> Iterator[None]:
        before, self.stdout = self.stdout, stream
        try:
            yield
        finally:
            self.stdout = before

    def start(self, command: list[str], text: str | None = None) -> None:
        """Have the door show a text with a program, or start a browser."""
        self._ask(start=command, text=text)

    @contextlib.contextmanager
    def stopping(self, action: Callable[[int], None]) -> Iterator[None]:
        """Call an action with the number of the signal that ends the door; SIGINT if it just goes."""
        with self._guard:
            self._on_stop.append(action)
            stopped = self._stopped
        if stopped is not None:
            action(stopped)
        try:
            yield
        finally:
            with self._guard:
                self._on_stop.remove(action)

    def _listen(self) -> None:
        with contextlib.suppress(ValueError):
            for said in map(json.loads, lines_from(self._connection)):
                if "stop" in said:
                    self._stop(int(said["stop"]))
                else:
                    self._answers.put(said.get("answer"))
        self._stop(2)
        self._answers.put(None)

    def _stop(self, number: int) -> None:
        with self._guard:
            self._stopped = number
            actions = list(self._on_stop)
        for action in actions:
            action(number)


_OWN = OwnTerminal()
_current: ContextVar[OwnTerminal | RemoteTerminal] = ContextVar("terminal", default=_OWN)


def terminal() -> OwnTerminal | RemoteTerminal:
    return _current.get()


@contextlib.contextmanager
def attached(to: RemoteTerminal) -> Iterator[None]:
    before = _current.set(to)
    try:
        yield
    finally:
        _current.reset(before)


class _Routed:
    """A standard stream of this process: that of the door whose command runs, or its own."""

    def __init__(self, name: str, own: Any) -> None:
        self._name = name
        self._own = own

    def __getattr__(self, name: str) -> Any:
        current = _current.get()
        stream = getattr(current, self._name) if isinstance(current, RemoteTerminal) else self._own
        return getattr(stream, name)


def route_streams() -> None:
    """Let commands of this process print to the doors that they came through."""
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, _Routed(name, getattr(sys, name)))


@contextlib.contextmanager
def paged(*, wanted: bool = True) -> Iterator[bool]:
    """Send what is printed to the user's pager, if there is one on a terminal; provide whether there is."""
    if not (wanted and sys.stdout.isatty() and (command := _pager())):
        yield False
        return
    text: list[str] = []
    with terminal().printing_to(_Stream(text.append, is_terminal=True)):
        yield True
    terminal().start(command, "".join(text))


def _pager() -> list[str]:
    command = shlex.split(terminal_settings().pager)
    if not command or command[0] == "cat":
        return []
    program = find_program(command[0], ENVIRONMENT.get("PATH"))
    return [program, *command[1:]] if program else []


def open_in_browser(page: Path | str) -> None:
    """Open a file or an address with the desktop's own program; do nothing where there is none."""
    if sys.platform == "win32":
        click.launch(str(page))  # which asks the system, and looks for no program
        return
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    with contextlib.suppress(OSError):
        terminal().start(resolved([opener, str(page)], ENVIRONMENT.get("PATH")))
