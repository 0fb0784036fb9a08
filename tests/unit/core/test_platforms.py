"""What Windows and macOS do differently, as far as it can be made to happen elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from findspot.core import files
from findspot.core.platforms import NATIVE_VARIABLE, as_stored, native, run_loop

MSVCRT = '''
"""Locks of bytes by place, as Windows has them, on top of those of POSIX."""
import fcntl, os
LK_NBLCK = 2
def locking(fd, mode, count):
    assert mode == LK_NBLCK
    assert os.lseek(fd, 0, os.SEEK_CUR) > 1_000_000, "the content must stay readable for others"
    writable = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE  # Windows also locks what one only reads
    kind = fcntl.LOCK_EX if writable else fcntl.LOCK_SH
    fcntl.lockf(fd, kind | fcntl.LOCK_NB, count, 0, os.SEEK_CUR)
'''


def test_the_compiled_part_is_used() -> None:
    """Where it can be compiled, the tests that compare it with Python are not skipped for want of it."""
    if os.environ.get(NATIVE_VARIABLE) != "off" and shutil.which(os.environ.get("CC", "cc")):
        assert native() is not None, "see what `pip install -v -e .` says, or set FINDSPOT_NATIVE=off"


class TestCase:
    """Where any case leads to the same file, an index must be found under one spelling."""

    TREE: ClassVar = {
        "/": ["Users"],
        "/Users": ["Me", "me.txt"],
        "/Users/Me": ["Code"],
        "/Users/Me/Code": ["Web", "web"],
    }

    def names(self, folder: Path) -> list[str]:
        if str(folder) not in self.TREE:
            raise PermissionError(folder)
        return self.TREE[str(folder)]

    @pytest.mark.parametrize(
        ("typed", "stored"),
        [
            ("/users/ME/code", "/Users/Me/Code"),
            ("/Users/Me/Code", "/Users/Me/Code"),
            ("/users/me/code/web", "/Users/Me/Code/web"),
            ("/users/me/code/WEB", "/Users/Me/Code/Web"),
            ("/users/me/code/web/Closed/to us", "/Users/Me/Code/web/Closed/to us"),
            ("/", "/"),
        ],
    )
    def test_one_spelling(self, typed: str, stored: str) -> None:
        assert as_stored(Path(typed), self.names) == Path(stored)

    def test_a_real_folder_keeps_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "Mixed").mkdir()
        assert as_stored(tmp_path / "Mixed") == tmp_path / "Mixed"
        assert as_stored(tmp_path / "mixed") == tmp_path / "Mixed"


class TestReplacing:
    """Windows refuses to replace a file that somebody reads."""

    def test_a_reader_is_waited_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        refusals, real = [1, 2, 3], os.replace

        def replace(source: str, target: str, **folders: Any) -> None:
            if refusals:
                refusals.pop()
                raise PermissionError(13, "sharing violation")
            real(source, target, **folders)

        monkeypatch.setattr(files, "_REPLACE_WAITS_S", (0.0,) * 4)
        monkeypatch.setattr(os, "replace", replace)
        files.write_atomic(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
        assert list(tmp_path.iterdir()) == [tmp_path / "a"]

    def test_but_not_for_ever(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def replace(source: str, target: str, **folders: Any) -> None:
            raise PermissionError(13, "sharing violation")

        monkeypatch.setattr(files, "_REPLACE_WAITS_S", (0.0,) * 2)
        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(files.PermissionDeniedError):
            files.write_atomic(tmp_path / "a", b"new")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="has the real thing")
def test_the_locks_of_windows(tmp_path: Path) -> None:
    """The code that only Windows runs, with its module for locks made of what is here."""
    (tmp_path / "msvcrt.py").write_text(MSVCRT)
    script = textwrap.dedent(
        """
        import sys, subprocess
        sys.path.insert(0, sys.argv[1])
        posix = sys.platform
        import tempfile, subprocess, shutil, pathlib, random  # they look at the platform too
        sys.platform = "win32"
        from findspot.core import locks
        sys.platform = posix
        from findspot.core.errors import IndexBusyError
        assert "msvcrt" in sys.modules
        path = pathlib.Path(sys.argv[1], "writer.lock")
        if len(sys.argv) > 2:
            try:
                with locks.writer_lock(path):
                    print("got it")
            except IndexBusyError as busy:
                print(busy.developer_message, locks.is_locked(path))
        else:
            again = [sys.executable, "-c", SOURCE, sys.argv[1], "2"]
            with locks.writer_lock(path):
                print(subprocess.run(again, capture_output=True, text=True).stdout.strip())
            print(subprocess.run(again, capture_output=True, text=True).stdout.strip())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", f"SOURCE = {script!r}\n{script}", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("INDEX_BUSY: writer lock held by process ")
    assert first.endswith(" True")
    assert second == "got it"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no signals for threads")
def test_a_signal_ends_a_loop_that_does_not_see_it_come() -> None:
    """Ctrl-C was lost in the moment when a login began to wait: only the next event showed it."""
    waits, other_events = threading.Event(), list[str]()

    def interrupt() -> None:
        waits.wait()
        signal.pthread_kill(
            threading.get_ident(), signal.SIGINT
        )  # a signal to a thread ends no wait of another

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=interrupt).start()
        loop.call_soon(waits.set)
        other_event = loop.create_future()
        loop.call_later(20, other_event.set_result, None)
        await other_event
        other_events.append("too late")

    with pytest.raises(KeyboardInterrupt):
        run_loop(wait)
    assert not other_events
