"""Search a catalogue: one strategy per mode, and an orchestrator that routes queries to them.

To add a mode, write a class with the four members of `SearchStrategy` and register it:

>>> orchestrator.register_strategy(MyStrategy())
>>> orchestrator.search("read a file", tools, ToolSearchOptions(mode="mine"))

A strategy ranks rows of the tool set; the orchestrator applies the threshold and `top_k`, so that
every mode treats them alike. docs/catalogues.md walks through an example.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.tool_record import (
    DEFAULT_MODE,
    SearchMode,
    ToolReference,
    ToolResults,
    ToolSearchOptions,
)
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import InvalidArgumentError

MAX_QUERY_CHARS = 20_000
"""A longer query, such as a pasted file, says nothing more about the tool."""

SHOWN_DESCRIPTION_CHARS = 2_000
"""Characters of a description in a list of tools; `get_tool` gives all of it."""

NEAREST = 6
"""Tools that are shown where none fits well: the likeness of a wish to what serves it may be small."""

NAMED = 3
"""Of those, how many the message names."""

Scores = NDArray[np.float32]


class Ranked(NamedTuple):
    """Rows of the tool set with their scores between 0 and 1, best first."""

    rows: NDArray[np.int64]
    scores: Scores
    fits: bool = True
    """Whether the best row is what was asked for; if not, the answer says so and shows the nearest."""


class SearchStrategy:
    """One way of matching."""

    mode: str
    """The name of the mode."""

    def initialize(self) -> None:
        """Get ready; called once, before the first search."""

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        """Return every tool that matches, best first."""
        raise NotImplementedError

    def dispose(self) -> None:
        """Release what is held; calling it twice is harmless."""


def ranked(scores: Scores, tools: ToolSet, *, least: float = 0.0) -> Ranked:
    """Return the rows above `least`; equal scores in the order of names, so that an answer does not vary."""
    named = tools.by_name[scores[tools.by_name] > least]
    order = named[np.argsort(-scores[named], kind="stable")]
    return Ranked(order, scores[order])


class SearchOrchestrator:
    def __init__(self) -> None:
        self._strategies: dict[str, SearchStrategy] = {}
        self._ready: set[str] = set()
        self._guard = threading.RLock()

    def register_strategy(self, strategy: SearchStrategy) -> None:
        """Offer a mode; one of the same name is replaced."""
        with self._guard:
            if strategy.mode in self._ready:
                self._ready.remove(strategy.mode)
                self._strategies[strategy.mode].dispose()
            self._strategies[strategy.mode] = strategy

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> ToolResults:
        """Return the best tools of the mode that the options name."""
        started = time.perf_counter()
        query = query[:MAX_QUERY_CHARS]
        if not query.strip():
            raise InvalidArgumentError("Query cannot be empty")
        mode = options.mode or DEFAULT_MODE
        ranking = self._strategy(mode).search(query, tools, options)
        total = int(np.count_nonzero(ranking.scores >= options.threshold))
        total = total if ranking.fits else min(total, NEAREST)
        shown = [
            _reference(tools, int(row), float(score), mode)
            for row, score in zip(ranking.rows[: min(total, options.top_k)], ranking.scores, strict=False)
        ]
        elapsed = (time.perf_counter() - started) * 1000
        warning = " ".join(tools.warnings) or None
        fits = ranking.fits and total > 0
        nearest = () if fits else tuple(tools.names[row] for row in ranking.rows[:NAMED])
        servers = () if fits else tools.offered_servers
        return ToolResults(tuple(shown), total, len(tools), elapsed, warning, fits, nearest, servers)

    def close(self) -> None:
        with self._guard:
            for mode in self._ready:
                self._strategies[mode].dispose()
            self._ready.clear()

    def _strategy(self, mode: str) -> SearchStrategy:
        with self._guard:
            strategy = self._strategies.get(mode)
            if strategy is None:
                known = ", ".join(f"'{name}'" for name in self._strategies)
                raise InvalidArgumentError(
                    f"There is no search mode '{mode}'.", hint=f"Choose one of {known}."
                )
            if mode not in self._ready:
                strategy.initialize()
                self._ready.add(mode)
            return strategy


def _reference(tools: ToolSet, row: int, score: float, mode: SearchMode) -> ToolReference:
    tool = tools.definition(row)
    text = tool.description
    if len(text) > SHOWN_DESCRIPTION_CHARS:
        text = text[: SHOWN_DESCRIPTION_CHARS - 1] + "…"
    return ToolReference(tool.name, text, tool.server_name, round(score, 4), mode, tool.title)
