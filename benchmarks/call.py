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
    """In milliseconds: medians over all, and what is added by the best of all rounds of each query.

    The latter is what tells on a machine that has other things to do.
    """
    os.environ["FINDSPOT_HOME"] = str(home)
    engine = Engine()
    project = engine.project(project_folder)
    project.update(allow_large=True)
    server = Server(OURS, home, cwd=project_folder)
    library: dict[str, list[float]] = {text: [] for text in QUERIES}
    pipe: dict[str, list[float]] = {text: [] for text in QUERIES}
    for round_number in range(WARM + ROUNDS):
        for text in QUERIES:
            started = time.perf_counter()
            project.search(Query(text))
            searched = time.perf_counter() - started
            called = server.call("search_code", query=text)
            if round_number >= WARM:
                library[text].append(searched * 1000)
                pipe[text].append(called * 1000)
    server.close()
    engine.close()
    added = [
        call - search for text in QUERIES for call, search in zip(pipe[text], library[text], strict=True)
    ]
    return {
        "search_ms": statistics.median(time for times in library.values() for time in times),
        "added_ms": statistics.median(added),
        "added_by_best_ms": statistics.median(min(pipe[text]) - min(library[text]) for text in QUERIES),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1])
    with tempfile.TemporaryDirectory() as home:
        figures = measure(parser.parse_args().project.resolve(), Path(home))
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
