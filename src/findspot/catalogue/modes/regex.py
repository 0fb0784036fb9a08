"""`regex`: a pattern over each tool's text; every match scores 1.

Matching is ripgrep's, whose time is linear in the text: no pattern can hang the search.
"""

from __future__ import annotations

import re
import subprocess

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.model import SearchMode, SearchOptions
from findspot.catalogue.orchestrator import Ranked
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import InvalidArgumentError
from findspot.core.platforms import NO_WINDOW
from findspot.text.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary

TIMEOUT_S = 10.0
_OPTIONS = ("--no-config", "--ignore-case", "--text", "--line-number", "--no-filename", "--max-columns=1",
            "--no-heading", "--color=never")  # fmt: skip
"""The numbers of the matching lines are wanted, not the lines, which `--max-columns` leaves out."""

_LEFT_OUT = b":[Omitted long matching line]"
_AFTER_NUMBER = re.compile(rb":[^\n]*")

_NEEDS_UNICODE = re.compile(r"[^\x00-\x7f]|\\[pPuUx]|\(\?")
"""What a pattern may hold that reads differently, or not at all, without tables of all scripts."""


class RegexStrategy:
    """Case does not matter; tools whose name matches come before those whose description does."""

    mode = SearchMode.REGEX

    def initialize(self) -> None:
        """Find the program, so that a broken installation is noticed here."""
        ripgrep_binary()

    def search(self, query: str, tools: ToolSet, options: SearchOptions) -> Ranked:
        check_pattern(query)
        allowed = tools.allowed(options.server)
        rank = np.zeros(len(tools), dtype=np.int8)  # 0 no match, 1 in the text, 2 in the name
        lines = _matching_lines(query, tools)
        rank[lines[lines >= len(tools)] - len(tools)] = 1
        rank[lines[lines < len(tools)]] = 2
        rows = np.flatnonzero(np.where(allowed, rank, 0))
        order = rows[np.argsort(tools.name_order[rows] - len(tools) * rank[rows].astype(np.int64))]
        return Ranked(order, np.ones(len(order), dtype=np.float32))

    def dispose(self) -> None:
        """Nothing is held."""


def _matching_lines(pattern: str, tools: ToolSet) -> NDArray[np.int64]:
    """Return the lines of the tools' texts that match, counted from 0."""
    plain = tools.is_ascii and not _NEEDS_UNICODE.search(pattern)
    options = (*_OPTIONS, "--no-unicode") if plain else _OPTIONS  # a third of the time in large catalogues
    command = [ripgrep_binary(), *options, *SIZE_LIMITS, "--regexp", pattern, "--", str(tools.texts)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            creationflags=NO_WINDOW,
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
        error.user_message = error.with_hint()
        error.hint = ""
        error.args = (error.user_message,)
        raise error
    return np.fromstring(_only_numbers(done.stdout).decode("ascii"), dtype=np.int64, sep="\n") - 1


def _only_numbers(lines: bytes) -> bytes:
    """Without what follows each number; thousands of lines take a tenth of what `replace` takes."""
    if lines.count(_LEFT_OUT) == lines.count(b"\n"):
        return lines.translate(None, _LEFT_OUT)
    return _AFTER_NUMBER.sub(b"", lines)  # lines of one character are shown
