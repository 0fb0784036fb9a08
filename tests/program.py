"""The installed command in its own process and home, with the defaults that users get."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Any

import pytest

import warm_start
from kept_workers import open_project
from warm_start import INSTALLED

TIMEOUT_S = 180


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Program:
    """`findspot` with its own home; `cwd` is where it is run."""

    home: Path
    cwd: Path

    def start(self, *arguments: str | Path, cwd: Path | None = None, **popen: Any) -> subprocess.Popen[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FINDSPOT_")}
        own = {"FINDSPOT_HOME": str(self.home), "TERM": "xterm", "PAGER": ""}
        own["FINDSPOT_IN_PROCESS"] = "1"
        environment |= own | popen.pop("env", {})
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | popen
        command = [INSTALLED, *map(str, arguments)]
        return warm_start.Popen(
            command,
            cwd=cwd or self.cwd,
            env=environment,
            encoding="utf-8",
            errors="surrogateescape",
            **streams,
        )

    def __call__(self, *arguments: str | Path, cwd: Path | None = None, **popen: Any) -> Outcome:
        with self.start(*arguments, cwd=cwd, **popen) as process:
            out, err = process.communicate(timeout=TIMEOUT_S)
        return Outcome(process.returncode, out, err)

    def make_index(self, root: Path) -> None:
        """Index a folder for a test of something else; the command takes five times as long."""
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("FINDSPOT_")]:
                patch.delenv(name)
            patch.setenv("FINDSPOT_HOME", str(self.home))
            project = open_project(root)
            try:
                project.update()
            finally:
                project.close()

    def on_terminal(
        self, *arguments: str | Path, answers: dict[str, str], whole: bool = False, **popen: Any
    ) -> Outcome:
        """Run with input and standard error on a terminal, answering each question when it appears.

        With `whole`, standard output is on it as well.
        """
        pty = pytest.importorskip("pty", reason="Windows has no such terminals", exc_type=ImportError)
        master, slave = pty.openpty()
        popen |= {"stdin": slave, "stderr": slave, "start_new_session": True}
        with self.start(*arguments, **popen, **({"stdout": slave} if whole else {})) as process:
            os.close(slave)
            shown = _converse(master, answers)
            out, _ = process.communicate(timeout=TIMEOUT_S)
        os.close(master)
        return Outcome(process.returncode, out or "", shown)

    def interrupted(self, number: signal.Signals, *arguments: str | Path, **popen: Any) -> Outcome:
        """Run until the first line on standard error, then send a signal to the whole group."""
        with self.start(*arguments, start_new_session=True, **popen) as process:
            assert process.stderr is not None
            first = process.stderr.readline()
            os.killpg(process.pid, number)
            out, err = process.communicate(timeout=TIMEOUT_S)
        return Outcome(process.returncode, out, first + err)


def _converse(master: int, answers: dict[str, str]) -> str:
    """Read the terminal to its end, typing an answer once its question is there."""
    waiting = list(answers.items())
    shown, unanswered = "", ""
    while True:
        if not select([master], (), (), TIMEOUT_S)[0]:
            raise AssertionError(f"waits for {waiting!r}; the terminal shows {shown!r}")
        try:
            piece = os.read(master, 4096).decode()
        except OSError:  # how Linux says that the other end is closed
            piece = ""
        if not piece:
            assert not waiting, f"never asked {waiting[0][0]!r}; the terminal shows {shown!r}"
            return shown
        shown, unanswered = shown + piece, unanswered + piece
        while waiting and waiting[0][0] in unanswered:  # the next one may have come with it
            asked, answer = waiting.pop(0)
            unanswered = unanswered.partition(asked)[2]
            os.write(master, answer.encode())
