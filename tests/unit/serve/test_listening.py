"""What a server writes goes out at once, in whatever pieces it is written."""

from __future__ import annotations

import socket

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.serve.listening import listen

WAY_OUT = "`findspot serve --http HOST:PORT`"


def test_connections_do_not_wait_for_acknowledgements() -> None:
    with listen("127.0.0.1", 0, WAY_OUT) as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgumentError) as caught:
            listen("127.0.0.1", port, WAY_OUT)
    assert caught.value.user_message.startswith(f"Another program uses port {port} of 127.0.0.1")
    assert caught.value.hint == "End that program, or choose another port: `findspot serve --http HOST:PORT`."
