"""How long `callers` takes: at first, after a commit, and again.

python -m benchmarks.graph.callers FOLDER [--home FOLDER] [--depth N] [NAME...]

Whole answers of a running program, lines and all, with its index open. *First*: nothing of the graph
was read yet; *after a commit*: files are known, nothing is resolved; *again*: both.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from findspot import Engine, Project
from findspot.research.findings import MAX_DEPTH, Aim, Inquiry

NAMES = (
    "reverse",
    "QuerySet.filter",
    "get_user_model",
    "Model.save",
    "HttpResponse",
    "gettext",
    "assertContains",
    "import_string",
    "quote_name",
    "as_sql",
)
"""Of Django: names that hundreds of its files use."""

YOUNG_OBJECTS = 10_000
"""As the program sets it (`findspot.__main__`)."""


def taken(project: Project, name: str, depth: int) -> dict[str, float]:
    """Milliseconds of the clock and, with `cpu`, of the processor."""
    found = {}
    for said, prepare in (("first", _nothing), ("after_commit", _commit), ("again", _nothing)):
        prepare(project)
        with project.store.snapshot():
            pass  # the index itself is open in a server that runs
        clock, processor = time.perf_counter(), time.process_time()
        project.research(Inquiry(relation=Aim.CALLERS, symbol=name, depth=depth))
        found[f"{said}_ms"] = round(1000 * (time.perf_counter() - clock), 1)
        found[f"{said}_cpu_ms"] = round(1000 * (time.process_time() - processor), 1)
    return found


def _nothing(_project: Project) -> None:
    pass


def _commit(project: Project) -> None:
    with project.store.writer() as writer:
        writer.commit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--home", type=Path, help="Where indexes are kept. Default: a temporary folder.")
    parser.add_argument("--depth", type=int, default=MAX_DEPTH)
    given = parser.parse_args()
    gc.set_threshold(YOUNG_OBJECTS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = str(given.home or folder)
        Engine().project(given.project).update()
        for name in given.names:
            engine = Engine()
            figures = {"name": name, **taken(engine.project(given.project), name, given.depth)}
            sys.stdout.write(json.dumps(figures) + "\n")
            engine.close()
        sys.stdout.write(json.dumps({"load_average": round(os.getloadavg()[0], 1)}) + "\n")


if __name__ == "__main__":
    main()
