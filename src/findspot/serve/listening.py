"""The socket that a server of ours listens at."""

from __future__ import annotations

import socket

BACKLOG = 512
"""Connections that may wait to be taken: many clients may come at once."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket whose connections send at once what is written to them.

    The event loop sets that only where a socket names its protocol, which `create_server` leaves out: an
    answer's body then waits, after its head, for an acknowledgement that the other side holds back for 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
