"""The writer lock, between threads and between real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from findspot.core.errors import IndexBusyError
from findspot.core.locks import is_locked, owner, writer_lock

HOLD = """
import sys
from pathlib import Path
from findspot.core.locks import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "index" / "writer.lock"


def test_one_process_at_a_time(lock: Path) -> None:
    with other_process(lock) as holder:
        assert is_locked(lock)
        with pytest.raises(IndexBusyError) as caught, writer_lock(lock):
            pass
        assert f"process {holder.pid}" in caught.value.developer_message
        holder.communicate("")
        with writer_lock(lock):
            assert owner(lock) == f"process {os.getpid()}"
    assert not is_locked(lock)


def test_a_dead_owner_blocks_nobody(lock: Path) -> None:
    with other_process(lock) as holder:
        holder.kill()
        holder.wait()
        assert owner(lock) == f"process {holder.pid}", "its name is still there"
        assert not is_locked(lock)
        with writer_lock(lock):
            assert is_locked(lock)


def test_one_who_waits_gets_it(lock: Path) -> None:
    with other_process(lock) as holder:
        owners: list[str | None] = []

        def wait() -> None:
            with writer_lock(lock, wait_s=30):
                owners.append(owner(lock))

        waiting = threading.Thread(target=wait)
        waiting.start()
        holder.communicate("")
        waiting.join()
    assert owners == [f"process {os.getpid()}"]


def test_one_thread_at_a_time(lock: Path) -> None:
    with writer_lock(lock):
        assert is_locked(lock)
        with pytest.raises(IndexBusyError, match="Another process"), writer_lock(lock):
            pass
    with writer_lock(lock):
        pass


def test_an_error_inside_releases_it(lock: Path) -> None:
    with pytest.raises(ZeroDivisionError), writer_lock(lock):
        raise ZeroDivisionError
    assert not is_locked(lock)
    with writer_lock(lock):
        pass


def test_looking_does_not_make_or_take_it(lock: Path) -> None:
    assert not is_locked(lock)
    assert not lock.exists()
    assert owner(lock) is None
    with writer_lock(lock):
        pass
    assert not is_locked(lock)
    assert not is_locked(lock)
