"""Standard input and output: whole lines, in order, and never more than the other side takes."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from findspot.serve.mcp.pipes import Lines, Writer

PATIENCE_S = 60
LONG = b"x" * 3_000_000
"""Many times what a pipe holds."""

TEXT = b"\n".join((b"one", b"", LONG, b"two \xff", b"the last, without an end"))


def _pair(kind: str) -> tuple[int, int]:
    """Two connected descriptors: one to read from, one to write to."""
    if kind == "pipe":
        return os.pipe()
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


async def _all_of(lines: Lines) -> list[bytes]:
    found = []
    while (line := await lines.next()) is not None:
        found.append(line.rstrip(b"\n"))
    return found


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_lines_arrive_whole_and_in_order(kind: str) -> None:
    theirs, ours = _pair(kind)

    def send() -> None:
        with os.fdopen(ours, "wb") as stream:
            stream.write(TEXT)

    sender = threading.Thread(target=send)
    sender.start()
    assert asyncio.run(_all_of(Lines(theirs))) == TEXT.split(b"\n")
    sender.join()
    os.close(theirs)


def test_a_plain_file_is_read_by_a_thread(tmp_path: Path) -> None:
    many = TEXT + b"\nagain" * 1_000
    (tmp_path / "input").write_bytes(many)
    descriptor = os.open(tmp_path / "input", os.O_RDONLY)
    assert asyncio.run(_all_of(Lines(descriptor))) == many.split(b"\n")
    os.close(descriptor)


def test_no_more_is_read_than_is_taken() -> None:
    """A client that sends faster than it is answered has to wait."""
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    lines = Lines(theirs)

    def sent_without_waiting() -> int:
        sent = 0
        try:
            while True:
                sent += os.write(ours, b"ping\n" * 100)  # little enough to be written whole
        except BlockingIOError:
            return sent

    async def read() -> None:
        total = sent_without_waiting()
        assert await lines.next() == b"ping"
        total += sent_without_waiting()
        for _ in range(100):  # turns of the loop in which it could have read on
            await asyncio.sleep(0)
        assert sent_without_waiting() == 0
        os.close(ours)
        assert len(await _all_of(lines)) == total // len(b"ping\n") - 1

    asyncio.run(read())
    os.close(theirs)


def test_an_input_that_is_ended_gives_no_more() -> None:
    theirs, ours = os.pipe()
    lines = Lines(theirs)

    async def read() -> None:
        os.write(ours, b"one\ntwo\n")
        assert await lines.next() == b"one"
        threading.Thread(target=lines.end).start()
        await _all_of(lines)  # would wait for ever: the pipe is open
        assert await lines.next() is None

    asyncio.run(read())
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_client_that_reads_late_gets_everything_in_order(kind: str) -> None:
    theirs, ours = _pair(kind)
    messages = [b"%d:%s\n" % (number, b"y" * (number * 40)) for number in range(1_000)]
    writer, received = Writer(ours), bytearray()

    def read() -> None:
        while data := os.read(theirs, 1 << 16):
            received.extend(data)

    reader = threading.Thread(target=read)

    async def write_all() -> None:
        written = [asyncio.ensure_future(writer.write(message)) for message in messages]
        await asyncio.wait(written, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0)
        assert not all(future.done() for future in written), "nobody reads: the last have to wait"
        reader.start()
        await asyncio.gather(*written)

    asyncio.run(write_all())
    writer.close()
    os.close(ours)
    reader.join(PATIENCE_S)
    assert bytes(received) == b"".join(messages)
    os.close(theirs)


def test_whoever_shares_a_pipe_keeps_it_as_it_was() -> None:
    theirs, ours = os.pipe()
    writer = Writer(ours)
    asyncio.run(writer.write(b"hello\n"))
    assert os.read(theirs, 100) == b"hello\n"
    assert os.get_blocking(ours)
    writer.close()
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_client_that_is_gone_is_an_error(kind: str) -> None:
    theirs, ours = _pair(kind)
    writer = Writer(ours)
    os.close(theirs)
    with pytest.raises(OSError):
        asyncio.run(writer.write(b"hello\n"))
    writer.close()
    os.close(ours)
