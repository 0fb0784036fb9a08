"""Scores: what fits is told from what does not, in words and in numbers."""

from __future__ import annotations

import json

from findspot.core.model import LIKELY_FROM, NOTHING_FITS
from program import Program
from trust.conftest import MakeFolder

SPECIFICATION = """\
# Local index service

## Storage
The index is written to the home folder. If the disk is full, indexing stops with the error DISK_FULL, and the
previous index stays in place.

## Symbolic links
Symbolic links are skipped with a warning, whether they point to a file or to a folder.

## Strategies
The lazy strategy waits until the project has been idle for thirty seconds before changed files are indexed.
The realtime strategy indexes every change at once.

## Memory
The idle memory target of the server is 100 megabytes.

## Configuration
Claude Desktop reads the server entry from its configuration file. Add the command and its arguments there.
"""


def test_a_specification_is_told_from_what_it_does_not_say(make: MakeFolder, findspot: Program) -> None:
    """search-mcp B8, first-impression A8: right answers and nonsense both scored 0.07."""
    root = make({"pyproject.toml": "[project]\nname = 'p'\n", "docs/spec.md": SPECIFICATION})
    assert findspot("index", cwd=root).code == 0
    answer = json.loads(findspot("docs", "what happens when the disk is full", "--json", cwd=root).out)
    assert answer["results"][0]["score"] >= LIKELY_FROM
    fitting = findspot("docs", "what does the lazy strategy do", cwd=root).out
    assert NOTHING_FITS not in fitting
    assert "strong" in fitting or "likely" in fitting
    strange = findspot("docs", "how do I book a flight to Paris", cwd=root).out
    assert strange.startswith(NOTHING_FITS)
    assert "likely" not in strange
    assert "strong" not in strange
