"""Draws the pictures of the terminal: `python docs/pictures/terminal.py`.

The real program runs on a pseudo-terminal, over this repository checked out anew; what it prints is
drawn as it is, colours and all.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLUMNS, ROWS = 112, 26
SHOWN = {
    "terminal-search": ["search", "how is a file recognised as binary", "--limit", "1"],
}
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich has them fetched from elsewhere; a picture asks nobody."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "findspot"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", project], check=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FINDSPOT_")} | {
            "FINDSPOT_HOME": f"{folder}/home", "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS), "LINES": str(ROWS), "PAGER": "cat",
        }  # fmt: skip
        environment.pop("NO_COLOR", None)
        printed(["index", "--yes"], project, environment)
        for name, command in SHOWN.items():
            draw(name, command, printed(command, project, environment))


def printed(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What the program prints on a terminal of that size."""
    with running(command, folder, environment) as (process, terminal):
        said = b"".join(iter(lambda: _read(terminal), b""))
    if process.returncode:
        raise SystemExit(said.decode("utf-8", "replace"))
    return said.decode("utf-8").replace("\r\n", "\n")


@contextmanager
def running(
    command: list[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program on a terminal of its own, and our end of that."""
    terminal, inner = pty.openpty()
    termios.tcsetwinsize(inner, (ROWS, COLUMNS))
    with subprocess.Popen(
        [sys.executable, "-m", "findspot", *command],
        cwd=folder, env=environment, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(inner)
        yield process, terminal
        process.wait()
    os.close(terminal)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that nobody writes any more
        return b""


def draw(name: str, command: list[str], said: str) -> None:
    """A picture of a command and what it printed."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    words = " ".join(f'"{word}"' if " " in word else word for word in command)
    console.print(Text(f"$ findspot {words}".rstrip(), style="bold"))
    console.print(Text.from_ansi(said.rstrip("\n")))
    picture = console.export_svg(title="findspot", unique_id=name)
    (HERE / f"{name}.svg").write_text(_WEB_FONTS.sub("", picture), "utf-8")


if __name__ == "__main__":
    main()
