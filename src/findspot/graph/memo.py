"""What limits the work of the graph: answers that are remembered, and steps that are counted.

Everything that evaluates code calls itself through `Memo`, however the code of a project goes round in
circles. So no project can make it go too deep or on for too long, and no mistake in it ends a run.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, cast

from findspot.core.errors import FindspotError
from findspot.core.sqlite import Error

_log = logging.getLogger(__name__)

T = TypeVar("T")
Work = TypeVar("Work", bound=Callable[..., Any])

MAX_DEPTH = 100
"""Steps within steps; each takes up to five calls of Python, which allows 1,000."""

MAX_STEPS = 20_000
"""Steps for one reference."""

MOST_STEPS = 400_000
"""Steps for one file, or for one question, after which no other is begun."""

NOT_OURS = (FindspotError, Error, OSError, MemoryError)
"""What the index or the system says: it is no mistake in the evaluation of code."""


_UNKNOWN = object()
_NO_CIRCLE = sys.maxsize


class _LimitError(Exception):
    """A question goes too deep, or on for too long."""


def remembered(otherwise: Any) -> Callable[[Work], Work]:
    """Remember what a method returns in the `memo` of its object, by what it is given: see `Memo.once`."""

    def of(work: Work) -> Work:
        @wraps(work)
        def once(self: Any, *given: Any) -> Any:
            return self.memo.once((work, *given), otherwise, work, self, *given)

        return cast(Work, once)

    return of


class Memo:
    """Remembers whole answers, recognises circles, and gives up a question that goes on for too long."""

    def __init__(self, known: dict[Any, Any]) -> None:
        """Keep finished answers in `known`, which other threads may share."""
        self._known = known
        self._running: dict[Hashable, int] = {}
        """What is being worked out, by how much else it stands inside of."""
        self._parts: dict[Hashable, tuple[Any, int]] = {}
        """Answers that a circle cut short, and where it began: they hold until that is answered."""
        self._circle = _NO_CIRCLE
        """Where the outermost circle began that what is being worked out goes round in."""
        self._depth = self._steps = self._spent = 0
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

    def once(self, key: Hashable, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        """Return what `work` makes of what is given, or `otherwise` where it is being worked out already."""
        known = self._known.get(key, _UNKNOWN)
        if known is not _UNKNOWN:
            return cast(T, known)
        if key in self._running:
            self._circle = min(self._circle, self._running[key])
            return otherwise
        if key in self._parts:
            answer, circle = self._parts[key]
            self._circle = min(self._circle, circle)
            return cast(T, answer)
        place, around = len(self._running), self._circle
        self._running[key], self._circle = place, _NO_CIRCLE
        try:
            return self._keep(key, place, otherwise, work, *given)
        finally:
            del self._running[key]
            self._circle = min(around, self._circle)

    def _keep(self, key: Hashable, place: int, otherwise: T, work: Callable[..., T], *given: Any) -> T:
        given_up, parts = self.given_up, len(self._parts)
        answer = self.step(otherwise, work, *given)
        if self._circle >= place:  # nothing around it is waited for
            self._circle = _NO_CIRCLE
            while len(self._parts) > parts:
                self._parts.popitem()
            if self.given_up == given_up:
                self._known[key] = answer
        elif self.given_up == given_up:
            self._parts[key] = answer, self._circle
        return answer
