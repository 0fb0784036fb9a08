"""`kill -9` of an indexer that writes to an object store, and two indexers at once."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.soaking.answers import Held, held, rebuilt
from benchmarks.soaking.kills import MOST_EDITS, live_and_die, lost_of, make_files
from findspot import Project
from findspot.core.errors import FindspotError
from findspot.store.lance.lance_store import LanceStore

_LONGEST_EDIT_S = 2.0
"""About what one edit takes here: the kill falls anywhere into it."""

_NEW_READER_EVERY = 10
"""Kills after which somebody copies the whole index anew, and so reads every row of every table."""

INDEXER = """
import sys
from findspot import Project
from findspot.core.errors import IndexBusyError
project = Project(sys.argv[1], {"storeUri": sys.argv[2]})
print("ready", flush=True)
sys.stdin.readline()
try:
    project.update()
    print("done", flush=True)
except IndexBusyError:
    print("busy", flush=True)
"""


def run(place: Path, count: int, seed: int, *, together: bool = True) -> dict[str, Any]:
    """Kill `count` indexers; readers elsewhere find every acknowledged edit, and every table can be read."""
    with _bucket() as address:
        root = make_files(place / "project")
        _indexed(root, address)
        chance = random.Random(seed)
        readers = [LanceStore(place / "reader", str(root), address)]
        acknowledged = unreadable = lost = 0
        for turn in range(count):
            edits, then_s = chance.randrange(MOST_EDITS + 1), chance.uniform(0, _LONGEST_EDIT_S)
            said = live_and_die(root, seed * 100_000 + turn, edits, then_s)
            acknowledged += len(said)
            if turn % _NEW_READER_EVERY == _NEW_READER_EVERY - 1 or turn == count - 1:
                readers = [readers[0], LanceStore(place / f"reader{turn}", str(root), address)]
            for reader in readers:
                reader.close()  # so that it looks now
                try:
                    lost += lost_of(reader, said)
                except FindspotError:
                    unreadable += 1
        _indexed(root, address)
        same = _copied(root, address, place / "after") == rebuilt(root)
        found: dict[str, Any] = {
            "kills": count,
            "acknowledged": acknowledged,
            "lost": lost,
            "unreadable": unreadable,
            "same": same,
        }
        if together:
            found["two_at_once"] = _two_at_once(root, address, place)
            _indexed(root, address)
            found["one_index"] = _copied(root, address, place / "last") == rebuilt(root)
    return found


@contextlib.contextmanager
def _bucket() -> Iterator[str]:
    """The address of an index in a bucket of a server on loopback."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    make = urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT")
    urllib.request.urlopen(make).close()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        with patch.dict(os.environ, variables):
            yield "s3://bucket/kills"
    finally:
        server.stop()


def _indexed(root: Path, address: str) -> None:
    project = Project(root, {"store": address})
    project.update()
    project.close()


def _copied(root: Path, address: str, home: Path) -> Held:
    """What a machine holds that has just copied the index."""
    before = os.environ["FINDSPOT_HOME"]
    os.environ["FINDSPOT_HOME"] = str(home)
    try:
        project = Project(root, {"storeUri": address})
        found = held(project)
        project.close()
        return found
    finally:
        os.environ["FINDSPOT_HOME"] = before


def _two_at_once(root: Path, address: str, place: Path) -> list[str]:
    """Two machines index the same edits; each is done, or told that the other one is at it."""
    for path in root.glob("*.py"):
        path.write_text(path.read_text() + f"\n\ndef both_{path.stem}(x):\n    return x\n")
    indexers = [
        subprocess.Popen(
            [sys.executable, "-c", INDEXER, str(root), address],
            env={**os.environ, "FINDSPOT_HOME": str(place / name)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for indexer in indexers:
        assert indexer.stdout is not None
        indexer.stdout.readline()
    for indexer in indexers:
        assert indexer.stdin is not None
        indexer.stdin.write("\n")
        indexer.stdin.flush()
    return sorted(indexer.communicate()[0].strip() for indexer in indexers)
