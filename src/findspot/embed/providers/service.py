"""The program of an embedding service, started when nobody answers and ended with its user."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import threading
import time
from collections.abc import Callable

from findspot.core.errors import ProviderError
from findspot.core.log import get_logger
from findspot.core.platforms import NO_WINDOW
from findspot.core.programs import resolved

_log = get_logger("service")

START_TIMEOUT_S = 60.0
"""A service may have to load a model before it answers."""

_POLL_S = 0.1
_END_S = 5.0
_HINT = "Check `embedding.command`, or start the service yourself."


class ServiceProgram:
    """At most one running process of a command; safe to use from several threads."""

    def __init__(self, command: str, start_timeout_s: float = START_TIMEOUT_S) -> None:
        self._command = shlex.split(command)
        self._start_timeout_s = start_timeout_s
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False

    def ensure(self, check: Callable[[], None]) -> None:
        """Return once `check` passes, starting the program where nobody else runs the service."""
        with self._guard:
            if self._ready and (self._process is None or self._process.poll() is None):
                return
            self._ready = False
            with contextlib.suppress(ProviderError):
                check()
                self._ready = True
                return
            self._start()
            self._wait(check)
            self._ready = True

    def close(self) -> None:
        """End the program, if it was started here."""
        with self._guard:
            process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                resolved(self._command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # ours belongs to a protocol, or to a user's answer
                stderr=subprocess.DEVNULL,
                creationflags=NO_WINDOW,
            )
        except (OSError, ValueError, IndexError) as error:
            raise ProviderError(
                f"'{shlex.join(self._command)}' cannot be started: {error}", hint=_HINT
            ) from error
        _log.info("started %s", self._command[0])

    def _wait(self, check: Callable[[], None]) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_timeout_s
        while True:
            try:
                check()
                return
            except ProviderError as error:
                failure = error
            try:
                status = self._process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise failure from None
                continue
            raise ProviderError(f"'{self._command[0]}' ended with status {status}", hint=_HINT)
