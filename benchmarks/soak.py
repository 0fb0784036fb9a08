"""`make soak`: the figures of docs/reliability.md, measured.

    python -m benchmarks.soak [PART …] --repository PATH

Each part prints one line of JSON. The full figures take about two hours; a seeded sample of each
part is in the test suite.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.soaking import cancel, clients, edits, fuzz, kills, memory, s3kills, switch, worktree

PARTS = ("kills", "s3kills", "edits", "clients", "switch", "fuzz", "cancel", "memory", "worktree")
NEED_REPOSITORY = ("edits", "clients", "cancel", "memory", "worktree")


def main() -> None:
    parser = argparse.ArgumentParser(description="Soak Findspot.")
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=" | ".join(PARTS))
    parser.add_argument(
        "--repository", type=Path, help=f"a git repository with a history, for {', '.join(NEED_REPOSITORY)}"
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--s3kills", type=int, default=100)
    parser.add_argument("--edits", type=int, default=2_000)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--files", type=int, default=3_000)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="replay fuzzed cases from this number on")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    makers: dict[str, Callable[[Path], dict[str, Any]]] = {
        "kills": lambda place: kills.run(place, given.kills, given.seed),
        "s3kills": lambda place: s3kills.run(place, given.s3kills, given.seed),
        "edits": lambda place: edits.run(place, given.repository, given.edits),
        "clients": lambda place: clients.run(_unpacked(given.repository, place), given.seconds),
        "switch": lambda place: switch.run(place, given.files),
        "cancel": lambda place: cancel.run(_unpacked(given.repository, place), given.stops, given.seed),
        "memory": lambda place: memory.run(_unpacked(given.repository, place)),
        "worktree": lambda place: worktree.run(place, given.repository),
        "fuzz": lambda place: fuzz.run(place, given.cases, given.seed, given.first),
    }
    for part in given.parts:
        if part in NEED_REPOSITORY and given.repository is None:
            print(json.dumps({"part": part, "left_out": "needs --repository"}), flush=True)  # noqa: T201
            continue
        print(json.dumps({"part": part, **_measured(makers[part])}), flush=True)  # noqa: T201


def _measured(make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """One part in a place and a home of its own."""
    place = Path(tempfile.mkdtemp(prefix="findspot-soak-"))
    os.environ["FINDSPOT_HOME"] = str(place / "home")
    started = time.monotonic()
    try:
        return make(place) | {"took_s": round(time.monotonic() - started)}
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _unpacked(repository: Path, place: Path) -> Path:
    root = place / "project"
    root.mkdir()
    archive = subprocess.run(
        ["git", "-C", str(repository), "archive", "HEAD"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", str(root)], input=archive.stdout, check=True)
    return root


if __name__ == "__main__":
    main()
