"""Where time and memory go: a first index, a warm question, an edit and a start, stage by stage.

    python -m benchmarks.stages [PROJECT ...] [--write PAGE]

Processor time is counted in one process, each stage without those inside it, so that a busy machine changes
little. Seconds and memory come from a real run with worker processes. `--write` puts the tables into a page,
in place of those between its two marks.
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

    def expect(self, setup: Setup) -> None:
        """Nothing has to be started."""

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


ADDED = {
    ".py": "\n\ndef edit_{0}():\n    return {0}\n",
    ".ts": "\n\nexport function edit{0}() {{\n  return {0}\n}}\n",
    ".go": "\n\nfunc edit{0}() int {{\n\treturn {0}\n}}\n",
}
"""What an edit adds to a file, by its ending."""


def edited_file(project: Path) -> Path:
    """Return a file of about 10,000 bytes, of the language that most files have."""
    by_ending = {ending: list(project.rglob(f"*{ending}")) for ending in ADDED}
    files = max(by_ending.values(), key=len)
    return min(files, key=lambda path: abs(path.stat().st_size - 10_000))


def one_edit(project: Path) -> dict[str, float]:
    """Return the processor milliseconds of each stage, workers left out, when one file is saved."""
    path = edited_file(project)
    original = path.read_bytes()
    name = path.relative_to(project).as_posix()
    stages = Stages(EDIT)
    try:
        with contextlib.closing(Engine()) as engine:
            index = engine.project(project).index
            for number in range(EDITS + 1):
                path.write_bytes(original + ADDED[path.suffix].format(number).encode())
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


Figures = dict[str, dict[str, float]]
"""By section, then by stage."""

FIRST = "First index, processor seconds by stage"
REAL = "First index with workers, as a user runs it"
ASKED = "Warm question, processor milliseconds by stage"
EDITED = "One edit, processor milliseconds by stage"
STARTED = "Start of a server, milliseconds"
SUMMED = (FIRST, ASKED, EDITED)


def profile(project: Path) -> Figures:
    """Return every figure of a project; its index is thrown away."""
    found: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = folder
        found[FIRST] = first_index(project)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = folder
        found[REAL] = real_index(project)
        found[ASKED] = warm_question(project)
        found[EDITED] = one_edit(project)
        found[STARTED] = start(project, Path(folder))
    return found


def tables(by_project: Mapping[str, Figures]) -> str:
    """Return one table per section, with one column per project."""
    projects = list(by_project)
    lines: list[str] = []
    for section in by_project[projects[0]]:
        figures = [by_project[project][section] for project in projects]
        lines += ["", f"## {section}", "", f"| | {' | '.join(projects)} |", f"|---|{'---:|' * len(projects)}"]
        for name in figures[0]:
            cells = (_cell(its[name], sum(its.values()) if section in SUMMED else 0) for its in figures)
            lines.append(f"| {name} | {' | '.join(cells)} |")
        if section in SUMMED:
            lines.append(f"| **all** | {' | '.join(f'{sum(its.values()):.1f}' for its in figures)} |")
    return "\n".join(lines) + "\n"


def _cell(value: float, total: float) -> str:
    return f"{value:.1f} ({100 * value / total:.0f} %)" if total else f"{value:.1f}"


BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def write_into(page: Path, text: str) -> None:
    """Replace what is between the marks of a page."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("projects", nargs="*", type=Path, default=[Path(__file__).parents[1] / "src"])
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page whose tables are replaced")
    arguments = parser.parse_args()
    facts = machine() | {"load at the start": " ".join(f"{load:.1f}" for load in os.getloadavg())}
    text = "\n".join(f"* {name}: {value}" for name, value in facts.items()) + "\n"
    found = {project.name: profile(project.resolve()) for project in arguments.projects}
    text += tables(found)
    sys.stdout.write(text)
    if arguments.write:
        write_into(arguments.write, text)


if __name__ == "__main__":
    main()
