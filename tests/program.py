"""The installed command in its own process and home, with the defaults that users get."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Any

import pytest

import warm_start
from findspot import Project
from findspot.serve.cli.app import run
from warm_start import INSTALLED, STARTS_NEW

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
            project = Project(root)
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


class InThisProcess(Program):
    """The same command line without a process of its own, which takes several times as long.

    What needs a process of its own still gets one: streams and signals, terminals, and variables that Python
    reads when it starts.
    """

    def __call__(self, *arguments: str | Path, cwd: Path | None = None, **popen: Any) -> Outcome:
        environment = popen.get("env", {})
        is_plain = not popen.keys() - {"env"} and not any(name.startswith("PYTHON") for name in environment)
        if STARTS_NEW or not is_plain:
            return super().__call__(*arguments, cwd=cwd, **popen)
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("FINDSPOT_")]:
                patch.delenv(name)
            for name, value in ({"FINDSPOT_HOME": str(self.home)} | environment).items():
                patch.setenv(name, value)
            patch.chdir(cwd or self.cwd)
            patch.setattr(sys, "stdin", io.StringIO())
            with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
                code = run([os.fspath(argument) for argument in arguments])
        logging.getLogger("findspot").handlers.clear()  # they print to these streams
        return Outcome(code, *(stream.buffer.getvalue().decode() for stream in streams))  # type: ignore[attr-defined]


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
