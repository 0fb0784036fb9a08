"""A folder as a bucket that can be read: `python -m benchmarks.object_store FOLDER PORT`, on loopback.

The store of the tests keeps objects in memory and reads each of them whole. This one sends ranges of files,
so it can hold an index of any size. The bucket has any name; readers need
`AWS_ENDPOINT_URL=http://127.0.0.1:PORT`, a region and any keys.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_REGION = "x-amz-bucket-region: us-east-1"
_DATED = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT"
_ENTRY = "<Contents><Key>{}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"


async def serve(folder: Path, port: int) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await _answer(folder, head.decode("latin-1"), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


async def _answer(folder: Path, head: str, writer: asyncio.StreamWriter) -> None:
    first, *lines = head.split("\r\n")
    method, target, _ = first.split()
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    asked = urlsplit(target)
    _, _, key = unquote(asked.path).lstrip("/").partition("/")
    if not key:
        body = _listed(folder, parse_qs(asked.query).get("prefix", [""])[0]) if method == "GET" else b""
        _begin(writer, "200 OK", [_REGION, f"Content-Length: {len(body)}"])
        writer.write(body)
    elif (path := folder / key).is_file():
        size = path.stat().st_size
        begin, end = _range(headers.get("range", ""), size)
        part = [f"Content-Range: bytes {begin}-{end - 1}/{size}"] if "range" in headers else []
        about = [f"Content-Length: {end - begin}", f'ETag: "{path.stat().st_mtime_ns}"', _DATED]
        _begin(writer, "206 Partial Content" if part else "200 OK", [*part, *about])
        if method == "GET":
            with path.open("rb") as file:
                writer.write(os.pread(file.fileno(), end - begin, begin))
    else:
        _begin(writer, "404 Not Found", ["Content-Length: 0"])
    await writer.drain()


def _begin(writer: asyncio.StreamWriter, status: str, headers: list[str]) -> None:
    writer.write("\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode())


def _range(asked: str, size: int) -> tuple[int, int]:
    begin, _, last = asked.removeprefix("bytes=").partition("-")
    if not asked or not begin:
        return (max(0, size - int(last)) if last else 0), size
    return int(begin), min(size, int(last) + 1) if last else size


def _listed(folder: Path, prefix: str) -> bytes:
    """Return all objects below a prefix, in one page."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    keys = ((path.relative_to(folder).as_posix(), path.stat().st_size) for path in found)
    entries = "".join(_ENTRY.format(escape(key), size) for key, size in keys if key.startswith(prefix))
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
