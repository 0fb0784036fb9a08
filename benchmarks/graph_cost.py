"""What the reference graph adds to indexing: processor time with and without it, file by file.

    python -m benchmarks.graph_cost PROJECT [--every N]

Each file is indexed twice, with and without its references, in turns, and stored in two indexes;
the two totals come from the same minutes of the same machine, so their ratio means something
even where the machine is busy. The processor time of reading, cutting, embedding, storing and
committing is counted, and at the end that of resolving all references.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

from findspot.chunk import dispatch
from findspot.core.config import load_settings
from findspot.core.progress import CancelToken
from findspot.core.roots import Roots
from findspot.discover.walk import walk
from findspot.embed.provider_registry import open_embedder
from findspot.graph.stored_edges import resolve_pending
from findspot.indexing.worker import process
from findspot.indexing.workers import Indexed, Job, Setup
from findspot.store.sqlite_store import SqliteStore

YOUNG_OBJECTS = 10_000
"""As the program sets it (`findspot.__main__`)."""

COMMIT_FILES = 200
"""A commit every so many files, as a run of two seconds would do."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every n-th file only")
    options = parser.parse_args()
    gc.set_threshold(YOUNG_OBJECTS)
    files = walk(options.project, load_settings().discover).files[:: options.every]
    setup = Setup(Roots(options.project), "local:static", "syntax", 1_000_000)
    embedder = open_embedder("local:static")
    read = vars(dispatch)["read_references"]
    spent = {True: 0.0, False: 0.0}
    indexed = 0
    with tempfile.TemporaryDirectory() as home:
        stores = {graph: SqliteStore(Path(home, str(graph)), "benchmark") for graph in spent}
        with stores[True].writer() as with_graph, stores[False].writer() as without:
            writers = {True: with_graph, False: without}
            for number, file in enumerate(files, 1):
                for graph in (True, False) if number % 2 else (False, True):
                    vars(dispatch)["read_references"] = read if graph else (lambda *_: None)
                    start = time.process_time()
                    outcome = process(Job(file), setup, embedder)
                    if isinstance(outcome, Indexed):
                        writers[graph].put(outcome.record)
                        indexed += graph
                    if number % COMMIT_FILES == 0 or number == len(files):
                        writers[graph].commit()
                    spent[graph] += time.process_time() - start
            start = time.process_time()
            with stores[True].snapshot() as snapshot, with_graph.storing_edges() as edges:
                resolve_pending(snapshot, edges, CancelToken())
            resolving = time.process_time() - start
            spent[True] += resolving
        sizes = {graph: stores[graph].database.stat().st_size for graph in spent}
    more_time = 100 * (spent[True] / spent[False] - 1)
    more_disk = 100 * (sizes[True] / sizes[False] - 1)
    sys.stdout.write(
        f"{indexed} files; processor time with the graph {spent[True]:.1f} s, without {spent[False]:.1f} s\n"
        f"of that, resolving took {resolving:.1f} s\n"
        f"added: {more_time:.1f} % of the time, {more_disk:.1f} % of the database\n"
    )


if __name__ == "__main__":
    main()
