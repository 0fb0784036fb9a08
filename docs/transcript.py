"""Record `make try` in the first steps: `python docs/transcript.py` clones, installs, indexes and asks.

The clone is of the last commit, in an empty folder that is shown as `~`; its index is kept there too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "quickstart.md"
BEGIN, END = "<!-- transcript:begin -->\n\n```text\n", "```\n\n<!-- transcript:end -->"
_LEFT_OUT = re.compile(r"^(?:WARNING: .*|Updating files: .*)\n", re.MULTILINE)
"""What pip says about the package sources of a machine, and git's progress on a slow one."""
_DURATION = re.compile(r"(?<=\bin )(?:\d+m )?[\d.]+ ?m?s$", re.MULTILINE)
"""How long something took, which depends on what else the machine does."""
CLONE, TRY = "git clone … findspot", "cd findspot && make try"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = said_by(f"git clone file://{ROOT} findspot", folder)
        block = f"$ {CLONE}\n{said}$ {TRY}\n{said_by(TRY, folder)}"
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), block), "utf-8")


def said_by(command: str, folder: str) -> str:
    """Return what a command prints in a folder, which is shown as a home."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    environment |= {"FINDSPOT_HOME": f"{folder}/.mcp/search", "PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=folder, env=environment, shell=True, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    text = done.stdout.replace("\r", "\n").replace(os.path.realpath(folder), "~").replace(folder, "~")
    return _DURATION.sub("…", _LEFT_OUT.sub("", text))


def replaced(page: str, block: str) -> str:
    """Return the page with another block between the markers."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}{block.rstrip()}\n{END}{after}"


def recorded(page: str) -> str:
    """Return the block between the markers."""
    return page.partition(BEGIN)[2].partition(END)[0]


def comparable(text: str) -> str:
    """Return a transcript without what differs between two runs: numbers, and how much there is of what."""
    text = _DURATION.sub("…", text)
    text = re.sub(r"^( {2}(?:holds|languages|skipped|index|ask) +).*$", r"\1…", text, flags=re.MULTILINE)
    text = re.sub(r"^( +)findspot .*$", r"\1…", text, flags=re.MULTILINE)
    text = re.sub(r"^\S+(?=: .* indexed in )", "…", text, flags=re.MULTILINE)
    text = re.sub(r"(?:\d+m )?\d[\d.,]*(?: (?:s|ms|min)\b)?", "0", text)
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


if __name__ == "__main__":
    main()
