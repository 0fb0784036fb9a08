"""The log that servers keep: one line per record, rotated, shared, for its owner only."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.core import log


@pytest.fixture
def logger(tmp_path: Path) -> Iterator[logging.Logger]:
    """The program's logger, as a server leaves it, with a log of its own."""
    logger = logging.getLogger(log.LOGGER_NAME)
    before, level = list(logger.handlers), logger.level
    log.keep_log(tmp_path / "logs", "info")
    yield logger
    for handler in [handler for handler in logger.handlers if handler not in before]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def lines(tmp_path: Path, name: str = log.LOG_FILE) -> list[str]:
    return (tmp_path / "logs" / name).read_text("utf-8").splitlines()


def test_the_level_decides_what_is_kept(tmp_path: Path, logger: logging.Logger) -> None:
    log.get_logger("part").debug("detail")
    log.get_logger("part").info("event")
    (line,) = lines(tmp_path)
    assert " INFO findspot.part [" in line
    assert line.endswith("] event")


def test_no_name_begins_a_line_of_its_own(tmp_path: Path, logger: logging.Logger) -> None:
    name = "a\n2026-01-01 00:00:00,000 ERROR findspot \x1b[31m\udcff"
    record = logging.LogRecord("findspot.part", logging.INFO, __file__, 1, "left out: %s", (name,), None)
    logger.handlers[-1].handle(record)  # pytest would report it, and cannot send all of its characters
    (line,) = lines(tmp_path)
    assert line.endswith(r"left out: a\n2026-01-01 00:00:00,000 ERROR findspot \x1b[31m\udcff")


def test_it_is_rotated(tmp_path: Path, logger: logging.Logger) -> None:
    for number in range(60):
        log.get_logger("part").info("%d %s", number, "x" * 100_000)
    names = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert names == ["findspot.log", "findspot.log.1", "findspot.log.2", "findspot.log.3"]
    assert all((tmp_path / "logs" / name).stat().st_size <= 1_000_000 for name in names)
    assert " 59 xxx" in lines(tmp_path)[-1]


def test_a_folder_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log.keep_log(tmp_path / "file" / "logs", "info")
    log.get_logger("part").info("event")
