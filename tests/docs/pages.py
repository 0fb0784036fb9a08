"""The pages of documentation, what stands in them, and a place to run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]

TIMEOUT_S = 120

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page that say they are of a language."""
    return [text for said, text in _BLOCK.findall(page.read_text("utf-8")) if said == language]


def anchors(page: Path) -> set[str]:
    """What a link can lead to: headings as hosting sites spell them."""
    prose = _BLOCK.sub("", page.read_text("utf-8"))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose))
    return {heading.replace(" ", "-") for heading in words}


def links_to_headings(page: Path) -> list[tuple[Path, str]]:
    """The page and the heading of each link that names one."""
    found = _LINK.findall(page.read_text("utf-8"))
    return [(page.parent / path if path else page, heading) for path, heading in found]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with a home there and nothing to read."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FINDSPOT_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | {"FINDSPOT_HOME": str(folder / "home"), "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=TIMEOUT_S,
    )
