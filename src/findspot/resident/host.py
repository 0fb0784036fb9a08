"""The resident process: who may connect, what each connection is for, and when the process leaves.

Clients greet it with one line (`door/connection.py`). It leaves when it was alone for some minutes, when its
code is gone from the disk, and when a newer version asks for its place: it then listens no more, finishes the
calls that run, and closes connections as they fall silent; their pipes connect to its successor.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findspot import __file__ as package_file
from findspot import __version__
from findspot.core.caller import Caller, on_behalf_of
from findspot.core.config import load_settings
from findspot.core.log import get_logger, keep_log
from findspot.core.paths import home_folder
from findspot.core.platforms import importing
from findspot.core.settings import KEYS
from findspot.core.utc_time import utc_now
from findspot.door.address import code_stamp, rank, reason_for_none, sandbox
from findspot.door.connection import RefusedError, ask, is_own_user
from findspot.engine import Engine
from findspot.resident.place import listening, only_one
from findspot.serve.cli.app import run_for
from findspot.serve.cli.terminal import RemoteTerminal, route_streams

if TYPE_CHECKING:
    from findspot.resident.sessions import Sessions

_log = get_logger("service")

IDLE_VARIABLE = "FINDSPOT_SERVICE_IDLE"
"""Seconds without clients after which the process leaves, for tests."""

_IDLE_S = 300.0
_LOOK_S = 0.25
_HELLO_S = 10.0
_TRIES = 20
_DRAIN_S = 60.0
"""How long calls may go on after the place was given to another process."""
_MOST_HELLO_BYTES = 4 << 20
_SHAPING = frozenset(key.variable for key in KEYS if key.section in ("discover", "chunk", "embed", "store"))
"""Variables that shape an index: all clients of an index must agree on them."""


class Host:
    """The clients of this process, and what they share."""

    def __init__(self, idle_s: float, engine: Engine | None = None) -> None:
        """With an engine, this process serves others as well, and clients do not choose its environment."""
        self.engine = engine or Engine(watching=True)
        self._serves_others = engine is not None
        self._idle_s = idle_s
        self._own_rank = rank(__version__, code_stamp())
        self._sandbox = sandbox()
        self._sessions: Sessions | None = None
        self._opening = threading.Lock()
        self._guard = threading.Condition()
        self._clients: dict[int, dict[str, Any]] = {}
        self._alone_since = time.monotonic()
        self._retired = threading.Event()
        self._started = utc_now()

    def _open_sessions(self) -> Sessions:
        """Return those of assistants; a process that only runs commands does without the protocol."""
        with self._opening:
            if self._sessions is None:
                with importing():
                    from findspot.resident.sessions import Sessions

                self._sessions = Sessions(self.engine)
            return self._sessions

    def retire(self) -> None:
        """Leave as soon as the calls that run are answered."""
        self._retired.set()

    def serve(self, listener: socket.socket) -> None:
        listener.settimeout(_LOOK_S)
        while not self._retired.is_set() and not self._is_unused():
            with contextlib.suppress(TimeoutError, ConnectionError):
                connection, _ = listener.accept()
                threading.Thread(target=self._meet, args=(connection,), name="client", daemon=True).start()

    def finish(self) -> None:
        if self._sessions is not None:
            self._sessions.leave()
        with self._guard:
            self._guard.wait_for(lambda: not self._clients, _DRAIN_S)
        if self._sessions is not None:
            self._sessions.close()
        if not self._serves_others:
            self.engine.close()

    def _is_unused(self) -> bool:
        with self._guard:
            if self._clients:
                return False
            alone_s = time.monotonic() - self._alone_since
        return alone_s > self._idle_s or not Path(package_file).exists()

    def _meet(self, connection: socket.socket) -> None:
        """Hear what a client wants, in a thread of its own: one that says nothing keeps nobody waiting."""
        try:
            if not is_own_user(connection):
                _log.warning("a process of another user was refused")
                return
            connection.settimeout(_HELLO_S)
            greeting, descriptors = _receive(connection)
            connection.settimeout(None)
            with contextlib.ExitStack() as closed:
                for descriptor in descriptors:
                    closed.callback(os.close, descriptor)
                reply = self._reply(greeting, descriptors)
            if reply is not None:
                _say(connection, reply)
            elif greeting["kind"] == "mcp":
                self._open_session(connection, greeting)
            else:
                self._run_command(connection, greeting)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.info("a client was not understood: %r", error)
        except Exception:  # noqa: BLE001 - one client's trouble must not end the others
            _log.exception("a client could not be answered")
        finally:
            connection.close()

    def _reply(self, greeting: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | None:
        """Return what ends the conversation with a client; None for one that is let in."""
        kind = greeting["kind"]
        if kind == "status":
            return self._status()
        if kind == "stop":
            self.retire()
            return {"retired": True, "pid": os.getpid()}
        its_rank = rank(str(greeting["version"]), float(greeting["stamp"]))
        if its_rank > self._own_rank or kind == "replace" or self._retired.is_set():
            self.retire()
            return {"retired": True}
        if its_rank < self._own_rank and not greeting.get("revived"):
            return {"apart": f"a newer version, {__version__}, serves the other clients"}
        if greeting.get("sandbox") != self._sandbox or not _sees(greeting.get("folder"), descriptors):
            return {"apart": "this process sees other files than the resident one"}
        if other := self._other_shape(greeting["environ"]):
            return {
                "refused": f"{other} would change indexes that other clients use with another value. Set it "
                "in the configuration (`findspot config set`), or end the other clients."
            }
        return None

    def _other_shape(self, environ: dict[str, str]) -> str:
        """Return a variable that shapes indexes otherwise than for the present clients; else adopt all."""
        wanted = {name: environ[name] for name in _SHAPING if name in environ}
        with self._guard:
            present = {name: os.environ[name] for name in _SHAPING if name in os.environ}
            if wanted == present:
                return ""
            if self._clients or self._serves_others:
                return sorted(dict(wanted.items() ^ present.items()))[0]
            for name in _SHAPING:
                os.environ.pop(name, None)
            os.environ.update(wanted)
        return ""

    @contextlib.contextmanager
    def _present(self, greeting: dict[str, Any]) -> Iterator[None]:
        """Count a client as long as it is connected."""
        about = {
            "kind": greeting["kind"],
            "folder": greeting.get("folder"),
            "command": " ".join(map(str, greeting.get("arguments", ())))[:200],
            "since": utc_now(),
        }
        with self._guard:
            self._clients[id(about)] = about
        try:
            yield
        finally:
            with self._guard:
                del self._clients[id(about)]
                self._alone_since = time.monotonic()
                self._guard.notify_all()

    def _open_session(self, connection: socket.socket, greeting: dict[str, Any]) -> None:
        caller = _caller(greeting)
        with self._present(greeting):
            sessions = self._open_sessions()
            from findspot.resident.sessions import prepare_soon, terms_of

            try:
                with on_behalf_of(caller):
                    terms = terms_of(list(greeting["arguments"]), self.engine)
                    prepare_soon(self.engine, terms)
            except RefusedError as error:
                _say(connection, {"refused": str(error), "code": error.code})
                return
            _say(connection, {"pid": os.getpid(), "again": sessions.reading_tools})
            with contextlib.suppress(CancelledError):  # this process ends
                sessions.open(connection, terms, caller).result()

    def _run_command(self, connection: socket.socket, greeting: dict[str, Any]) -> None:
        with self._present(greeting):
            _say(connection, {"pid": os.getpid()})
            terminal = RemoteTerminal(connection, greeting.get("terminal") or {}, self.engine)
            with on_behalf_of(_caller(greeting)), contextlib.suppress(BrokenPipeError):
                terminal.send(exit=run_for(terminal, list(greeting["arguments"])))

    def _status(self) -> dict[str, Any]:
        with self._guard:
            clients = list(self._clients.values())
        projects = [str(project.root) for project in self.engine.opened()]
        return {
            "pid": os.getpid(),
            "version": __version__,
            "started": self._started,
            "clients": clients,
            "projects": projects,
        }


def _caller(greeting: dict[str, Any]) -> Caller:
    folder = greeting.get("folder")
    environ = {str(name): str(value) for name, value in dict(greeting["environ"]).items()}
    return Caller(Path(folder or os.sep), environ)


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the first line of a client, and the descriptors that came with it."""
    received, descriptors = b"", []
    while not received.endswith(b"\n"):
        more, given, _, _ = socket.recv_fds(connection, 1 << 16, 1)
        descriptors += given
        if not more or len(received) > _MOST_HELLO_BYTES:
            raise ValueError("no greeting")
        received += more
    greeting = json.loads(received)
    if not isinstance(greeting, dict) or not isinstance(greeting.get("environ"), dict):
        raise ValueError("not a greeting")
    return greeting, descriptors


def _say(connection: socket.socket, reply: dict[str, Any]) -> None:
    connection.sendall(json.dumps(reply).encode() + b"\n")


def _sees(folder: Any, descriptors: list[int]) -> bool:
    """Return whether a client's folder is the one that this process sees under that name."""
    if folder is None or not descriptors:
        return folder is None
    try:
        return os.path.samestat(os.fstat(descriptors[0]), Path(folder).stat())
    except OSError:
        return False


def run(home: Path, listener: socket.socket, ready: Callable[[], None]) -> Host:
    """Be the resident process of a home until it is time to leave; `finish` the host that is returned."""
    keep_log(home / "logs", load_settings().log.level)
    for variable in [key.variable for key in KEYS if key.variable in os.environ]:
        del os.environ[variable]  # each client has its own
    route_streams()
    host = Host(float(os.environ.get(IDLE_VARIABLE) or _IDLE_S))
    signal.signal(signal.SIGTERM, lambda *_: host.retire())
    ready()
    _log.info("resident process started: version %s", __version__)
    host.serve(listener)
    return host


@contextlib.contextmanager
def beside(engine: Engine) -> Iterator[None]:
    """Be the resident process of this home too, for as long as this process serves HTTP.

    Whoever has the place leaves it; its clients turn to this process.
    """
    with contextlib.ExitStack() as place:
        listener = None
        for _ in range(_TRIES):
            if reason_for_none() or listener is not None:
                break
            ask("replace")
            if place.enter_context(only_one(home_folder())):
                listener = place.enter_context(listening(home_folder()))
        if listener is None:
            yield
            return
        route_streams()
        host = Host(math.inf, engine)
        taking = threading.Thread(target=host.serve, args=(listener,), name="clients", daemon=True)
        taking.start()
        try:
            yield
        finally:
            host.retire()
            taking.join()
            place.close()
            host.finish()
