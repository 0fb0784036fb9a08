"""Speed and memory of indexing and searching, in one run on one machine.

    python -m benchmarks.speed [--project FOLDER] [--json FILE]

Without a folder, a project of 7,000 files is made from Python's own standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import start, walk
from benchmarks.memory import PeakMemory
from findspot import Engine, Query

MADE_FILES = 7_000
SEARCHES = 400


def measure(project: Path) -> dict[str, float]:
    """All figures; a fresh index home is used and thrown away."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        found |= indexing(project)
        found |= updating(project)
        found |= searching(project)
        found |= command_line(project)
    found |= {f"walk_{name}": value for name, value in walk.measure().items()}
    found |= start.measure()
    return found


def indexing(project: Path) -> dict[str, float]:
    """A first index in a process of its own, its memory watched with its workers'."""
    code = (
        "import sys; from findspot import Engine; r = Engine().project(sys.argv[1]).update(allow_large=True)"
    )
    code += "; print(r.files_indexed, r.files_skipped, r.total_chunks, r.seconds)"
    process = subprocess.Popen([sys.executable, "-c", code, str(project)], stdout=subprocess.PIPE, text=True)
    with PeakMemory(process.pid) as peak:
        printed = process.communicate()[0].split()
    files, chunks, seconds = int(printed[0]), int(printed[2]), float(printed[3])
    size = sum(path.stat().st_size for path in project.rglob("*") if path.is_file())
    on_disk = sum(1 for path in project.rglob("*") if path.is_file())
    return {
        "project_files": on_disk,
        "project_mb": size / 1e6,
        "index_files": files,
        "index_chunks": chunks,
        "index_s": seconds,
        "index_files_per_s": on_disk / seconds,
        "index_chunks_per_s": chunks / seconds,
        "index_peak_pss_mb": peak.mb,
    }


def updating(project: Path) -> dict[str, float]:
    """The unchanged run, and one changed file in a running process."""
    opened = Engine().project(project)
    unchanged = min(opened.update(allow_large=True).seconds for _ in range(3))
    target = max(project.rglob("*.py"), key=lambda path: (path.stat().st_size < 20_000, path.stat().st_size))
    original = target.read_bytes()
    seconds = []
    try:
        for turn in range(5):
            target.write_bytes(original + f"\n# change {turn}\n".encode())
            seconds.append(opened.update(allow_large=True).seconds)
    finally:
        target.write_bytes(original)
        opened.update(allow_large=True)
    return {"unchanged_s": unchanged, "one_file_update_s": statistics.median(seconds)}


def searching(project: Path) -> dict[str, float]:
    """Queries made from the project's own words, warm; and the first one in a new process."""
    opened = Engine().project(project)
    queries = _queries(project)
    first = "import sys, time; from findspot import Engine, Query; p = Engine().project(sys.argv[1])"
    first += "; t = time.perf_counter(); p.search(Query('open a file')); print(time.perf_counter() - t)"
    cold = float(subprocess.check_output([sys.executable, "-c", first, str(project)]))
    for query in queries[:20]:
        opened.search(Query(query))
    took = sorted(_timed(opened, query) for query in queries)
    return {
        "search_first_s": cold,
        "search_p50_ms": 1000 * took[len(took) // 2],
        "search_p95_ms": 1000 * took[int(len(took) * 0.95)],
    }


def _timed(project: Any, query: str) -> float:
    started = time.perf_counter()
    project.search(Query(query))
    return time.perf_counter() - started


def _queries(project: Path) -> list[str]:
    chosen = random.Random(7)
    names = sorted({word for path in project.rglob("*.py") for word in path.stem.split("_") if len(word) > 3})
    forms = ("how does {} handle {}", "{} {}", "where is the {} of the {} set", "{}{}")
    return [chosen.choice(forms).format(chosen.choice(names), chosen.choice(names)) for _ in range(SEARCHES)]


def command_line(project: Path) -> dict[str, float]:
    """What a person waits for, beside ripgrep on the same files and an empty Python."""
    program = [sys.executable, "-m", "findspot"]
    ripgrep = str(Path(sysconfig.get_path("scripts")) / "rg")
    return {
        "cli_help_s": _wall([*program, "--help"]),
        "cli_version_s": _wall([*program, "--version"]),
        "cli_search_s": _wall([*program, "search", "open a file", "--project", str(project)]),
        "ripgrep_s": _wall([ripgrep, "--count", "open", str(project)]),
        "empty_python_s": _wall([sys.executable, "-c", "pass"]),
    }


def _wall(command: list[str]) -> float:
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def make_project(folder: Path) -> Path:
    """7,000 files of real code, each different: the standard library, several times over."""
    sources = [
        path
        for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
        if "site-packages" not in path.parts and path.stat().st_size < 200_000
    ]
    for number in range(MADE_FILES):
        source = sources[number % len(sources)]
        target = folder / f"part{number // len(sources)}" / source.parent.name / f"{source.stem}_{number}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes() + f"\n# {number}\n".encode())
    return folder


def machine() -> dict[str, str]:
    cpu = next(
        (line.split(":")[1].strip() for line in _read("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": f"{os.cpu_count()} × {cpu}",
    }


def _read(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--project", type=Path, help="a large project to index")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        figures = measure(args.project or make_project(Path(made) / "project"))
    for name, value in {**machine(), **figures}.items():
        shown = f"{value:,.3f}" if isinstance(value, float) else value
        sys.stdout.write(f"{name:28}{shown}\n")
    if args.json:
        args.json.write_text(json.dumps({**machine(), **figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
