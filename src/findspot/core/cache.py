"""Values that are kept for the next time, within a limit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class Cache:
    """Values by key; the ones used longest ago are dropped."""

    def __init__(self, most: int, size: Callable[[Any], int] = lambda _: 1) -> None:
        self._most, self._size, self._held = most, size, 0
        self._guard = threading.Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """Return a value; None where there is none."""
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        with self._guard:
            if key not in self._values:
                self._held += self._size(value)
            self._values[key] = value
            while self._held > self._most:
                self._held -= self._size(self._values.popitem(last=False)[1])
