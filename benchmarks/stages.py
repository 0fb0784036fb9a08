"""Where time and memory go: a first index, a warm question, an edit and a start, stage by stage.

    python -m benchmarks.stages [PROJECT ...]

Processor time is counted in one process, each stage without those inside it, so that a busy machine changes
little. Seconds and memory come from a real run with worker processes.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from benchmarks.memory import PeakMemory, pss_mb, tree
from benchmarks.peers import QUESTIONS
from benchmarks.speed import machine
from benchmarks.start import OURS, Server
from findspot import Engine, Query
from findspot.core.progress import CancelToken
from findspot.embed.provider_registry import open_embedder
from findspot.indexing import worker
from findspot.indexing.workers import Job, Outcome, Pool, Setup, nothing

INDEX = {
    "walk the folders": "findspot.indexing.pipeline:walk",
    "read files": "findspot.indexing.worker:read_file",
    "look for secrets": "findspot.indexing.worker:readable_text",
    "parse": "findspot.chunk.grammars:Grammar.parse",
    "symbols": "findspot.chunk.dispatch:read_symbols",
    "cut into chunks": "findspot.indexing.worker:chunk_file",
    "facts of the graph": "findspot.chunk.dispatch:read_references",
    "embed": "findspot.indexing.worker:_embedded",
    "tokens for keywords": "findspot.indexing.worker:_keywords",
    "store": "findspot.store.writer:Writer.put",
    "commit": "findspot.store.writer:Writer.commit",
    "resolve references": "findspot.indexing.pipeline:store_edges",
}
WARM = {
    "read the question": "findspot.search.hybrid:understand",
    "keywords": "findspot.search.retrieve:_by_keywords",
    "nearest vectors": "findspot.search.retrieve:_by_meaning",
    "definitions": "findspot.search.retrieve:_by_definition",
    "candidates": "findspot.search.hybrid:find_candidates",
    "rank": "findspot.search.hybrid:_ranked",
    "passages": "findspot.search.hybrid:grouped",
    "hits": "findspot.search.hybrid:to_hits",
}
EDIT = {
    "index the file": "findspot.indexing.pipeline:_index_changed",
    "commit": "findspot.store.writer:Writer.commit",
    "resolve references": "findspot.indexing.pipeline:store_edges",
}
REST = "everything else"
ROUNDS = 5
EDITS = 5


class Stages:
    """Counts the processor time of functions, each without that of the others inside it."""

    def __init__(self, functions: Mapping[str, str]) -> None:
        self.seconds = dict.fromkeys((*functions, REST), 0.0)
        self._functions = functions
        self._running = [REST]
        self._since = 0.0

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count while the block runs."""
        with contextlib.ExitStack() as stack:
            for stage, place in self._functions.items():
                owner, name = _owner(place)
                function = getattr(owner, name)
                setattr(owner, name, self._counted(stage, function))
                stack.callback(setattr, owner, name, function)
            self._since = time.process_time()
            yield
            self._add()

    def _counted(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*args: Any, **options: Any) -> Any:
            self._add()
            self._running.append(stage)
            try:
                return function(*args, **options)
            finally:
                self._add()
                self._running.pop()

        return counted

    def _add(self) -> None:
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now


def _owner(place: str) -> tuple[Any, str]:
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    return owner, name


class InProcess:
    """Indexes in this process, where its stages can be counted."""

    def __init__(self) -> None:
        self._embedder = open_embedder("local:static")
        self._setup: Setup | None = None

    @contextlib.contextmanager
    def lend(self, setup: Setup, size: int) -> Iterator[Pool]:
        del size
        self._setup = setup
        yield self

    def run(
        self, jobs: Iterable[Job], cancel: CancelToken, idle: Callable[[], None] = nothing
    ) -> Iterator[Outcome]:
        del cancel, idle
        assert self._setup is not None
        for job in jobs:
            yield worker.outcome(job, self._setup, self._embedder)


def first_index(project: Path) -> dict[str, float]:
    """Return the processor seconds of each stage."""
    stages = Stages(INDEX)
    with contextlib.closing(Engine()) as engine:
        index = engine.project(project).index
        run = replace(index.run(asked=True, allow_large=True), workers=InProcess())
        with stages.counting():
            index.apply(run)
    return stages.seconds


def real_index(project: Path) -> dict[str, float]:
    """Return the seconds of a first index with workers, and the most memory of each kind of process."""
    code = "import sys; from findspot import Engine; Engine().project(sys.argv[1]).update(allow_large=True)"
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, str(project)])
    own = 0.0
    with PeakMemory(process.pid) as peak:
        while process.poll() is None:
            with contextlib.suppress(OSError):
                own = max(own, pss_mb(process.pid) - sum(map(pss_mb, tree(process.pid)[1:])))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    return {
        "seconds": time.perf_counter() - started,
        "all processes, MB": peak.mb,
        "the indexing process, MB": own,
    }


def warm_question(project: Path) -> dict[str, float]:
    """Return the processor milliseconds of each stage per question, asked again."""
    stages = Stages(WARM)
    with contextlib.closing(Engine()) as engine:
        opened = engine.project(project)
        for question in QUESTIONS:
            opened.search(Query(question))
        with stages.counting():
            for _ in range(ROUNDS):
                for question in QUESTIONS:
                    opened.search(Query(question))
    asked = ROUNDS * len(QUESTIONS) / 1000
    return {stage: seconds / asked for stage, seconds in stages.seconds.items()}


def one_edit(project: Path) -> dict[str, float]:
    """Return the processor milliseconds of each stage, workers left out, when one file is saved."""
    path = min(project.rglob("*.py"), key=lambda path: abs(path.stat().st_size - 10_000))
    original = path.read_bytes()
    name = path.relative_to(project).as_posix()
    stages = Stages(EDIT)
    try:
        with contextlib.closing(Engine()) as engine:
            index = engine.project(project).index
            for number in range(EDITS + 1):
                path.write_bytes(original + f"\n\ndef edit_{number}():\n    return {number}\n".encode())
                with stages.counting() if number else contextlib.nullcontext():
                    index.refresh(frozenset({name}), CancelToken())
    finally:
        path.write_bytes(original)
    return {stage: seconds * 1000 / EDITS for stage, seconds in stages.seconds.items()}


def start(project: Path, home: Path) -> dict[str, float]:
    """Return the milliseconds until a new server is ready, and until its first answer is there."""
    ready, answered = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        server = Server(OURS, home, cwd=project, quiet=True)
        ready.append(server.ready_s * 1000)
        server.call("search_code", query=QUESTIONS[0], path=str(project))
        answered.append((time.perf_counter() - began) * 1000)
        server.close()
    return {"ready": statistics.median(ready), "first answer": statistics.median(answered)}


def report(title: str, figures: Mapping[str, float], unit: str, *, shares: bool = True) -> None:
    total = sum(figures.values())
    sys.stdout.write(f"\n{title}" + (f": {total:.3g} {unit}\n" if shares else f" ({unit})\n"))
    for name, value in figures.items():
        share = f" {100 * value / total:5.1f} %" if shares and total else ""
        sys.stdout.write(f"  {name:28}{value:10.2f}{share}\n")


def profile(project: Path) -> None:
    sys.stdout.write(f"\n# {project.name}\n")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = folder
        report("First index, processor time", first_index(project), "s")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = folder
        report("First index with workers", real_index(project), "as named", shares=False)
        report("Warm question, processor time", warm_question(project), "ms")
        if any(project.rglob("*.py")):
            report("One edit, processor time", one_edit(project), "ms")
        report("Start of a server", start(project, Path(folder)), "ms", shares=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("projects", nargs="*", type=Path, default=[Path(__file__).parents[1] / "src"])
    facts = machine() | {"load": " ".join(f"{load:.1f}" for load in os.getloadavg())}
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    for project in parser.parse_args().projects:
        profile(project.resolve())


if __name__ == "__main__":
    main()
