"""How fast a catalogue is: indexing, a cold start in a process of its own, and each mode.

python -m benchmarks.catalogue_speed [--tools 10000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from findspot import Engine
from findspot.catalogue.catalogue_build import BuildOptions
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions

_SPOKEN = {
    "verbs": "read write list create delete update search fetch convert send merge split export watch",
    "nouns": "file folder invoice customer ticket branch image calendar message payment table report "
    "issue server document translation route forecast recipe contact order backup playlist webhook",
    "words": "given returns optional matching latest by name id path range limit date user format "
    "content project remote local encoded filter page result value status token region language price",
}
VERBS, NOUNS, WORDS = (_SPOKEN[kind].split() for kind in ("verbs", "nouns", "words"))
PATTERNS = ("read.*file", "^list_", "(a+)+$", "invoice|ticket")
QUERIES = (
    "read the contents of a file on disk",
    "send a message to the customer about the payment",
    "convert an image to another format",
    "weather forecast for tomorrow in the region",
)
ROUNDS = 25

COLD = """
import time; started = time.perf_counter()
from findspot import Engine
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions
engine = Engine()
found = engine.catalogue({folder!r}).search("file", ToolSearchOptions(mode=SearchMode({mode!r})))
assert found.tools
print(time.perf_counter() - started)
"""


def tools(count: int) -> list[dict[str, Any]]:
    """Tools with names, descriptions and parameters of ordinary length, the same ones every time."""
    chosen = random.Random(0)
    made = []
    for number in range(count):
        verb, noun = chosen.choice(VERBS), chosen.choice(NOUNS)
        parameters = {
            f"{chosen.choice(WORDS)}_{place}": {
                "type": "string",
                "description": " ".join(chosen.choices(WORDS + NOUNS, k=6)),
            }
            for place in range(3)
        }
        made.append(
            {
                "name": f"{verb}_{noun}_{number}",
                "serverName": f"{noun}-{number % 200}",
                "description": f"{verb} {noun} " + " ".join(chosen.choices(WORDS + NOUNS + VERBS, k=25)),
                "inputSchema": {"type": "object", "properties": parameters},
            }
        )
    return made


def times_ms(work: Any) -> tuple[float, float, float]:
    """The least, the middle and the 95th percentile of the time of one call."""
    times = []
    for number in range(ROUNDS):
        started = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return times[0], times[ROUNDS // 2], times[int(ROUNDS * 0.95)]


def run(count: int, folder: Path) -> None:
    out = sys.stdout.write
    source = folder / "tools.json"
    source.write_text(json.dumps(tools(count)), "utf-8")
    engine = Engine()
    catalogue = engine.catalogue(folder)
    started = time.perf_counter()
    path, built = catalogue.indexer.index([source], BuildOptions(), provider="local:static")
    out(f"indexing {count:,} tools with embeddings: {time.perf_counter() - started:.2f} s ")
    out(f"({built.embedded:,} embedded, {path.stat().st_size >> 20} MB)\n")
    started = time.perf_counter()
    catalogue.indexer.index([source], BuildOptions(), provider="local:static")
    out(f"indexing again, nothing changed: {time.perf_counter() - started:.2f} s\n")
    for mode in SearchMode:
        asked = PATTERNS if mode is SearchMode.REGEX else QUERIES

        def search(number: int, asked: Any = asked, mode: SearchMode = mode) -> None:
            catalogue.search(asked[number % len(asked)], ToolSearchOptions(mode=mode))

        least, middle, slow = times_ms(search)
        cold = [_cold(folder, mode) for _ in range(3)]
        out(f"{mode:10} least {least:6.2f} ms   p50 {middle:6.2f} ms   p95 {slow:6.2f} ms   ")
        out(f"cold start {min(cold):.3f} s\n")
    engine.close()


def _cold(folder: Path, mode: SearchMode) -> float:
    """From an empty process to the first answer, without the interpreter's own start."""
    program = COLD.format(folder=str(folder), mode=str(mode))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tools", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = str(Path(folder, "home"))
        os.environ["HOME"] = folder
        project = Path(folder, "project")
        project.mkdir()
        run(args.tools, project)


if __name__ == "__main__":
    main()
