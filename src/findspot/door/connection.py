"""Reaching the resident process: it is found, started where there is none, and greeted.

A greeting is one line of JSON each way. What follows it is the protocol of whoever connected: MCP for
assistants (`pipe.py`), the output of a command for people (`command.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time

from findspot import __version__
from findspot.door.address import (
    HELLO,
    code_stamp,
    home_folder,
    reason_for_none,
    sandbox,
    service_folder,
    socket_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HELLO_S = 20.0
_START_S = 60.0
"""How long a start may take on a machine that is busy."""

_MOST_BYTES = 1 << 20
_TRIES = 50
_PAUSE_S = 0.05


class _ApartError(Exception):
    """No resident process answers here, and why."""


class RefusedError(Exception):
    """The resident process refuses this client; the command ends with `code`."""

    def __init__(self, why: str, code: int = 1) -> None:
        super().__init__(why)
        self.code = code


class Greeted:
    """A connection that was greeted: the socket, what came after the greeting, and what was said."""

    def __init__(self, connection: socket.socket, reply: dict[str, Any], rest: bytes) -> None:
        self.socket = connection
        self.reply = reply
        self.rest = rest


def lines_from(connection: socket.socket, rest: bytes = b"") -> Iterator[bytes]:
    """Yield the lines that come over a connection, after those of a rest, until the other side is gone."""
    while True:
        *lines, rest = rest.split(b"\n")
        yield from lines
        try:
            data = connection.recv(1 << 16)
        except OSError:
            return
        if not data:
            return
        rest += data


def say(text: str, end: str = "\n") -> None:
    """Print a line to standard error, if there is one."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{text}{end}")
        sys.stderr.flush()


def connect(kind: str, **said: Any) -> Greeted | None:
    """Connect to the resident process of the home, and start it if there is none.

    None where the caller answers by itself. The user gets a line about it unless that is usual, as in CI.
    """
    if reason_for_none():
        return None
    try:
        return _connect(kind, **said)
    except _ApartError as why:
        say(f"Answering in this process: {why}.")
        return None


def _connect(kind: str, **said: Any) -> Greeted:
    home = home_folder()
    for _ in range(_TRIES):
        connection = reach(home)
        if connection is None:
            _start(home)
            continue
        greeted = _greet(connection, hello(kind, **said))
        reply: dict[str, Any] = greeted.reply if greeted is not None else {"retired": True}
        if greeted is not None and reply.keys().isdisjoint(("retired", "apart", "refused")):
            return greeted
        connection.close()
        if "apart" in reply:
            raise _ApartError(reply["apart"])
        if "refused" in reply:
            raise RefusedError(reply["refused"], reply.get("code", 1))
        time.sleep(_PAUSE_S)  # it is leaving: another one takes its place
    raise _ApartError("the resident process could not be reached")


def ask(kind: str) -> dict[str, Any] | None:
    """Return what the resident process answers to a question about itself; None if there is none."""
    connection = reach(home_folder())
    if connection is None:
        return None
    with connection:
        greeted = _greet(connection, hello(kind))
        return greeted.reply if greeted is not None else None


def reach(home: str) -> socket.socket | None:
    """Return a connection to whoever listens for a home; None if nobody does."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    connection = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):
        connection.connect(socket_path(home))
        if is_own_user(connection):
            return connection
    connection.close()
    return None


def is_own_user(connection: socket.socket) -> bool:
    """Return whether the process at the other end is one of this user: a client sends its environment."""
    if hasattr(socket, "SO_PEERCRED"):
        about = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:  # macOS and BSD: LOCAL_PEERCRED, where a version and the user's number come first
        about = connection.getsockopt(0, 1, 76)
    return int.from_bytes(about[4:8], sys.byteorder) == os.geteuid()


def hello(kind: str, **said: Any) -> dict[str, Any]:
    greeting = {
        "findspot": HELLO,
        "version": __version__,
        "stamp": code_stamp(),
        "kind": kind,
        "sandbox": sandbox(),
        "folder": _folder(),
        "environ": dict(os.environ),
    }
    return greeting | said


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _greet(connection: socket.socket, greeting: dict[str, Any]) -> Greeted | None:
    """Send the first line, with proof that this process may open its folder; None if nobody answers."""
    connection.settimeout(_HELLO_S)
    line = json.dumps(greeting).encode() + b"\n"
    descriptors: list[int] = []
    with contextlib.suppress(OSError, TypeError):
        descriptors.append(os.open(greeting["folder"], os.O_RDONLY))
    try:
        if descriptors:
            line = line[socket.send_fds(connection, [line], descriptors) :]
        if line:  # whoever has read it may be gone by now
            connection.sendall(line)
        received = b""
        while b"\n" not in received and len(received) < _MOST_BYTES:
            if not (more := connection.recv(1 << 16)):
                return None
            received += more
        first, _, rest = received.partition(b"\n")
        reply = json.loads(first)
    except (OSError, ValueError):
        return None
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    connection.settimeout(None)
    return Greeted(connection, reply, rest) if isinstance(reply, dict) else None


def _start(home: str) -> None:
    import subprocess

    folder = service_folder(home)
    try:
        for each in (home, folder):  # the mode is only that of the last folder
            os.makedirs(each, 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        log = os.open(os.path.join(folder, "start.log"), flags, 0o600)
    except OSError as error:
        raise _ApartError(f"its folder cannot be written ({error.strerror})") from None
    paths = [path for path in sys.path if os.path.isabs(path)]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "findspot.resident", home],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=os.path.abspath(os.sep),
            env={**os.environ, "FINDSPOT_HOME": home, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    finally:
        os.close(log)
    assert process.stdout is not None
    with process.stdout as output:
        said = _first_line(output.fileno())
    process.wait()  # it goes on as a child of its own
    if said.startswith(b"apart "):
        raise _ApartError(said[6:].decode(errors="replace").strip())
    if said.strip() not in (b"ready", b"taken"):
        raise _ApartError(f"the resident process did not start; see {os.path.join(folder, 'start.log')}")


def _first_line(descriptor: int) -> bytes:
    """Return what a new process says once it can be reached; nothing if it ends or takes too long."""
    import select

    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    if not ready.poll(_START_S * 1000):
        return b""
    return os.read(descriptor, 1_000)  # it is written at once
