"""Index the world: every repository of a folder of git mirrors, with the shipped defaults.

    python -m benchmarks.world MIRRORS [--only NAME ...] [--most-files N] [--json FILE]

Each repository is checked out at its newest commit, indexed by the command and, in a home of its own, through
the library, and asked ten questions of each kind through the library and one of each kind by the command. The
names in the questions are those of the repository itself. What is reported as a failure: an exit status other
than 0, a traceback, an answer that calls something unexpected, a question or a run that takes too long, and a
source file that is left out although it should not be. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.large import repositories_in
from benchmarks.memory import PeakMemory
from findspot import Corpus, Engine, Findings, FindspotError, Focus, Graph, Inquiry, Mode, Query, Results
from findspot.core.languages import LANGUAGES, language_of
from findspot.project import Project
from findspot.research.findings import Aim
from findspot.research.module_map import code_files, imports_between, module_map

ROOT = Path(__file__).parents[1]
QUESTIONS = 10
INDEX_LIMIT_S = 1_800
QUESTION_LIMIT_S = 60.0
"""Of processor time; a busy machine makes no question slow."""
MOST_LEFT_OUT = 0.002
"""Of the source files that git tracks, those on S0's deny list apart."""
BY_S0 = ("denied",)
SUPPORTED = {language.name for language in LANGUAGES if language.grammar and not language.extra}
HELD_BACK = {"empty", "symlink"}
"""There is nothing in them to index, or it is indexed under its own name."""
DENIALS = ("No definition named", "No indexed file")
"""What must not be said of a name or a file that the index itself gave."""
NOWHERE = "ThisNameIsNowhere"
OFF_TOPIC = ("how do I bake sourdough bread", "where is the stripe webhook verified", "退款期限")


@dataclass
class Repository:
    """What was seen of one repository."""

    name: str
    files: int = 0
    source_files: int = 0
    index_s: float = 0.0
    index_cpu_s: float = 0.0
    index_mb: float = 0.0
    left_out: dict[str, list[str]] = field(default_factory=dict)
    in_part: dict[str, int] = field(default_factory=dict)
    """Reason → the source files of which the index holds only a part."""
    failures: list[str] = field(default_factory=list)

    def fail(self, where: str, what: str) -> None:
        """Keep a failure, with the end of what was said about it."""
        self.failures.append(f"{where}: {what.strip()[-600:]}")


def check_out(repository: Path, folder: Path) -> bool:
    """Check out the newest commit; return False where the mirror lacks objects of it."""
    clone = ["git", "clone", "--quiet", "--shared", str(repository), str(folder)]
    quiet = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(clone, capture_output=True, env=quiet, check=False)
    return done.returncode == 0


def tracked(folder: Path) -> list[str]:
    listed = subprocess.run(["git", "-C", str(folder), "ls-files", "-z"], capture_output=True, check=True)
    return [os.fsdecode(path) for path in listed.stdout.split(b"\0") if path]


def is_source(path: str) -> bool:
    return language_of(path) in SUPPORTED


class Command:
    """The installed command, in one folder and with one home."""

    def __init__(self, folder: Path, home: Path, seen: Repository) -> None:
        self._folder = folder
        self._env = {**os.environ, "FINDSPOT_HOME": str(home), "NO_COLOR": "1"}
        self._seen = seen

    def index(self) -> None:
        """Index the folder, and measure that."""
        before, started = os.times(), time.perf_counter()
        process = subprocess.Popen(self._line("index", "--yes"), **self._pipes())
        with PeakMemory(process.pid, every_s=0.25) as peak:
            printed = self._finish(process, "index", INDEX_LIMIT_S)
        after = os.times()
        self._seen.index_s = time.perf_counter() - started
        self._seen.index_cpu_s = sum(after[2:4]) - sum(before[2:4])
        self._seen.index_mb = peak.mb
        for error in printed.get("errors", ()):
            self._seen.fail("index", str(error))

    def ask(self, *words: str) -> dict[str, Any]:
        """Ask one question; whatever goes wrong is a failure."""
        process = subprocess.Popen(self._line(*words), **self._pipes())
        return self._finish(process, " ".join(words)[:80], 10 * QUESTION_LIMIT_S)

    def _line(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "findspot", words[0], "--json", *words[1:]]

    def _pipes(self) -> dict[str, Any]:
        pipe = subprocess.PIPE
        return {"cwd": self._folder, "env": self._env, "stdout": pipe, "stderr": pipe, "text": True}

    def _finish(self, process: subprocess.Popen[str], what: str, limit_s: float) -> dict[str, Any]:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self._seen.fail(f"findspot {what}", f"no answer within {limit_s:.0f} s")
            return {}
        try:
            answer: dict[str, Any] = json.loads(out)
        except ValueError:
            answer = {}
        if process.returncode or not answer or "Traceback" in err or "unexpected" in err.lower():
            said = err or str(answer.get("summary", out))
            self._seen.fail(f"findspot {what}", f"exit status {process.returncode}: {said}")
        return answer


def left_out(seen: Repository, command: Command, paths: Sequence[str], indexed: set[str]) -> None:
    """Compare what git tracks with what is indexed, and keep the reasons of what is not."""
    listed = command.ask("status", "--skipped").get("skippedFiles", [])
    reasons = {skip["path"]: skip["reason"] for skip in listed}
    sources = [path for path in paths if is_source(path)]
    seen.source_files = len(sources)
    for path in sources:
        if path not in indexed:
            seen.left_out.setdefault(_reason(path, reasons), []).append(path)
    seen.in_part = dict(Counter(reasons[path] for path in sources if path in indexed and path in reasons))


def _reason(path: str, reasons: dict[str, str]) -> str:
    """Return why a path, or a folder above it, is left out."""
    if path in reasons:
        return reasons[path]
    parts = path.split("/")
    above = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
    return next((reasons[folder] for folder in above if folder in reasons), "no reason given")


class Library:
    """One project through the library: built, then asked."""

    def __init__(self, project: Project, failures: list[str]) -> None:
        self._project = project
        self._failures = failures

    def run(self) -> None:
        self._do("update", self._project.update)
        paths = [path for path in self._project.files()[0] if is_source(path)] or self._project.files()[0]
        chosen = paths[:: max(1, len(paths) // QUESTIONS)][:QUESTIONS]
        names = list(self._names(chosen))
        for kind, ask in self._questions(chosen, names):
            self._do(kind, ask)

    def _names(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield names that the index itself gives for files of the project."""
        for path in paths:
            results = self._do(f"search {path}", partial(self._search, Path(path).stem))
            if isinstance(results, Results):
                yield from islice((hit.symbol for hit in results.hits if hit.symbol), 1)

    def _search(self, text: str, corpus: Corpus = Corpus.CODE, mode: Mode = Mode.HYBRID) -> Results:
        return self._project.search(Query(text, corpus=corpus, mode=mode))

    def _questions(
        self, paths: Sequence[str], names: Sequence[str]
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        stems = [Path(path).stem.replace("_", " ").replace("-", " ") for path in paths]
        texts = [*(f"how does {stem} work" for stem in stems[:4]), *names[:3], *OFF_TOPIC]
        for text in texts[:QUESTIONS]:
            yield f"search {text!r}", partial(self._search, text)
            yield f"docs {text!r}", partial(self._search, text, Corpus.DOCS)
        yield "regex", partial(self._search, r"(TODO|FIXME).*", mode=Mode.REGEX)
        for name in names:
            for aim in (Aim.CALLERS, Aim.CALLEES, Aim.USES, Aim.IMPACT, Aim.TESTS):
                yield f"{aim} {name}", partial(self._relation, aim, name)
            yield f"research how {name}", partial(self._project.research, f"how does {name} work")
        for path in paths:
            for aim in (Aim.IMPORTERS, Aim.IMPACT, Aim.TESTS):
                yield f"{aim} {path}", partial(self._relation, aim, path)
        for text in OFF_TOPIC:
            yield f"research {text}", partial(self._project.research, text)
        for aim in (Aim.CALLERS, Aim.CALLEES, Aim.USES, Aim.IMPACT, Aim.TESTS, Aim.IMPORTERS):
            yield f"{aim} {NOWHERE}", partial(self._nowhere, aim)
        for focus in Focus:
            yield f"focus {focus}", partial(self._project.research, "how is it built", focus=focus)
        for depth in range(1, 6):
            yield f"map {depth}", partial(self._map, depth)

    def _relation(self, aim: Aim, symbol: str) -> Findings:
        found = self._project.research(Inquiry(relation=aim, symbol=symbol))
        if found.summary.startswith(DENIALS):
            self._failures.append(f"library {aim} {symbol}: {found.summary}")
        return found

    def _nowhere(self, aim: Aim) -> None:
        found = self._project.research(Inquiry(relation=aim, symbol=NOWHERE))
        if found.nodes:
            self._failures.append(f"library {aim} {NOWHERE}: {found.summary}")

    def _map(self, depth: int) -> object:
        with self._project.reader() as reader:
            graph = Graph(reader.snapshot)
            return module_map(graph, imports_between(graph, code_files(reader.snapshot)), depth)

    def _do(self, what: str, call: Callable[[], object]) -> object:
        started = time.process_time()
        try:
            result = call()
        except FindspotError as error:
            if error.code != "DOCS_INDEX_NOT_FOUND":
                self._failures.append(f"library {what}: {type(error).__name__}: {error}")
            return None
        except Exception:  # noqa: BLE001 - whatever it is, it is what this program looks for
            self._failures.append(f"library {what}: {traceback.format_exc()[-600:]}")
            return None
        used = time.process_time() - started
        if what != "update" and used > QUESTION_LIMIT_S:
            self._failures.append(f"library {what}: {used:.0f} s of processor time")
        return result


def through_the_library(folder: Path) -> list[str]:
    """Index and ask in this process, which has a home of its own; return the failures."""
    failures: list[str] = []
    engine = Engine()
    try:
        Library(engine.project(folder), failures).run()
    finally:
        engine.close()
    return failures


def look_at(repository: Path, name: str, most_files: int) -> Repository | None:
    """Index and ask one repository; None where it cannot be checked out or is larger than wanted."""
    seen = Repository(name)
    with tempfile.TemporaryDirectory(prefix="world-") as work:
        folder = Path(work, "checkout", name.rpartition("+")[2])
        if not check_out(repository, folder):
            return None
        paths = tracked(folder)
        if len(paths) > most_files:
            return None
        seen.files = len(paths)
        command = Command(folder, Path(work, "home"), seen)
        command.index()
        listed = command.ask("files", "**", "--limit", "100000").get("matches", [])
        left_out(seen, command, paths, set(listed))
        _by_command(command)
        child = [sys.executable, "-m", "benchmarks.world", "--through-the-library", str(folder)]
        env = {**os.environ, "FINDSPOT_HOME": str(Path(work, "home-of-the-library"))}
        try:
            done = subprocess.run(
                child,
                cwd=ROOT,
                env=env,
                capture_output=True,
                text=True,
                timeout=2 * INDEX_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            seen.fail("library", f"not done within {2 * INDEX_LIMIT_S} s")
        else:
            if done.returncode:
                seen.fail("library", done.stderr)
            else:
                seen.failures += json.loads(done.stdout.splitlines()[-1])
    return seen


def _by_command(command: Command) -> None:
    """Ask one question of each kind by the command, about a name and a file that the index has."""
    hits = command.ask("search", "where does it begin").get("results", [])
    command.ask("docs", "how to install it")
    command.ask("research", "how does it start")
    command.ask("research", "--focus", "architecture", "how is it built")
    command.ask("history", "why was it changed")
    for hit in hits[:1]:
        command.ask("context", f"{hit['path']}:{hit['startLine']}")
        command.ask("grep", "--max-count", "1", ".", hit["path"])
        command.ask("impact", hit["path"])
        command.ask("tests", hit["path"])
        if hit.get("symbol"):
            command.ask("callers", "--", hit["symbol"])


def report(rows: Sequence[Repository]) -> list[str]:
    """Return the summary and what breaks the promise, line by line."""
    reasons = Counter(dict.fromkeys(BY_S0, 0))
    for row in rows:
        reasons.update({reason: len(paths) for reason, paths in row.left_out.items()})
    sources = sum(row.source_files for row in rows)
    counted = sum(count for reason, count in reasons.items() if reason not in (*BY_S0, *HELD_BACK))
    failures = [f"{row.name}: {failure}" for row in rows for failure in row.failures]
    if sources and counted / sources >= MOST_LEFT_OUT:
        failures.append(f"{counted} of {sources} source files are left out")
    in_part = sum((Counter(row.in_part) for row in rows), Counter[str]())
    per_thousand = 1000 / max(1, sum(row.files for row in rows))
    processor_s, wall_s = (sum(getattr(row, name) for row in rows) for name in ("index_cpu_s", "index_s"))
    by_reason = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    memory = max((row.index_mb for row in rows), default=0)
    lines = [
        f"{len(rows)} repositories, {sum(row.files for row in rows):,} files, {sources:,} of them source",
        f"1,000 files: {processor_s * per_thousand:.1f} s of processor time, {wall_s * per_thousand:.1f} s",
        f"most memory while indexing: {memory:.0f} MB",
        f"source files left out: {counted} ({counted / max(1, sources):.3%}); by reason: {by_reason}",
        "indexed in part: " + (", ".join(f"{reason} {count}" for reason, count in in_part.items()) or "none"),
        f"failures: {len(failures)}",
    ]
    return lines + [f"  {failure}" for failure in failures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("mirrors", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of repositories")
    parser.add_argument("--most-files", type=int, default=50_000, help="leave out larger repositories")
    parser.add_argument("--json", type=Path, help="write what was seen of each repository to this file")
    parser.add_argument("--through-the-library", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.through_the_library:
        print(json.dumps(through_the_library(args.through_the_library)))  # noqa: T201
        return
    if not args.mirrors or not args.mirrors.is_dir():
        parser.error("name the folder of git mirrors: make world MIRRORS=folder")
    rows = []
    for repository in sorted(repositories_in(args.mirrors)):
        name = "+".join(
            part for part in repository.relative_to(args.mirrors).parts if part not in ("repo", ".git")
        )
        if args.only and not any(part in name for part in args.only):
            continue
        seen = look_at(repository, name, args.most_files)
        if seen is None:
            print(f"{name}: left out, too large or incomplete", flush=True)  # noqa: T201
            continue
        rows.append(seen)
        _print_row(seen)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    lines = report(rows)
    print(*lines, f"load {os.getloadavg()[0]:.1f}", sep="\n")  # noqa: T201
    sys.exit(0 if rows and lines[-1] == "failures: 0" else 1)


def _print_row(seen: Repository) -> None:
    thousands = max(1, seen.files) / 1000
    skipped = {reason: len(paths) for reason, paths in seen.left_out.items()}
    print(  # noqa: T201
        f"{seen.name}: {seen.files} files, {seen.index_cpu_s / thousands:.1f} s and "
        f"{seen.index_mb / thousands:.0f} MB per 1,000 files, left out {skipped or 'nothing'}, "
        f"failures {len(seen.failures)}",
        *(f"    {failure}" for failure in seen.failures[:20]),
        sep="\n",
        flush=True,
    )


if __name__ == "__main__":
    main()
