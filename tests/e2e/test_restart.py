"""A server is replaced while clients ask, behind a socket that a service manager holds."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.door import HELLO
from e2e.harness import COMMAND, PATIENCE_S, environment
from e2e.sample import make_sample

CLIENTS = 4
KEPT_S = 0.5
"""A client uses no connection again that was idle for longer, as others do; the server allows for more."""

_START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""
"""What a service manager does: the socket becomes descriptor 3 of the process that it starts."""


class Load:
    """Clients that ask without a pause; a session that the server does not know is opened again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self.answered, self.reopened, self.failures = 0, 0, list[str]()
        self._used: dict[http.client.HTTPConnection, float] = {}
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def wait_for(self, more: int) -> None:
        """Wait until so many more calls have been answered."""
        wanted, deadline = self.answered + more, time.monotonic() + PATIENCE_S
        while self.answered < wanted and not self.failures:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _ask(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        session: dict[str, str] = {}
        turn = 0
        while not self._stop.is_set():
            turn += 1
            try:
                if not session:
                    _, headers = self._post(connection, HELLO, {})
                    session = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
                called = {"name": "search_code", "arguments": {"query": f"login {number} {turn}"}}
                message = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": called}
                status, _ = self._post(connection, message, session)
            except (OSError, http.client.HTTPException, KeyError) as error:
                self.failures.append(repr(error))
                return
            if status == 404:
                session = {}
                self.reopened += 1
            elif status != 200:
                self.failures.append(str(status))
            else:
                self.answered += 1

    def _post(
        self, connection: http.client.HTTPConnection, message: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        body = json.dumps(message)
        if time.monotonic() > self._used.get(connection, 0.0) + KEPT_S:  # a busy machine
            connection.close()
        connection.request("POST", "/mcp", body, accepted | headers)
        answer = connection.getresponse()
        answer.read()
        self._used[connection] = time.monotonic()
        return answer.status, answer.headers


@contextmanager
def started(listener: socket.socket, home: Path, project: Path) -> Iterator[Any]:
    with subprocess.Popen(
        [sys.executable, "-c", _START, str(listener.fileno()), *COMMAND, "--http", "--no-token"],
        cwd=project,
        env=environment(home),
        pass_fds=[listener.fileno()],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert f":{listener.getsockname()[1]}/mcp" in said, said
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


@pytest.mark.skipif(os.name == "nt", reason="a socket is handed over on POSIX systems only")
def test_no_request_fails_while_a_server_is_replaced(tmp_path: Path) -> None:
    """First with a successor that runs already, then with one that starts after the end."""
    home, project = tmp_path / "home", make_sample(tmp_path / "shop")
    home.mkdir()
    subprocess.run(
        [COMMAND[0], "index", str(project)], env=environment(home), check=True, capture_output=True
    )
    with (
        socket.create_server(("127.0.0.1", 0), backlog=128) as listener,
        Load(listener.getsockname()[1]) as load,
    ):
        with started(listener, home, project) as first:
            load.wait_for(20)
            with started(listener, home, project) as second:
                load.wait_for(20)
                first.send_signal(signal.SIGTERM)
                assert first.wait(PATIENCE_S) in (0, 128 + signal.SIGTERM, -signal.SIGTERM)
                load.wait_for(20)
                assert load.reopened >= 1
                second.send_signal(signal.SIGTERM)
                second.wait(PATIENCE_S)
        with started(listener, home, project):
            load.wait_for(20)
            load.__exit__()
        assert load.failures == []


def test_a_socket_that_is_none_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        command = [sys.executable, "-c", _START, str(other.fileno()), *COMMAND, "--http", "--no-token"]
        done = subprocess.run(
            command, env=environment(tmp_path), pass_fds=[other.fileno()], capture_output=True, check=False
        )
    assert done.returncode != 0
    assert b"one listening TCP socket" in done.stderr
    assert b"Traceback" not in done.stderr
