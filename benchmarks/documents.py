"""Named full-text indexes at 100,000 documents: adding, searching, reopening, memory; and one of 10 MB.

`python -m benchmarks.documents [--documents N]` prints the figures as JSON. Words are drawn by
Zipf's law, so that queries hold frequent and rare ones; the time of a search is the library's,
with highlights.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from benchmarks.memory import pss_mb
from findspot.documents import Document, NamedIndexes
from findspot.documents.document_record import MAX_CONTENT_CHARS

WORDS = 50_000
WORDS_A_DOCUMENT = 120
SEARCHES = 400
BATCH = 1_000
LIMIT_BYTES = 8 << 30


class Text:
    """Words by Zipf's law."""

    def __init__(self) -> None:
        self.chance = random.Random(11)
        self.words = [f"{self.chance.choice('bdfgklmnprst')}{number:x}" for number in range(WORDS)]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(WORDS)))

    def some(self, count: int) -> list[str]:
        return self.chance.choices(self.words, cum_weights=self._weights, k=count)

    def documents(self, count: int) -> Iterator[Document]:
        for number in range(count):
            yield Document(f"doc-{number:06}", " ".join(self.some(WORDS_A_DOCUMENT)), {"number": number})

    def queries(self) -> list[str]:
        forms = ("{} {} {}", "+{} {}", "{} {} -{}", '"{} {}"', '+{} "{} {}"', "{}")
        return [self.chance.choice(forms).format(*self.some(3)) for _ in range(SEARCHES)]


def measure(count: int) -> dict[str, float]:
    """All figures, for both backends."""
    text, found = Text(), {}
    documents = list(text.documents(count))
    queries = text.queries()
    with tempfile.TemporaryDirectory() as folder:
        indexes = NamedIndexes(Path(folder), LIMIT_BYTES)
        for backend in ("memory", "disk"):
            indexes.create(backend, backend)
            started = time.perf_counter()
            for first in range(0, count, BATCH):
                indexes.add(documents[first : first + BATCH], backend)
            found[f"{backend}_documents_per_s"] = count / (time.perf_counter() - started)
            found |= {
                f"{backend}_{name}": value for name, value in searching(indexes, backend, queries).items()
            }
        found["disk_mb"] = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        found |= one_by_one(indexes)
        found |= large_document(indexes, text)
        indexes.close()
        found |= reopening(folder)
    return found


def searching(indexes: NamedIndexes, name: str, queries: list[str]) -> dict[str, float]:
    """The first search sorts what was added; the others are what one waits for."""
    first = timed(indexes, name, queries[0])
    taken = sorted(timed(indexes, name, query) for query in queries)
    return {
        "first_search_ms": first,
        "search_p50_ms": taken[len(taken) // 2],
        "search_p95_ms": taken[int(len(taken) * 0.95)],
    }


def timed(indexes: NamedIndexes, name: str, query: str) -> float:
    started = time.perf_counter()
    indexes.search(query, 10, name)
    return 1000 * (time.perf_counter() - started)


def one_by_one(indexes: NamedIndexes) -> dict[str, float]:
    """Adding a document to a full index, each in a commit of its own."""
    seconds = []
    for number in range(50):
        started = time.perf_counter()
        indexes.add([Document(f"late-{number}", "a document that comes late")], "disk")
        seconds.append(time.perf_counter() - started)
    return {"disk_add_one_ms": 1000 * statistics.median(seconds)}


def large_document(indexes: NamedIndexes, text: Text) -> dict[str, float]:
    """Searches in one document of ten million characters whose words stand at its end."""
    words = " ".join(text.some(MAX_CONTENT_CHARS // 5))[: MAX_CONTENT_CHARS - 100]
    document = Document("large", f"{words} an ending that comes last")
    found: dict[str, float] = {}
    for backend in ("memory", "disk"):
        name = f"large_{backend}"
        indexes.create(name, backend)
        indexes.add([document], name)
        timed(indexes, name, "sorts")
        queries = ("ending", "ending comes", '"comes last"', '+"an ending" -absent', "absent")
        taken = [timed(indexes, name, query) for query in queries * 5]
        found |= {f"{name}_p50_ms": statistics.median(taken), f"{name}_max_ms": max(taken)}
        indexes.drop(name)
    return found


_REOPEN = """
import sys, time
from pathlib import Path
from findspot.documents import NamedIndexes
indexes = NamedIndexes(Path(sys.argv[1]), 0)
started = time.perf_counter()
indexes.search("late", 10, "disk")
print(time.perf_counter() - started, flush=True)
sys.stdin.read()
"""


def reopening(folder: str) -> dict[str, float]:
    """The first search of a new process, and the memory it has then."""
    command = [sys.executable, "-c", _REOPEN, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seconds = float(process.stdout.readline())
        memory = pss_mb(process.pid)
        process.communicate()
    return {"disk_reopen_search_s": seconds, "disk_reopen_mb": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    figures = measure(parser.parse_args().documents)
    sys.stdout.write(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
