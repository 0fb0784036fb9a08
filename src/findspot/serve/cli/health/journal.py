"""The log that servers keep: its files, its last lines, and the records in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from findspot.core.config import home_folder

RECORD = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ (?P<level>[A-Z]+) (?P<part>[\w.]+) (?P<message>.*)"
)
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def log_file() -> Path:
    return home_folder() / "logs" / "findspot.log"


def last_lines(count: int) -> tuple[list[str], int]:
    """Return the last lines of the log, of older files too where the newest has fewer; and where it ended."""
    lines: list[str] = []
    end = 0
    current = log_file()
    older = [current.with_name(f"{current.name}.{number}") for number in range(1, 10)]
    for path in (current, *older):
        if len(lines) >= count or not path.is_file():
            break
        data = path.read_bytes()
        end = len(data) if path == current else end
        lines = data.decode("utf-8", "replace").splitlines() + lines
    return lines[-count:], end


def at_least(level: str, lines: Iterable[str]) -> list[str]:
    """Return the records of a level and above, with the lines that belong to them."""
    kept: list[str] = []
    wanted = LEVELS[LEVELS.index(level) :]
    inside = False
    for line in lines:
        record = RECORD.match(line)
        if record:
            inside = record["level"] in wanted
        if inside:
            kept.append(line)
    return kept


def record_object(line: str) -> dict[str, str]:
    """Return a line of the log as an object; one that continues a record has only a message."""
    record = RECORD.match(line)
    return record.groupdict() if record else {"message": line}
