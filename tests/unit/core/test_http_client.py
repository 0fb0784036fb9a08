"""One request: its time limit holds, however the answer comes."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from findspot.core.http_client import Address, RequestFailedError


def drip(listener: socket.socket, over: threading.Event) -> None:
    """Send the head of an answer byte by byte, until the client leaves or the test is over."""
    connection, _ = listener.accept()
    with connection, contextlib.suppress(OSError):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not over.wait(0.02):
            connection.sendall(b"x")


def test_a_head_that_never_ends_is_given_up() -> None:
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=drip, args=(listener, over), daemon=True)
        server.start()
        # Without a limit of the whole, the head would go on until it is too long: 65,536 bytes, 20 minutes.
        with pytest.raises(RequestFailedError, match=r"no answer within 0\.3 seconds"):
            Address(f"http://127.0.0.1:{listener.getsockname()[1]}").ask("GET", "/", timeout_s=0.3)
        over.set()
        server.join()


def test_what_a_server_says_cannot_steer_a_terminal() -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"\x1b]0;title\x07 nonsense\x00" + b"x" * 1_000 + b"\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,), daemon=True)
        server.start()
        with pytest.raises(RequestFailedError) as caught:
            Address(f"http://127.0.0.1:{listener.getsockname()[1]}").ask("GET", "/", timeout_s=30)
        server.join()
    assert "nonsense" in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200
