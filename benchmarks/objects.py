"""An S3 server on loopback, in a process of its own, that holds the tables of a folder."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

ADDRESS = "s3://bucket/index"
_STARTED_WITHIN_S = 60


@contextmanager
def object_server(tables: Path) -> Iterator[dict[str, float]]:
    """Serve what a folder's LanceDB tables consist of at `ADDRESS`; tells what putting it there took."""
    port = _free_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started = time.monotonic()
        _make_bucket(port)
        size = 0
        for folder in sorted(tables.glob("*.lancedb")):
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                _put(port, f"/bucket/index/{path.relative_to(tables).as_posix()}", path.read_bytes())
                size += path.stat().st_size
        yield {"objects_mb": size / 1e6, "objects_put_s": time.monotonic() - started}
    finally:
        server.kill()
        server.wait()


def _make_bucket(port: int) -> None:
    until = time.monotonic() + _STARTED_WITHIN_S
    while time.monotonic() < until:
        try:
            _put(port, "/bucket", b"")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the S3 server did not start")


def _put(port: int, path: str, data: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", quote(path), data)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise SystemExit(f"the S3 server answered {answer.status} for {path}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
