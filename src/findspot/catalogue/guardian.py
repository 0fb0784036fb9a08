"""What ends the servers when the process that holds them was killed: a shell that waits for its end.

It reads from a pipe which process groups run. When the pipe closes, however that happens, it ends them. On
Windows the job object of each server does that.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys

from findspot.core.platforms import resolved

_SCRIPT = r"""
trap '' TERM INT HUP
groups=''
while read -r change group; do
  case $change in
    +) groups="$groups $group" ;;
    *) rest=''; for known in $groups; do [ "$known" = "$group" ] || rest="$rest $known"; done; groups=$rest ;;
  esac
done
[ -n "$groups" ] || exit 0
for signal in TERM KILL; do
  sleep 2
  for group in $groups; do kill -s $signal -- "-$group" 2>/dev/null; done
done
"""


class Guardian:
    """Is told which servers run; outlives this process only to end them."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def started(self, pid: int) -> None:
        self._groups.add(pid)
        self._tell(b"+ %d\n" % pid)

    def ended(self, pid: int) -> None:
        self._groups.discard(pid)
        self._tell(b"- %d\n" % pid)

    def check(self) -> None:
        """Replace a shell that was killed."""
        if self._groups and self._shell is not None and self._shell.poll() is not None:
            self._shell = None
            self._tell(b"")

    def close(self) -> None:
        """Let the shell end; it ends what is still running."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError):
                self._shell.stdin.close()
            self._shell.wait()

    def _tell(self, line: bytes) -> None:
        if sys.platform == "win32":
            return
        for _ in range(2):
            with contextlib.suppress(OSError):  # it was killed: tell a new one
                if self._shell is None:
                    self._shell = self._start()
                    line = b"".join(b"+ %d\n" % pid for pid in sorted(self._groups))
                assert self._shell.stdin is not None
                self._shell.stdin.write(line)
                return
            self._shell = None

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            resolved(["/bin/sh", "-c", _SCRIPT]),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
