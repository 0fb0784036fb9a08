"""Single keys from a terminal, as names: what a person pressed, whatever bytes came for it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

_SEQUENCES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down", "\x1b[H": "home", "\x1b[F": "end",
    "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace",
    "\x15": "clear", "\x17": "word", "\x10": "up", "\x0e": "down",
    "\x1b": "leave", "\x03": "leave", "\x04": "leave",
}  # fmt: skip
"""Bytes of usual terminals; Ctrl-U clears, Ctrl-W takes a word, Ctrl-P and Ctrl-N move."""

_WINDOWS = {"H": "up", "P": "down", "I": "page up", "Q": "page down", "G": "home", "O": "end"}

ReadKeys = Callable[[float | None], list[str]]
"""The keys that came within so many seconds, or the next ones however long they take."""


def named(text: str) -> list[str]:
    """Pressed keys: names of special ones, characters as they are; unknown sequences are passed over."""
    keys = []
    while text:
        known = next((s for s in sorted(_SEQUENCES, key=len, reverse=True) if text.startswith(s)), None)
        if known == "\x1b" and len(text) > 1 and text[1] in "[O":
            text = _after_sequence(text)
            continue
        if known is not None:
            keys.append(_SEQUENCES[known])
            text = text[len(known) :]
            continue
        if text[0].isprintable():
            keys.append(text[0])
        text = text[1:]
    return keys


def _after_sequence(text: str) -> str:
    """Return what follows an escape sequence that means nothing here."""
    end = next((place for place, c in enumerate(text[2:], 3) if "@" <= c <= "~"), len(text))
    return text[end:]


if sys.platform == "win32":  # pragma: no cover - exercised on Windows only

    @contextlib.contextmanager
    def reading_keys() -> Iterator[ReadKeys]:
        """Keys one by one, as the console gives them."""
        import msvcrt
        import time

        def read(timeout_s: float | None) -> list[str]:
            deadline = None if timeout_s is None else time.monotonic() + timeout_s
            while not msvcrt.kbhit():
                if deadline is not None and time.monotonic() >= deadline:
                    return []
                time.sleep(0.01)
            key = msvcrt.getwch()
            if key in ("\x00", "\xe0"):
                return [_WINDOWS[code]] if (code := msvcrt.getwch()) in _WINDOWS else []
            return named(key)

        yield read

else:

    @contextlib.contextmanager
    def reading_keys() -> Iterator[ReadKeys]:
        """Keys one by one, not echoed; the terminal is put back as it was."""
        import select
        import termios
        import tty

        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)

        def read(timeout_s: float | None) -> list[str]:
            ready, _, _ = select.select([terminal], [], [], timeout_s)
            if not ready:
                return []
            data = os.read(terminal, 1024)
            return named(data.decode("utf-8", "ignore")) if data else ["leave"]

        try:
            tty.setraw(terminal)
            yield read
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
