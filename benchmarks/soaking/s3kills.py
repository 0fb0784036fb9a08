"""`kill -9` of a publisher that writes to an object store, and two publishers at once."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.soaking.kills import MOST_EDITS, live_and_die, lost_of, make_files
from findspot import Project
from findspot.core.errors import FindspotError
from findspot.publishing.published_tables import PublishedTables
from findspot.publishing.shared_copy import SharedCopy
from findspot.store.store_protocol import Store

_LONGEST_EDIT_S = 2.0
"""About what one edit takes here: the kill falls anywhere into it."""

_NEW_READER_EVERY = 10
"""Kills after which somebody copies the whole index, and so reads every row of every table."""

_PUBLISH = """
import hashlib, sys
from findspot import Project
from findspot.core.errors import IndexBusyError
from findspot.core.utc_time import utc_now
from findspot.publishing.published import Version
from findspot.publishing.published_tables import PublishedTables

def publish(project, address, name):
    project.update()
    commit = hashlib.sha256(name.encode()).hexdigest()
    about, counts = project.store.figures()
    files, chunks = (sum(each) for each in zip(*counts.values()))
    made = (utc_now(), files, chunks, about["model"], about["pipeline"])
    PublishedTables(address).add(Version(commit, "main", *made), project.store)
"""

STORE = (
    _PUBLISH
    + """
def store(project, name, mark, turn):
    publish(project, sys.argv[4], mark)
"""
)
"""An edit is stored once it is published."""

PUBLISHER = (
    _PUBLISH
    + """
project = Project(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    publish(project, sys.argv[2], sys.argv[3])
    print("done", flush=True)
except IndexBusyError:
    print("busy", flush=True)
"""
)


def run(place: Path, count: int, seed: int, *, together: bool = True) -> dict[str, Any]:
    """Kill `count` publishers; readers find every acknowledged edit, and every table can be read."""
    with _bucket() as address:
        root = make_files(place / "project")
        _published(root, address, "first")
        chance = random.Random(seed)
        readers = [_reader(place / "reader", address)]
        acknowledged = unreadable = lost = 0
        for turn in range(count):
            edits, then_s = chance.randrange(MOST_EDITS + 1), chance.uniform(0, _LONGEST_EDIT_S)
            said = live_and_die(root, seed * 100_000 + turn, edits, then_s, address, storing=STORE)
            acknowledged += len(said)
            if turn % _NEW_READER_EVERY == _NEW_READER_EVERY - 1 or turn == count - 1:
                readers = [readers[0], _reader(place / f"reader{turn}", address)]
            for reader in readers:
                reader.filler.look_again()
                try:
                    lost += lost_of(reader, said)
                except FindspotError:
                    unreadable += 1
        _published(root, address, "after")
        same = _held(_reader(place / "after", address)) == _held_here(root)
        found: dict[str, Any] = {
            "kills": count,
            "acknowledged": acknowledged,
            "lost": lost,
            "unreadable": unreadable,
            "same": same,
        }
        if together:
            found["two_at_once"] = _two_at_once(root, address, place)
            _published(root, address, "last")
            found["one_index"] = _held(_reader(place / "last", address)) == _held_here(root)
    return found


def _reader(folder: Path, address: str) -> SharedCopy:
    return SharedCopy(folder, folder, PublishedTables(address))


def _held(store: Store) -> list[tuple[Any, ...]]:
    """Every file with its chunks."""
    with store.snapshot() as snapshot:
        return [
            (file.path, file.sha256, [(c.start_line, c.text) for c in snapshot.chunks.of_file(file.path)])
            for file in snapshot.files.files
        ]


def _held_here(root: Path) -> list[tuple[Any, ...]]:
    """The same of an index built from nothing."""
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, {"FINDSPOT_HOME": home}):
        project = Project(root)
        project.update()
        try:
            return _held(project.store)
        finally:
            project.close()


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


def _published(root: Path, address: str, commit: str) -> None:
    arguments = [sys.executable, "-c", PUBLISHER, str(root), address, commit]
    subprocess.run(arguments, check=True, input="\n", stdout=subprocess.DEVNULL, text=True)


def _two_at_once(root: Path, address: str, place: Path) -> list[str]:
    """Two machines publish the same edits; each is done, or told that the other one is at it."""
    for path in root.glob("*.py"):
        path.write_text(path.read_text() + f"\n\ndef both_{path.stem}(x):\n    return x\n")
    publishers = [
        subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(root), address, name],
            env={**os.environ, "FINDSPOT_HOME": str(place / name)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for publisher in publishers:
        assert publisher.stdout is not None
        publisher.stdout.readline()
    for publisher in publishers:
        assert publisher.stdin is not None
        publisher.stdin.write("\n")
        publisher.stdin.flush()
    return sorted(publisher.communicate()[0].strip() for publisher in publishers)
