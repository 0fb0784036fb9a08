"""Publishers that are killed at any moment, beside another that goes on: no version is lost or mixed."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from contents import put, record
from findspot.core.errors import IndexBusyError
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.store.sqlite_store import SqliteStore

PUBLISH = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from contents import put, record
from findspot.core.errors import IndexBusyError
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.store.sqlite_store import SqliteStore
store, publisher = SqliteStore(Path(sys.argv[1]), "p"), Publisher(PublishedIndex(sys.argv[2]))
first = int(sys.argv[4])
for turn in range(first, first + 1_000):
    put(store, record("same.py", "same"), record("own.py", f"killed {turn}"))
    print("begun", flush=True)
    version = Version(f"{turn:040x}", "killed", "2026-01-01T00:00:00Z", 2, 2, "some/64", "p1")
    try:
        publisher.add(version, store)
    except IndexBusyError:
        continue
    print(turn, flush=True)
"""


def texts(published: PublishedIndex, version: Version) -> set[str]:
    (entry,) = (each for each in published.entries() if each.version == version)
    snapshot = published.snapshot(entry)
    return {chunk.text for file in snapshot.files.files for chunk in snapshot.chunks.of_file(file.path)}


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.nightly)])
def test_two_publishers_and_kills_lose_nothing(tmp_path: Path, kills: int) -> None:
    """Each costs seconds for the import of lancedb alone."""
    address, chance = tmp_path / "published", random.Random(7)
    steady, publisher = SqliteStore(tmp_path / "steady", "p"), Publisher(PublishedIndex(str(address)))
    tests = str(Path(__file__).parents[1])
    told: dict[str, str] = {}
    for kill in range(kills):
        arguments = [str(tmp_path / "killed"), str(address), tests, str(1 + 1_000 * kill)]
        with subprocess.Popen(
            [sys.executable, "-c", PUBLISH, *arguments], stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            for _ in range(chance.randint(1, 4)):
                line = other.stdout.readline().strip()
                if line.isdecimal():
                    told[f"{int(line):040x}"] = f"killed {line}"
            put(steady, record("same.py", "same"), record("own.py", f"steady {kill}"))
            version = Version(f"{kill:08x}" * 5, "steady", "2026-01-01T00:00:00Z", 2, 2, "some/64", "p1")
            if chance.random() < 0.5:
                other.kill()
            with contextlib.suppress(IndexBusyError):  # it is told so, and may try again
                publisher.add(version, steady)
                told[version.commit] = f"steady {kill}"
            other.kill()
            rest = other.stdout.read().split()
            told |= {f"{int(line):040x}": f"killed {line}" for line in rest if line.isdecimal()}
    published = PublishedIndex(str(address))
    listed = {version.commit: version for version in published.versions()}
    assert told.keys() <= listed.keys()
    for commit, text in told.items():
        assert texts(published, listed[commit]) == {"same", text}
