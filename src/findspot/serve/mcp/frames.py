"""Messages between the process that takes connections and those that answer: many requests over one socket.

A message has a kind, the number of its request, a head and a body. The head is pickled: both ends are ours,
and nobody else can write to the socket, which is made as a pair.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from typing import Any

_SIZES = struct.Struct("!BIII")


class Kind(IntEnum):
    """What a message is; a request's number is 0 where it belongs to none."""

    REQUEST = 1
    """A request of a client: method, path, query, headers, address and grant; the body of the request."""
    LEFT = 2
    """The client of a request has gone."""
    ANSWER = 3
    """A whole answer: status and headers; the body."""
    START = 4
    """Status and headers of an answer whose body comes in parts."""
    PART = 5
    """A part of a body."""
    END = 6
    """The last part of a body."""
    FIGURES = 7
    """A question for the figures of a process, and their return."""
    OPENED = 8
    """A process has opened the project of this folder; others load it too, and the writer watches it."""
    PAUSE = 9
    """Keep off the index of this folder; asks the writer."""
    PAUSED = 10
    """The writer keeps off."""
    RESUME = 11
    """The pause of this number is over."""
    STOP = 12
    """End."""


Receiver = Callable[[Kind, int, Any, bytes], None]


class Channel(asyncio.Protocol):
    """One end of the socket between two processes."""

    def __init__(self, receive: Receiver, closed: Callable[[], None]) -> None:
        self._receive = receive
        self._closed = closed
        self._transport: asyncio.Transport | None = None
        self._data = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        at = 0
        while len(self._data) - at >= _SIZES.size:
            kind, number, head, body = _SIZES.unpack_from(self._data, at)
            middle = at + _SIZES.size + head
            if len(self._data) < middle + body:
                break
            values = pickle.loads(self._data[at + _SIZES.size : middle]) if head else None
            content = bytes(self._data[middle : middle + body])
            at = middle + body
            self._receive(Kind(kind), number, values, content)
        del self._data[:at]

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._closed()

    def send(self, kind: Kind, number: int = 0, head: Any = None, body: bytes = b"") -> None:
        """Send a message; nothing happens if the other end is gone."""
        if self._transport is not None:
            packed = b"" if head is None else pickle.dumps(head, pickle.HIGHEST_PROTOCOL)
            sizes = _SIZES.pack(kind, number, len(packed), len(body))
            self._transport.write(b"".join((sizes, packed, body)))

    def close(self) -> None:
        """Close this end once everything is sent."""
        if self._transport is not None:
            self._transport.close()


@lru_cache(1_000)
def packed_grant(grant: Any) -> bytes:
    """Return what a token allows as a message carries it; the same for all requests with the token."""
    return pickle.dumps(grant, pickle.HIGHEST_PROTOCOL)


@lru_cache(1_000)
def unpacked_grant(packed: bytes) -> Any:
    """Return what a token allows, from a message."""
    return pickle.loads(packed)


async def open_channel(end: socket.socket, receive: Receiver, closed: Callable[[], None]) -> Channel:
    """Return a channel over one end of a pair of sockets."""
    end.setblocking(False)
    loop = asyncio.get_running_loop()
    _, channel = await loop.connect_accepted_socket(lambda: Channel(receive, closed), end)
    return channel


def send_start(control: socket.socket, values: object, end: socket.socket) -> None:
    """Ask for a process that answers over `end`, on a blocking socket."""
    packed = pickle.dumps(values)
    socket.send_fds(control, [len(packed).to_bytes(4, "big")], [end.fileno()])
    control.sendall(packed)


def receive_start(control: socket.socket) -> tuple[Any, socket.socket] | None:
    """Return the next request of `send_start`; None once the other side is gone."""
    size, descriptors, _, _ = socket.recv_fds(control, 4, 1)
    if len(size) < 4 or not descriptors:
        return None
    packed = control.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    return pickle.loads(packed), socket.socket(fileno=descriptors[0])
