"""What limits the work of the graph: answers that are remembered, and steps that are counted.

Everything that evaluates code calls itself through `Memo`, however the code of a project goes round in
circles. So no project can make it go too deep or on for too long, and no mistake in it ends a run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from findspot.core.errors import FindspotError
from findspot.core.sqlite import Error

_log = logging.getLogger(__name__)

K = TypeVar("K")
T = TypeVar("T")

MAX_DEPTH = 100
"""Steps within steps; each takes up to five calls of Python, which allows 1,000."""

MAX_STEPS = 20_000
"""Steps for one reference."""

MOST_STEPS = 400_000
"""Steps for one file, or for one question, after which no other is begun."""

NOT_OURS = (FindspotError, Error, OSError, MemoryError)
"""What the index or the system says: it is no mistake in the evaluation of code."""


_UNKNOWN = object()


class _LimitError(Exception):
    """A question goes too deep, or on for too long."""


class Memo:
    """Remembers whole answers, recognises circles, and gives up a question that goes on for too long."""

    def __init__(self, known: dict[Any, Any]) -> None:
        """Keep finished answers in `known`, which other threads may share."""
        self._known = known
        self._running: set[Hashable] = set()
        self._parts: dict[Hashable, Any] = {}
        """Answers that a circle cut short: they hold until what it started with is answered."""
        self._circles = self._depth = self._steps = self._spent = 0
        self.given_up = 0
        """Questions that were given up so far: what was worked out meanwhile may lack something."""

    def begin(self) -> None:
        """Count anew: what follows is for another file."""
        self._spent = 0

    def step(self, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        """Return what `work` makes of what is given; `otherwise` of a question that had to be given up.

        A question is the outermost of steps within steps. Nothing that was begun for it is remembered.
        """
        if not self._depth:
            return self._question(otherwise, work, *given)
        if self._depth >= MAX_DEPTH or self._steps >= MAX_STEPS:
            raise _LimitError
        self._steps += 1
        self._depth += 1
        try:
            return work(*given)
        finally:
            self._depth -= 1

    def _question(self, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        if self._spent < MOST_STEPS:
            self._steps = self._depth = 1
            try:
                return work(*given)
            except NOT_OURS:
                raise
            except (_LimitError, RecursionError):
                pass
            except Exception:  # noqa: BLE001  # a mistake of ours costs one reference, not the run
                _log.exception("a reference could not be resolved")
            finally:
                self._spent += self._steps
                self._depth = 0
        self.given_up += 1
        return otherwise

    def fill(self, table: dict[K, T], key: K, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        """Put into a table what `work` makes of what is given, unless that had to be given up."""
        given_up = self.given_up
        answer = self.step(otherwise, work, *given)
        if self.given_up == given_up:
            table[key] = answer
        return answer

    def once(self, key: Hashable, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        """Return what `work` makes of what is given, or `otherwise` where it is being worked out already."""
        if key in self._running:
            self._circles += 1
            return otherwise
        known = self._find(key)
        if known is not _UNKNOWN:
            return cast(T, known)
        self._running.add(key)
        try:
            return self._keep(key, otherwise, work, *given)
        finally:
            self._running.discard(key)
            if not self._running:
                self._parts.clear()

    def kept(self, key: Hashable, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        """Return what `work` makes of what is given, which never leads back to the same question directly."""
        known = self._find(key)
        return self._keep(key, otherwise, work, *given) if known is _UNKNOWN else cast(T, known)

    def _find(self, key: Hashable) -> object:
        known = self._known.get(key, _UNKNOWN)
        if known is _UNKNOWN and key in self._parts:
            self._circles += 1
            return self._parts[key]
        return known

    def _keep(self, key: Hashable, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        circles, given_up = self._circles, self.given_up
        answer = self.step(otherwise, work, *given)
        if self.given_up == given_up:
            is_whole = self._circles == circles or self._running <= {key}
            (self._known if is_whole else self._parts)[key] = answer
        return answer
