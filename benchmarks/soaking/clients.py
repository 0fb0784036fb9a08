"""Eight clients that search while one process indexes without end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CLIENTS = 8

SEARCH = """
import json, sys, time
from findspot import Project, Query
root, seconds = sys.argv[1], float(sys.argv[2])
queries = ("how is an error handled", "parse arguments", "open a connection", "class Model", "version")
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024
project, waits, errors = Project(root), [], []
project.search(Query("warm up"))
end, turn, middle = time.monotonic() + seconds, 0, 0
while time.monotonic() < end:
    started = time.perf_counter()
    try:
        project.search(Query(queries[turn % len(queries)]))
    except Exception as error:
        errors.append(repr(error))
    waits.append(time.perf_counter() - started)
    turn += 1
    if not middle and time.monotonic() > end - seconds / 2:
        middle = rss()
    time.sleep(max(0.0, 0.5 - waits[-1]))
print(json.dumps({"waits": waits, "errors": errors, "middle": middle, "end": rss()}))
"""

INDEX = """
import sys, time
from findspot import Project
project, end, runs = Project(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    project.update(force=True)
    runs += 1
print(runs)
"""


def run(root: Path, seconds: float, count: int = CLIENTS) -> dict[str, Any]:
    """Latencies of all searches, their errors, and how memory grew in the second half."""
    from findspot import Project

    project = Project(root)
    project.update()
    project.close()
    start = [sys.executable, "-c"]
    writer = subprocess.Popen([*start, INDEX, str(root), str(seconds)], stdout=subprocess.PIPE, text=True)
    readers = [
        subprocess.Popen([*start, SEARCH, str(root), str(seconds)], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    found = [json.loads(reader.communicate()[0]) for reader in readers]
    runs = int(writer.communicate()[0])
    waits = sorted(wait for client in found for wait in client["waits"])
    return {
        "seconds": seconds,
        "searches": len(waits),
        "full_indexings": runs,
        "errors": sum(len(client["errors"]) for client in found),
        "p50_ms": round(1000 * waits[len(waits) // 2]),
        "p99_ms": round(1000 * waits[int(0.99 * len(waits))]),
        "worst_ms": round(1000 * waits[-1]),
        "growth_mb": max(client["end"] - client["middle"] for client in found),
        "rss_mb": max(client["end"] for client in found),
    }
