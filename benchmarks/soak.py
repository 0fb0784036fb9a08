"""`make soak`: what happens when processes are killed and input is hostile.

    python -m benchmarks.soak [kills] [fuzz]

Each part prints one line of JSON. A seeded sample of each is in the test suite.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.soaking import fuzz, kills

PARTS = ("kills", "fuzz")


def main() -> None:
    parser = argparse.ArgumentParser(description="Soak Findspot.")
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=" | ".join(PARTS))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="replay fuzzed cases from this number on")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    makers: dict[str, Callable[[Path], dict[str, Any]]] = {
        "kills": lambda place: kills.run(place, given.kills, given.seed),
        "fuzz": lambda place: fuzz.run(place, given.cases, given.seed, given.first),
    }
    for part in given.parts:
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


if __name__ == "__main__":
    main()
