"""Logging: to standard error and to rotating files, never to standard output.

Logs carry counts, durations and paths; never source text.
"""

from __future__ import annotations

import contextlib
import io
import logging
import logging.handlers
import os
import re
import sys
from pathlib import Path
from typing import Any

from findspot.core.errors import FindspotError
from findspot.core.files import PRIVATE_FILE_MODE, make_private_dir

LOGGER_NAME = "findspot"
LOG_FILE = "findspot.log"
_MAX_BYTES = 1_000_000
_BACKUPS = 3
_FORMAT = "%(asctime)s %(levelname)s %(name)s [%(process)d] %(message)s"
RECORD = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ (?P<level>[A-Z]+) (?P<part>[\w.]+) (?P<message>.*)"
)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def get_logger(part: str) -> logging.Logger:
    return logging.getLogger(f"{LOGGER_NAME}.{part}")


def warn_on_stderr(*, but_of: str = "") -> None:
    """Send warnings to standard error, but those of one part; called by a program, never by the library."""
    logger = logging.getLogger(LOGGER_NAME)
    if any(type(handler) is logging.StreamHandler for handler in logger.handlers):
        return
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(_OneLine("findspot: %(levelname)s: %(message)s"))
    terminal.setLevel("WARNING")
    terminal.addFilter(lambda record: record.name != f"{LOGGER_NAME}.{but_of}")
    logger.addHandler(terminal)
    logger.setLevel(min(handler.level for handler in logger.handlers))


def keep_log(folder: Path, level: str) -> None:
    """Log to standard error, and from `level` on to a file in `folder`, where one can be written."""
    warn_on_stderr()
    with contextlib.suppress(OSError, FindspotError):
        make_private_dir(folder)
        handler = _SharedLog(folder / LOG_FILE)
        handler.setLevel(level.upper())
        logger = logging.getLogger(LOGGER_NAME)
        logger.addHandler(handler)
        logger.setLevel(min(logger.level, handler.level))


class _SharedLog(logging.handlers.RotatingFileHandler):
    """A log that several processes may append to, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True)
        self.setFormatter(_OneLine(_FORMAT))

    def _open(self) -> io.TextIOWrapper:
        handle = os.open(self.baseFilename, _APPEND, PRIVATE_FILE_MODE)
        return os.fdopen(handle, "a", encoding=self.encoding, errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Go on without the record: a full disk must not fill standard error as well."""


class _OneLine(logging.Formatter):
    """Records that cannot begin a line of their own or move a cursor, whatever a file's name holds."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        record.message = _visible(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return "\n".join(map(_visible, super().formatException(ei).split("\n")))


def _visible(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def log_file(home: Path) -> Path:
    return home / "logs" / LOG_FILE


def last_lines(current: Path, count: int) -> list[str]:
    """Return the last lines of a log, older files included if needed."""
    lines: list[str] = []
    older = [current.with_name(f"{current.name}.{number}") for number in range(1, _BACKUPS + 1)]
    for path in (current, *older):
        if len(lines) >= count or not path.is_file():
            break
        lines = path.read_text("utf-8", "replace").splitlines() + lines
    return lines[-count:]


def record_object(line: str) -> dict[str, str]:
    """Return a line of the log as an object; one that continues a record has only a message."""
    record = RECORD.match(line)
    return record.groupdict() if record else {"message": line}
