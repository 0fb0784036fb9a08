"""Ask many generated projects as one workspace: first answer, p50 and p95 of a question, and memory.

`python -m benchmarks.workspace --members 50 --files 300`. Members differ in their words, so that each
question has its answer in one of them.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from findspot import Engine, Query

_QUESTIONS = 40


def make_member(root: Path, number: int, files: int) -> None:
    """Write a repository whose functions are about a topic of their own."""
    words = random.Random(number)
    for index in range(files):
        folder = root / f"part{index % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        verb, noun = words.choice(_VERBS), words.choice(_NOUNS)
        text = f"def {verb}_{noun}_{number}_{index}(value):\n    # {verb} the {noun} of member {number}\n"
        (folder / f"{noun}{index}.py").write_text(text + f"    return value + {index}\n" * 3)
    subprocess.run(["git", "init", "-q", root], check=True)


_VERBS = ("read", "write", "open", "close", "merge", "split", "count", "parse", "store", "send")
_NOUNS = (
    "invoice",
    "session",
    "ticket",
    "harbour",
    "planet",
    "recipe",
    "kernel",
    "bridge",
    "forest",
    "violin",
)


def main() -> None:
    """Make the members, index them, and print the figures with the load of the machine."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--members", type=int, default=50)
    options.add_argument("--files", type=int, default=300)
    given, output = options.parse_args(), sys.stdout
    with tempfile.TemporaryDirectory() as place:
        os.environ["FINDSPOT_HOME"] = f"{place}/home"
        for number in range(given.members):
            make_member(Path(place) / "all" / f"member{number}", number, given.files)
        engine = Engine()
        workspace = engine.workspace(f"{place}/all")
        assert workspace is not None
        began = time.perf_counter()
        workspace.update()
        output.write(f"indexed in {time.perf_counter() - began:.1f} s\n")
        engine.close()
        engine = Engine()
        workspace = engine.workspace(f"{place}/all")
        assert workspace is not None
        times: list[float] = []
        for number in range(_QUESTIONS):
            verb, noun = _VERBS[number % 10], _NOUNS[number // 10 % 10]
            began = time.perf_counter()
            workspace.search(Query(f"{verb} the {noun} of member {number % given.members}", related=True))
            times.append((time.perf_counter() - began) * 1000)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        later = sorted(times[1:])
        p95 = later[int(len(later) * 0.95)]
        output.write(f"first answer {times[0]:.0f} ms, p50 {statistics.median(later):.0f} ms, ")
        output.write(f"p95 {p95:.0f} ms, {memory:.0f} MB, load {os.getloadavg()[0]:.1f}\n")
        engine.close()


if __name__ == "__main__":
    main()
