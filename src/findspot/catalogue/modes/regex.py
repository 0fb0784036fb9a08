"""`regex`: a pattern over each tool's text; every match scores 1.

Matching is ripgrep's, whose time is linear in the text: no pattern can hang the search.
"""

from __future__ import annotations

import subprocess

import numpy as np

from findspot.catalogue.model import SearchMode, SearchOptions
from findspot.catalogue.orchestrator import Ranked
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import InvalidArgumentError
from findspot.text.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary

TIMEOUT_S = 10.0
_OPTIONS = ("--no-config", "--ignore-case", "--text", "--line-number", "--column", "--no-filename",
            "--max-columns=1", "--no-heading", "--color=never")  # fmt: skip
"""Line and column of the first match are wanted, not the text, which `--max-columns` leaves out."""


class RegexStrategy:
    """Case does not matter; tools whose name matches come before those whose description does."""

    mode = SearchMode.REGEX

    def initialize(self) -> None:
        """Find the program, so that a broken installation is noticed here."""
        ripgrep_binary()

    def search(self, query: str, tools: ToolSet, options: SearchOptions) -> Ranked:
        check_pattern(query)
        allowed = tools.allowed(options.server)
        found = [(row, column) for row, column in _matches(query, tools) if allowed[row]]
        found.sort(key=lambda match: (match[1] > tools.name_ends[match[0]], tools.names[match[0]]))
        rows = np.array([row for row, _ in found], dtype=np.int64)
        return Ranked(rows, np.ones(len(rows), dtype=np.float32))

    def dispose(self) -> None:
        """Nothing is held."""


def _matches(pattern: str, tools: ToolSet) -> list[tuple[int, int]]:
    """Each matching row with the column, from 1, at which its first match begins."""
    command = [ripgrep_binary(), *_OPTIONS, *SIZE_LIMITS, "--regexp", pattern, "--", str(tools.texts)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise InvalidArgumentError(
            f"The pattern took longer than {TIMEOUT_S:.0f} s.", hint="Make it more specific."
        ) from None
    if done.returncode > 1:
        complaint = done.stderr.decode("utf-8", "replace")
        if not tools.texts.exists():
            raise FileNotFoundError(tools.texts)
        error = refusal(pattern, complaint)
        error.user_message = " ".join(filter(None, (error.user_message, error.hint)))
        error.hint = ""
        error.args = (error.user_message,)
        raise error
    places = (line.split(b":", 2)[:2] for line in done.stdout.splitlines())
    return [(int(number) - 1, int(column)) for number, column in places]
