"""Working things out once, where each may need the others and some need themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")

MAX_DEPTH = 24
"""Answers within answers that are followed; real code needs a handful."""

MAX_STEPS = 2_000
"""Answers worked out for one question; more means that code goes round in circles."""


class Memo:
    """Remembers whole answers; what would go in a circle, or on for too long, is cut short."""

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}
        self._here = threading.local()

    def once(self, key: Hashable, work: Callable[[], T], otherwise: T) -> T:
        """The answer to a question, or `otherwise` where it is being worked out already."""
        if key in self._known:
            return cast(T, self._known[key])
        here = self._here
        running: set[Hashable] = here.__dict__.setdefault("running", set())
        if not running:
            here.cuts = here.steps = 0
        if key in running or len(running) > MAX_DEPTH or here.steps > MAX_STEPS:
            here.cuts += 1
            return otherwise
        here.steps += 1
        cuts = here.cuts
        running.add(key)
        try:
            found = work()
        finally:
            running.discard(key)
        if here.cuts == cuts or not running:  # an answer that was cut short holds for this question only
            self._known[key] = found
        return found
