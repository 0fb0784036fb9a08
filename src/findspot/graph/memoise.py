"""Work things out once, where each may need the others and some need themselves."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")

MAX_DEPTH = 24
"""Answers within answers that are followed; real code needs a handful."""

MAX_STEPS = 2_000
"""Answers worked out for one question; more means that code goes round in circles."""


class Memo:
    """Remembers whole answers; what would go in a circle, or on for too long, is cut short."""

    def __init__(self, known: dict[Any, Any]) -> None:
        """Keep finished answers in `known`, which other threads may share."""
        self._known = known
        self._running: set[Hashable] = set()
        self._cuts = 0
        self._steps = 0

    def once(self, key: Hashable, work: Callable[[], T], otherwise: T) -> T:
        """Return the answer to a question, or `otherwise` where it is being worked out already."""
        if key in self._known:
            return cast(T, self._known[key])
        running = self._running
        if not running:
            self._cuts = self._steps = 0
        if key in running or len(running) > MAX_DEPTH or self._steps > MAX_STEPS:
            self._cuts += 1
            return otherwise
        self._steps += 1
        cuts = self._cuts
        running.add(key)
        try:
            answer = work()
        finally:
            running.discard(key)
        if self._cuts == cuts or not running:  # an answer that was cut short holds for this question only
            self._known[key] = answer
        return answer
