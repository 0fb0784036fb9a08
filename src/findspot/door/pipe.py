"""`findspot serve`: standard input and output as a pipe to the resident process.

It passes lines, remembers the client's `initialize` and which requests are not answered yet, and knows
nothing else of the protocol. If the resident process dies, another one is started and initialised on the
client's behalf: requests that only read are sent again, once; the others get an error that says what
happened.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import threading
import time
from importlib import import_module

from findspot.door.connection import Greeted, RefusedError, connect, lines_from, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

_CHUNK = 1 << 16
_MOST_DEATHS = 3
_DEATHS_S = 60.0
"""After so many deaths in so many seconds the client is answered in this process."""

_INTERNAL_ERROR = -32603
_DIED = (
    "The process that answers ended during this call. It may not have been done; call again if it is needed."
)
_CALL = "tools/call"
_CANCELLED = "notifications/cancelled"
LEAVING, LEFT = "leaving", "left"
"""What a session says when it takes no more requests, and what the pipe answers once it sends none."""

_KEPT = ("initialize", "notifications/initialized", "logging/setLevel")
"""Messages that a new session has to get before any other."""


class _Request:
    def __init__(self, line: bytes, message: dict[str, Any], session: Greeted) -> None:
        self.line = line
        self.session = session
        self.identity = message["id"]
        self.method = message["method"]
        params = message.get("params")
        self.tool = params.get("name") if isinstance(params, dict) and self.method == _CALL else None
        self.is_repeated = False


class Pipe:
    """One client: its standard input and output, and the session that answers it."""

    def __init__(self, arguments: list[str], source: int, sink: int) -> None:
        self._arguments = arguments
        self._source = source
        self._sink = sink
        self._guard = threading.RLock()
        self._requests: dict[str, _Request] = {}
        self._asked: dict[str, Greeted] = {}
        """Questions that the client has not answered, and who asked them."""
        self._kept: dict[str, bytes] = {}
        self._repeated: set[str] = set()
        """Ids of messages that are repeated on the client's behalf; it knows their answers."""
        self._deaths: list[float] = []
        self._over = False
        self._is_ending = False
        """Whether this process ends, and no session is begun any more."""
        self._ended = threading.Event()
        self._local: Any = None
        """The server inside this process, if there is one."""
        self._session: Greeted | None = self._open()
        """None after a session has left, until the client asks something."""

    def run(self) -> None:
        """Pass messages until the client closes its side, or a signal comes."""
        self._listen(self._present())
        for line in self._asked_lines():
            self._pass_on(line.removesuffix(b"\n"))
        with self._guard:
            self._over = True
            if self._session is None:
                self._ended.set()
            else:
                self._close_input(self._session)
        self._ended.wait()
        self._finish()

    def _asked_lines(self) -> Iterator[bytes]:
        with contextlib.suppress(OSError), open(self._source, "rb", _CHUNK, closefd=False) as source:
            yield from source

    def _close_input(self, session: Greeted) -> None:
        with contextlib.suppress(OSError):
            session.socket.shutdown(socket.SHUT_WR)

    def _listen(self, session: Greeted) -> None:
        threading.Thread(target=self._pass_answers, args=(session,), daemon=True).start()

    def _present(self) -> Greeted:
        """Return the session; where the last one is gone, one that is begun as the client began that."""
        if self._session is None:
            self._session = self._open(is_replaced=True)
            waiting = {request.line for request in self._requests.values()}
            for line in (self._kept.get(method) for method in _KEPT):
                if line is not None and line not in waiting:
                    identity = json.loads(line).get("id")
                    if identity is not None:
                        self._repeated.add(key_of(identity))
                    _send(self._session, line)
            self._listen(self._session)
        return self._session

    def _open(self, *, is_replaced: bool = False) -> Greeted:
        """Return a session of the resident process or, where there is to be none, of this one."""
        if len(self._deaths) >= _MOST_DEATHS:
            say("Answering in this process: the resident process ended three times within a minute.")
        elif greeted := connect("mcp", arguments=self._arguments, revived=is_replaced):
            return greeted
        ours, its = socket.socketpair()
        gc.disable()  # nothing that is imported is garbage
        sessions = import_module("findspot.resident.sessions")
        gc.freeze()
        gc.enable()
        self._local = sessions.InProcess(its, self._arguments)
        return Greeted(ours, {"again": self._local.reading_tools}, b"")

    def _pass_on(self, line: bytes) -> None:
        """Send a line of the client; a session that is gone leaves its requests to the next one."""
        with self._guard:
            session = self._session_for(line)
        if session is not None:
            _send(session, line)

    def _session_for(self, line: bytes) -> Greeted | None:
        """Note what a line asks or answers; None for an answer to a question of a session that is gone."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            return self._present()  # which says what is wrong with it
        method, identity, params = (message.get(name) for name in ("method", "id", "params"))
        if method is None and ("result" in message or "error" in message):
            return self._asked.pop(key_of(identity), None)
        if method == _CANCELLED and isinstance(params, dict):
            request = self._requests.pop(key_of(params.get("requestId")), None)
            return request.session if request is not None else self._present()
        session = self._present()
        if isinstance(method, str):
            if isinstance(identity, str | int):
                self._requests[key_of(identity)] = _Request(line, message, session)
            if method in _KEPT:
                self._kept[method] = line
        return session

    def _pass_answers(self, session: Greeted) -> None:
        """Write what a session says; when it dies, go on with another one."""
        try:
            for line in lines_from(session.socket, session.rest):
                if self._is_for_client(line, session):
                    _write(self._sink, line + b"\n")
            with self._guard:
                self._go_on_after(session)
                if self._over and self._session is None:
                    self._ended.set()
        except OSError:  # the client does not read any more
            self._end()
        except RefusedError as error:
            say(f"error: {error}")
            self._end(error.code)

    def _is_for_client(self, line: bytes, session: Greeted) -> bool:
        """Note what a line of a session answers or asks; False for what only concerns this pipe."""
        try:
            message = json.loads(line)
        except ValueError:
            return True
        key = key_of(message.get("id"))
        with self._guard:
            if message.get("findspot") == LEAVING:
                self._leave(session)
                return False
            if "method" in message:
                if message.get("id") is not None:
                    self._asked[key] = session
            elif key in self._repeated:
                self._repeated.discard(key)
                return False
            else:
                self._requests.pop(key, None)
        return True

    def _leave(self, session: Greeted) -> None:
        """Send nothing more to a session that takes no more; it still answers what it was asked."""
        if session is self._session and not self._over:
            self._session = None
        _send(session, json.dumps({"findspot": LEFT}).encode())

    def _go_on_after(self, dead: Greeted) -> None:
        """Answer or repeat what a session has not answered."""
        dead.socket.close()
        if dead is self._session:
            self._session = None
        unanswered = [request for request in self._requests.values() if request.session is dead]
        self._asked = {key: asker for key, asker in self._asked.items() if asker is not dead}
        if not unanswered or self._is_ending:
            return
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if now - death < _DEATHS_S), now]
        session = self._present()
        again = frozenset(session.reply.get("again", ()))
        for request in unanswered:
            is_harmless = request.method != _CALL or request.tool in again
            if is_harmless and not request.is_repeated:
                request.is_repeated = True
                request.session = session
                _send(session, request.line)
            else:
                del self._requests[key_of(request.identity)]
                error = {"code": _INTERNAL_ERROR, "message": _DIED}
                answer = {"jsonrpc": "2.0", "id": request.identity, "error": error}
                _write(self._sink, json.dumps(answer).encode() + b"\n")
        if self._over:  # nothing more comes
            self._close_input(session)

    def _end(self, code: int = 0) -> NoReturn:
        """End this process, whatever the client still sends; the closed connection ends the session."""
        self._is_ending = True
        if self._session is not None:
            with contextlib.suppress(OSError):
                self._session.socket.shutdown(socket.SHUT_RDWR)
        self._finish()
        os._exit(code)

    def _finish(self) -> None:
        if self._local is not None:
            self._local.join()

    def end_on_signal(self, number: int) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # a second one does not wait
        self._over = True
        self._end()


def key_of(identity: Any) -> str:
    """Return the same for `1` and `"1"`, which clients confuse."""
    return str(identity)


def _send(session: Greeted, line: bytes) -> None:
    with contextlib.suppress(OSError):  # whoever reads the answers sees the end, and goes on from there
        session.socket.sendall(line + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def main(arguments: list[str]) -> int:
    """Serve MCP on standard input and output; `arguments` are those of the command, its name first."""
    if os.isatty(0):
        say("This is the server that assistants start. It reads MCP messages from here.")
        say("To connect an assistant, run `findspot setup`. To stop, press Ctrl-C.")
    source, sink = _take_streams()
    try:
        pipe = Pipe(arguments, source, sink)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: pipe.end_on_signal(number))
        pipe.run()
    except RefusedError as error:  # also by the successor of the process that answered
        say(f"error: {error}")
        return error.code
    return 0


def _take_streams() -> tuple[int, int]:
    """Keep both streams to ourselves: what else runs here reads nothing, and prints to standard error."""
    source, sink = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nowhere, 1)
    os.close(nowhere)
    return source, sink
