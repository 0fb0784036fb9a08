"""Progress and cancellation of long-running work."""

from __future__ import annotations

import threading
from collections.abc import Callable

from findspot.core.errors import CancelledError
from findspot.core.model import Progress

ProgressSink = Callable[[Progress], None]
"""Called from the working thread, often; a sink decides itself what to show."""


def ignore_progress(_progress: Progress) -> None:
    """Ignore progress."""


class CancelToken:
    """A flag set by whoever wants work to stop, checked by the work between its steps."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.interrupted = False

    def cancel(self) -> None:
        """Stop the work because nobody wants it any more."""
        self._event.set()

    def interrupt(self) -> None:
        """Stop the work because its process ends: it is still wanted."""
        self.interrupted = True
        self._event.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait to be cancelled; False when the time is over before."""
        return self._event.wait(timeout_s)

    @property
    def cancelled(self) -> bool:
        """Whether the work is to stop."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `CancelledError` once cancelled."""
        if self._event.is_set():
            raise CancelledError
