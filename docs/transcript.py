"""Records how it begins, in the README: `python docs/transcript.py` clones, installs, indexes and asks.

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
README = ROOT / "README.md"
BEGIN, END = "<!-- transcript:begin -->\n\n```text\n", "```\n\n<!-- transcript:end -->"
_PACKAGE_SOURCES = re.compile(r"^WARNING: .*\n", re.MULTILINE)
"""What pip remarks about the sources of packages that a machine has configured."""
CLONE, TRY = "git clone … findspot", "cd findspot && make try"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = said_by(f"git clone file://{ROOT} findspot", folder)
        block = f"$ {CLONE}\n{said}$ {TRY}\n{said_by(TRY, folder)}"
    README.write_text(replaced(README.read_text("utf-8"), block), "utf-8")


def said_by(command: str, folder: str) -> str:
    """Everything that a command prints in a folder, which is shown as a home."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    environment |= {"FINDSPOT_HOME": f"{folder}/.mcp/search", "PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=folder, env=environment, shell=True, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return _PACKAGE_SOURCES.sub("", done.stdout.replace(os.path.realpath(folder), "~").replace(folder, "~"))


def replaced(page: str, block: str) -> str:
    """The page with another block between the markers."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}{block.rstrip()}\n{END}{after}"


def recorded(page: str) -> str:
    """The block between the markers."""
    return page.partition(BEGIN)[2].partition(END)[0]


def comparable(text: str) -> str:
    """A transcript without what differs between two runs: numbers, and how much there is of what."""
    text = re.sub(r"^( {2}(?:holds|languages|skipped|index|ask) +).*$", r"\1…", text, flags=re.MULTILINE)
    text = re.sub(r"^( +)findspot .*$", r"\1…", text, flags=re.MULTILINE)
    text = re.sub(r"^\S+(?=: .* indexed in )", "…", text, flags=re.MULTILINE)
    text = re.sub(r"(?:\d+m )?\d[\d.,]*(?: (?:s|ms|min)\b)?", "0", text)
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


if __name__ == "__main__":
    main()
