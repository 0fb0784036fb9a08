"""The log of calls: sizes and times, newest first, bounded, for its owner only, shared by processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.catalogue import call_log
from findspot.catalogue.call_log import CallEnd, CallRecord, clear_calls, log_call, recent_calls
from findspot.core.errors import FindspotError


@pytest.fixture
def log(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    umask = os.umask(0)
    yield home / call_log.FILE_NAME
    os.umask(umask)


def call(tool: str, server: str = "files", outcome: CallEnd = CallEnd.OK) -> CallRecord:
    return CallRecord(server, tool, "a client", outcome, 12.5, 40, 2_000)


def test_calls_come_back_newest_first_and_by_server(log: Path) -> None:
    assert recent_calls(10) == []
    calls = [call("read"), call("status", "git", CallEnd.TIMED_OUT), call("write", outcome=CallEnd.REFUSED)]
    for record in calls:
        log_call(record)
    assert recent_calls(10) == calls[::-1]
    assert recent_calls(1) == [calls[2]]
    assert recent_calls(10, "git") == [calls[1]]
    assert recent_calls(10, "other") == []
    clear_calls()
    assert recent_calls(10) == []


def test_only_the_owner_can_read_the_log(log: Path) -> None:
    log_call(call("read"))
    assert [file.stat().st_mode & 0o077 for file in log.parent.glob("calls.sqlite*")] == [0, 0, 0]
    assert log.parent.stat().st_mode & 0o077 == 0


def test_the_log_is_bounded(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_log, "_TRIM", call_log._TRIM.replace(str(call_log.MAX_CALLS), "150"))
    for number in range(400):
        log_call(call(f"{number}" + "x" * 10_000))
    kept = recent_calls(1_000)
    assert (len(kept), kept[0].tool[:3], kept[-1].tool[:3]) == (150, "399", "250")
    assert {len(record.tool) for record in kept} == {200}


def test_processes_write_at_the_same_time(log: Path) -> None:
    program = (
        "import sys; from findspot.catalogue.call_log import *\n"
        "for n in range(50): log_call(CallRecord(sys.argv[1], str(n), '', CallEnd.OK, 1, 1, 1))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, name]) for name in ("a", "b", "c")]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert {name: len(recent_calls(1_000, name)) for name in "abc"} == {"a": 50, "b": 50, "c": 50}


def test_a_damaged_or_deleted_log_fails_no_call(log: Path) -> None:
    log_call(call("read"))
    for file in log.parent.glob("calls.sqlite*"):
        file.unlink()
    log_call(call("write"))
    assert [record.tool for record in recent_calls(10)] == ["write"]
    for file in log.parent.glob("calls.sqlite*"):
        file.unlink()
    log.write_bytes(b"not a database" * 100)
    log_call(call("read"))
    with pytest.raises(FindspotError, match="log of calls cannot be read") as raised:
        recent_calls(10)
    assert str(log) in raised.value.hint


def test_a_newer_kind_of_end_is_readable(log: Path) -> None:
    """A log is shared by versions: what this one does not know is a failure to it, not an error."""
    log_call(call("read"))
    with sqlite3.connect(log) as db:
        db.execute("UPDATE calls SET outcome = 'something new'")
    assert recent_calls(1)[0].outcome == CallEnd.FAILED
