"""Logging: to standard error and to rotating files, never to standard output.

Logs carry counts, durations and paths; never source text.
"""

from __future__ import annotations

import logging
import logging.handlers
import sys
from pathlib import Path

LOGGER_NAME = "findspot"
_MAX_BYTES = 1_000_000
_BACKUPS = 3


def get_logger(part: str) -> logging.Logger:
    return logging.getLogger(f"{LOGGER_NAME}.{part}")


def configure(level: str = "WARNING") -> None:
    """Send warnings to standard error; called once by a program, never by the library."""
    logger = logging.getLogger(LOGGER_NAME)
    logger.setLevel(level)
    if not any(isinstance(h, logging.StreamHandler) for h in logger.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("findspot: %(levelname)s: %(message)s"))
        logger.addHandler(handler)


def log_to(folder: Path) -> logging.Handler:
    """Also write to `folder/findspot.log`, rotated; returns the handler for removal."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(
        folder / "findspot.log", maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger(LOGGER_NAME).addHandler(handler)
    return handler
