"""The writer lock, between threads and between real processes."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from findspot.core.errors import FindspotError, IndexBusyError
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
            assert owner(lock) == f"this process ({os.getpid()})"
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
            with writer_lock(lock, wait_s=180):
                owners.append(owner(lock))

        waiting = threading.Thread(target=wait)
        waiting.start()
        holder.communicate("")
        waiting.join()
    assert owners == [f"this process ({os.getpid()})"]


def test_one_thread_at_a_time(lock: Path) -> None:
    with writer_lock(lock):
        assert is_locked(lock)
        with pytest.raises(IndexBusyError, match="Another process"), writer_lock(lock):
            pass
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


def test_a_lock_that_was_deleted_while_it_was_waited_for_is_none(lock: Path) -> None:
    """Whoever deletes an index deletes its lock: one who waited must not win what is gone."""
    inside, done = threading.Event(), threading.Event()

    def wait() -> None:
        with writer_lock(lock, wait_s=180):
            inside.set()
            done.wait(180)

    with other_process(lock) as holder:
        waiting = threading.Thread(target=wait)
        waiting.start()
        shutil.rmtree(lock.parent)
        assert inside.wait(180), "the one who waits makes the lock anew"
        assert holder.poll() is None
        third = subprocess.run(
            [sys.executable, "-c", HOLD, str(lock)], capture_output=True, text=True, check=False, input=""
        )
        assert "IndexBusyError" in third.stderr, "and the others see that it is held"
        done.set()
        waiting.join()


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_one_that_can_only_be_read_can_be_looked_at(lock: Path) -> None:
    with other_process(lock) as holder:
        lock.chmod(0o400)
        assert subprocess.run([sys.executable, "-c", LOOK, str(lock)], check=False).returncode == 1
        holder.communicate("")
        assert subprocess.run([sys.executable, "-c", LOOK, str(lock)], check=False).returncode == 0


LOOK = """
import os, sys, tempfile
from pathlib import Path
from findspot.core.locks import is_locked
path = Path(sys.argv[1])
if os.getuid() == 0:
    os.chown(path, 65534, 65534)
    os.chown(path.parent, 65534, 65534)
    temporary = Path(tempfile.gettempdir())
    for above in path.parents[1:]:
        if above.is_relative_to(temporary) and above != temporary:
            os.chmod(above, 0o755)
    os.setuid(65534)
try:
    path.open("r+")
    sys.exit("it can be written to")
except PermissionError:
    pass
sys.exit(is_locked(path))
"""


def test_a_file_system_without_locks_is_not_a_busy_index(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("findspot.core.locks._lock", refuse)
    with pytest.raises(FindspotError, match="without locks") as caught, writer_lock(lock):
        pass
    assert "FINDSPOT_HOME" in caught.value.hint
