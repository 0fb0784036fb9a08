"""Ask for callers across the border of two members of a workspace, and compare with a count by hand.

`python -m benchmarks.borders --mirrors FOLDER`. `borders.json` has five pairs of a library and a consumer at
pinned commits, and for each definition the lines of the consumer that call it, found by reading every line
with its name. A call of an override in the consumer is no call of what it overrides.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.sets import Case, materialise
from findspot import Engine
from findspot.research.findings import Aim, Inquiry

_PAIRS = Path(__file__).with_name("borders.json")


def main() -> None:
    """Print precision and recall of each pair, and of all calls together."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mirrors", type=Path)
    options.add_argument("--cache", type=Path, default=Path("benchmarks/.cache"))
    given = options.parse_args()
    os.environ["FINDSPOT_HOME"] = str(given.cache.absolute() / "borders-home")
    engine, counts = Engine(), []
    for pair in json.loads(_PAIRS.read_text("utf-8")):
        counts.append(_compared(engine, pair, given))
        sys.stdout.write(f"{pair['library']} in {pair['consumer']}: {_figures(*counts[-1])}\n")
    sys.stdout.write(f"all: {_figures(*map(sum, zip(*counts, strict=True)))}\n")
    engine.close()


def _compared(engine: Engine, pair: dict[str, Any], given: argparse.Namespace) -> tuple[int, int, int]:
    """Return how many callers are right, how many were found, and how many there are."""
    roots = []
    for side in ("library", "consumer"):
        case = Case("", pair[side], pair[f"{side}_commit"], "", "", "", "", ())
        roots.append(materialise(case, given.cache, given.mirrors, given.cache))
        engine.project(roots[-1]).update()
    workspace = engine.gathered(given.cache, roots)
    assert workspace is not None
    library, consumer = workspace.members
    right = found = wanted = 0
    for symbol, places in pair["callers"].items():
        asked = Inquiry(relation=Aim.CALLERS, symbol=f"{library}/{symbol}")
        edges = workspace.research(asked).edges
        here = {(edge.path, edge.line) for edge in edges if edge.path.startswith(f"{consumer}/")}
        there = {(f"{consumer}/{path}", line) for path, lines in places.items() for line in lines}
        right, found, wanted = right + len(here & there), found + len(here), wanted + len(there)
        for path, line in sorted(here ^ there):
            sys.stdout.write(f"  {'wrong' if (path, line) in here else 'missed'}: {symbol} {path}:{line}\n")
    return right, found, wanted


def _figures(right: int, found: int, wanted: int) -> str:
    return f"precision {right / found:.3f}, recall {right / wanted:.3f} ({wanted} calls)"


if __name__ == "__main__":
    main()
