"""A command that runs in the resident process, on the terminal of somebody else.

What it prints, asks and starts is passed to the door that it came through, one JSON object per line; the door
(`door/command.py`) has the terminal, the pager and the editor.
"""

from __future__ import annotations

import contextlib
import io
import json
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from findspot.engine import Engine

_CHUNK_BYTES = 1 << 16


class RemoteTerminal:
    """The terminal of a door."""

    def __init__(
        self, connection: socket.socket, facts: Mapping[str, Any], open_engine: Callable[[], Engine]
    ) -> None:
        self.engine = open_engine
        self.columns, self.lines = int(facts.get("columns") or 80), int(facts.get("lines") or 24)
        self.warned: set[str] = set()
        """Warnings that the command has printed."""
        self.stdout = _Stream(self, "out", is_terminal=bool(facts.get("out")))
        self.stderr = _Stream(self, "err", is_terminal=bool(facts.get("err")))
        self.stdin = _Stream(self, "in", is_terminal=bool(facts.get("in")))
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

    def ask(self, **said: Any) -> Any:
        """Tell the door to do something, and return what came of it; None if it is gone."""
        self.send(**said)
        return self._answers.get()

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
        begun = b""
        with contextlib.suppress(OSError, ValueError):
            while data := self._connection.recv(_CHUNK_BYTES):
                *lines, begun = (begun + data).split(b"\n")
                for said in map(json.loads, lines):
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


class _Stream(io.TextIOBase):
    """A standard stream of a door."""

    encoding = "utf-8"
    shows_links = True

    def __init__(self, terminal: RemoteTerminal, name: str, *, is_terminal: bool) -> None:
        self._terminal = terminal
        self._name = name
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self._terminal.send(**{self._name: text})
        return len(text)

    def readline(self, _size: int = -1, /) -> str:  # type: ignore[override]
        return str(self._terminal.ask(read="line") or "")

    def read(self, _size: int | None = -1) -> str:
        return str(self._terminal.ask(read="all") or "")


_current: ContextVar[RemoteTerminal | None] = ContextVar("terminal", default=None)


def remote_terminal() -> RemoteTerminal | None:
    """Return the terminal that the running command is for; None if it is this process's own."""
    return _current.get()


@contextlib.contextmanager
def attached(terminal: RemoteTerminal) -> Iterator[None]:
    """Run a command on the terminal of a door."""
    before = _current.set(terminal)
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
        terminal = _current.get()
        return getattr(self._own if terminal is None else getattr(terminal, self._name), name)


def route_streams() -> None:
    """Let commands of this process print to the doors that they came through."""
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, _Routed(name, getattr(sys, name)))


def run_elsewhere(command: Sequence[str]) -> int | None:
    """Run a program on the terminal of the door, and return its exit status; None without a door."""
    terminal = _current.get()
    return None if terminal is None else int(terminal.ask(run=list(command)) or 0)
