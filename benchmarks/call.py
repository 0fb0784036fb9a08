"""What a `tools/call` adds to the search it makes: a real pipe beside the library, on the same queries.

`python -m benchmarks.call --project FOLDER` prints the figures as JSON. The library and the server ask
in turn, query by query, on one index, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.start import OURS, Server
from findspot.core.model import Query
from findspot.engine import Engine

ROUNDS = 20
WARM = 3
"""Rounds that are not counted: the first load models and fill caches, on both sides."""

QUERIES = (
    "how is a crashed writer's lock recovered",
    "where are the arguments of a call checked",
    "read_file",
    "SparePool",
    "which files are left out and why",
    "parse the answer of an embedding service",
    "merge vector segments",
    "watcher events",
    "TODO",
    "class Project",
)


def measure(project_folder: Path, home: Path) -> dict[str, float]:
    """Medians over all queries and rounds, in milliseconds."""
    os.environ["FINDSPOT_HOME"] = str(home)
    engine = Engine()
    project = engine.project(project_folder)
    project.update(allow_large=True)
    server = Server(OURS, home, cwd=project_folder)
    library: list[float] = []
    added: list[float] = []
    for round_number in range(WARM + ROUNDS):
        for text in QUERIES:
            started = time.perf_counter()
            project.search(Query(text))
            searched = time.perf_counter() - started
            called = server.call("search_code", query=text)
            if round_number >= WARM:
                library.append(searched * 1000)
                added.append((called - searched) * 1000)
    server.close()
    engine.close()
    return {
        "search_ms": round(statistics.median(library), 2),
        "added_ms": round(statistics.median(added), 2),
        "added_p90_ms": round(statistics.quantiles(added, n=10)[-1], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1])
    with tempfile.TemporaryDirectory() as home:
        print(json.dumps(measure(parser.parse_args().project.resolve(), Path(home)), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
