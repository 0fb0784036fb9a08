"""What a server writes goes out at once, in whatever pieces it is written."""

from __future__ import annotations

import socket

from findspot.serve.listening import listen


def test_connections_do_not_wait_for_acknowledgements() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
