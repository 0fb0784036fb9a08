"""Time a reader of a published index: `python -m benchmarks.published_reader ADDRESS QUESTIONS [SECONDS]`.

QUESTIONS is a file with one question a line. With SECONDS, 30 clients ask at once for so long.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

from findspot import Project
from findspot.core.model import Query

_WARM_UP, _TIMED, _CLIENTS = 60, 160, 30


def main(address: str, questions: list[str], seconds: float) -> None:
    started = time.perf_counter()
    project = Project(tempfile.mkdtemp(), {"store": address})
    random.Random(1).shuffle(questions)

    def ask(question: str) -> float:
        before = time.perf_counter()
        project.search(Query(question, related=True))
        return time.perf_counter() - before

    ask(questions[0])
    sys.stdout.write(f"first answer after {time.perf_counter() - started:.1f} s\n")
    for question in questions[:_WARM_UP]:
        ask(question)
    used = time.process_time()
    times = [ask(question) for question in questions[_WARM_UP : _WARM_UP + _TIMED]]
    show("one client", times, (time.process_time() - used) / len(times))
    if seconds:
        show(f"{_CLIENTS} clients", many(ask, questions, seconds))


def many(ask: object, questions: list[str], seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        chance = random.Random(number)
        while time.perf_counter() < end:
            times.append(ask(chance.choice(questions)))  # type: ignore[operator]

    clients = [threading.Thread(target=client, args=(number,)) for number in range(_CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return times


def show(what: str, times: list[float], cpu_s: float | None = None) -> None:
    ordered = sorted(times)
    p50, p95 = (1_000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    cpu = f", {1_000 * cpu_s:.0f} ms of CPU each" if cpu_s else ""
    sys.stdout.write(
        f"{what}: {len(times)} answers, p50 {p50:.0f} ms, p95 {p95:.0f} ms{cpu}; peak {peak} MB; "
        f"load {os.getloadavg()[0]:.0f}\n"
    )


if __name__ == "__main__":
    lines = Path(sys.argv[2]).read_text().splitlines()
    main(sys.argv[1], lines, float(sys.argv[3]) if sys.argv[3:] else 0.0)
