"""Kill the resident process under clients at work, and let two versions start at once.

    python -m benchmarks.deaths [--kills 200] [--races 1000]

Five assistants ask about a small project while the process that answers them is killed again and again.
Counted are wrong answers, errors of calls that only read, clients that give no answer any more, and processes
left over. A client is replaced after two kills: a third one within a minute has it answer by itself. In a
race, doors of two versions of the code connect at once to a home where no process runs; exactly one process
must remain, of the newer version.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import findspot
from benchmarks.start import OURS, Home, Server

CLIENTS = 5
_NAMES = [f"planet_{number}" for number in range(40)]
_DOOR = """
import sys
sys.path.insert(0, sys.argv[1])
from findspot.door.connection import connect
greeted = connect("command", arguments=["service", "status"], terminal={})
print(greeted.reply.get("pid", 0) if greeted else "apart")
"""


def residents(home: Path) -> list[int]:
    """The processes that run for a home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"findspot.resident" in words and os.fsencode(home) in words:
                found.append(int(folder.name))
    return found


class Client:
    """An assistant that asks and checks, in a thread of its own."""

    def __init__(self, home: Home, seen: Counter[str], seed: int) -> None:
        self._home = home
        self._seen = seen
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(120)
        self._seen["clients without an answer"] += self._thread.is_alive()

    def _work(self) -> None:
        shared = {"FINDSPOT_IN_PROCESS": "0"}
        server = Server(OURS, self._home.folder, self._home.root, shared, quiet=True)
        while not self._stop.is_set():
            name = self._random.choice(_NAMES)
            result, _ = server.timed("search_code", {"query": name, "limit": 1})
            if "structuredContent" not in result or result.get("isError"):
                self._seen["errors of calls that read"] += 1
                continue
            self._seen["answers"] += 1
            found = result["structuredContent"]["results"]
            self._seen["wrong answers"] += not found or name not in json.dumps(found[0])
        server.close()


def kills(count: int, home: Home, seen: Counter[str]) -> None:
    """Kill the process so many times while clients work."""
    for turn in range(0, count, 2):
        clients = [Client(home, seen, turn * CLIENTS + number) for number in range(CLIENTS)]
        for _ in range(min(2, count - turn)):
            before = seen["answers"]
            while seen["answers"] < before + CLIENTS * 2:
                time.sleep(0.01)
            for pid in residents(home.folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    seen["kills"] += 1
        before = seen["answers"]
        while seen["answers"] < before + CLIENTS * 2:
            time.sleep(0.01)
        for client in clients:
            client.stop()


def races(count: int, folder: Path, seen: Counter[str]) -> None:
    """Start doors of two versions at once, so many times."""
    versions = [folder / "older", folder / "newer"]
    for age, version in enumerate(versions):
        source = Path(findspot.__file__).parent
        shutil.copytree(source, version / "findspot", ignore=shutil.ignore_patterns("__pycache__"))
        os.utime(version / "findspot" / "__init__.py", (4e9 + age, 4e9 + age))
    home = folder / "home"
    environment = {**os.environ, "FINDSPOT_HOME": str(home), "FINDSPOT_IN_PROCESS": "0"}
    for _ in range(count):
        doors = [
            subprocess.Popen(
                [sys.executable, "-c", _DOOR, str(version)], env=environment, stdout=subprocess.DEVNULL
            )
            for version in random.sample(versions, 2)
        ]
        for door in doors:
            seen["doors that failed"] += door.wait() != 0
        deadline = time.monotonic() + 30
        while len(running := residents(home)) != 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        seen["races"] += 1
        seen["races with another number of processes"] += len(running) != 1
        for pid in running:
            path = (Path("/proc") / str(pid) / "environ").read_bytes()
            seen["races that the older won"] += os.fsencode(str(versions[1])) not in path
            os.kill(pid, signal.SIGKILL)
        while residents(home):
            time.sleep(0.01)


def measure(kill_count: int, race_count: int) -> dict[str, Any]:
    """Run both, and return what was counted."""
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        (root / ".git").mkdir(parents=True)
        for name in _NAMES:
            (root / f"{name}.py").write_text(f"def {name}():\n    return {len(name)}\n")
        home = Home(Path(folder) / "home", root)
        home.run("index", "--yes", ".")
        kills(kill_count, home, seen)
        status = json.loads(home.run("status", "--json")[1])
        seen["files lost"] = len(_NAMES) - status["totalFiles"]
        home.run("service", "stop")
        seen["processes left over"] = len(residents(home.folder))
        races(race_count, Path(folder) / "races", seen)
    return dict(seen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--races", type=int, default=1_000)
    given = parser.parse_args()
    print(json.dumps(measure(given.kills, given.races), indent=2))  # noqa: T201
