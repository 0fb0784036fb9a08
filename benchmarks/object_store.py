"""A folder as a bucket that can be read: `python -m benchmarks.object_store FOLDER PORT`, on loopback.

The store of the tests keeps objects in memory and reads each of them whole. This one sends ranges of files,
so it can hold an index of any size. The bucket has any name; readers need
`AWS_ENDPOINT_URL=http://127.0.0.1:PORT`, a region and any keys.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

_REGION = "x-amz-bucket-region: us-east-1"
_DATED = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT"
_ENTRY = "<Contents><Key>{}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"


class _Connection(asyncio.Protocol):
    """One client. It shares two cores with the reader that is measured, so an answer is made in one piece."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._received = folder, b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._received = (self._received + data).split(b"\r\n\r\n")
        for head in heads:
            assert self._transport is not None
            self._transport.write(_answer(self._folder, head.decode("latin-1")))


async def serve(folder: Path, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(folder), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def _answer(folder: Path, head: str) -> bytes:
    first, *lines = head.split("\r\n")
    method, target, _ = first.split()
    address, _, query = target.partition("?")
    _, _, key = unquote(address).lstrip("/").partition("/")
    if not key:
        body = _listed(folder, parse_qs(query).get("prefix", [""])[0]) if method == "GET" else b""
        return _reply("200 OK", _REGION, f"Content-Length: {len(body)}") + body
    found = _opened(folder / key)
    if found is None:
        return _reply("404 Not Found", "Content-Length: 0")
    file, size, tag = found
    asked = next((line[len("range: ") :] for line in lines if line.lower().startswith("range: ")), "")
    begin, end = _range(asked, size)
    about = f"Content-Length: {end - begin}", f'ETag: "{tag}"', _DATED
    part = ("206 Partial Content", f"Content-Range: bytes {begin}-{end - 1}/{size}") if asked else ("200 OK",)
    return _reply(*part, *about) + (os.pread(file, end - begin, begin) if method == "GET" else b"")


def _reply(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode()


@lru_cache(maxsize=500)
def _opened(path: Path) -> tuple[int, int, int] | None:
    """Return an open file, its size and when it was changed; objects stay as they are while one measures."""
    if not path.is_file():
        return None
    about = path.stat()
    return os.open(path, os.O_RDONLY), about.st_size, about.st_mtime_ns


def _range(asked: str, size: int) -> tuple[int, int]:
    begin, _, last = asked.removeprefix("bytes=").partition("-")
    if not asked or not begin:
        return (max(0, size - int(last)) if last else 0), size
    return int(begin), min(size, int(last) + 1) if last else size


def _listed(folder: Path, prefix: str) -> bytes:
    """Return all objects below a prefix, in one page."""
    found = (path for path in sorted((folder / prefix).parent.rglob("*")) if path.is_file())
    keys = ((path.relative_to(folder).as_posix(), path.stat().st_size) for path in found)
    entries = "".join(_ENTRY.format(escape(key), size) for key, size in keys if key.startswith(prefix))
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
