"""Which files of a project without an index may answer a question: those that hold its words."""

from __future__ import annotations

import math
import os
import subprocess
from collections import defaultdict
from pathlib import Path

from findspot.search.ripgrep import ripgrep_binary
from findspot.text.tokens import STOP_WORDS, parts

_MOST_FILES, _MOST_WORDS = 200, 8
_LOOK_S = 0.7
"""What was found until then decides: the question waits."""

_PROSE = (".md", ".rst", ".txt", ".html", ".po", ".json", ".svg")

_OPTIONS = (
    "--no-config", "--no-messages", "--only-matching", "--ignore-case", "--fixed-strings", "--with-filename",
    "--no-heading", "--no-line-number", "--null", "--max-count=20", "--max-filesize=1M", "--max-columns=200",
)  # fmt: skip


def likely_files(root: Path, question: str) -> list[str]:
    """Return the paths of the files with most of a question's words, rare words first; none without words."""
    words = [word for word in dict.fromkeys(parts(question)) if len(word) > 2 and word not in STOP_WORDS]
    holding = _holding(root, [word[:-2] if len(word) > 6 else word for word in words[:_MOST_WORDS]])
    count = len(set().union(*holding.values()))
    scores: dict[str, float] = defaultdict(float)
    for stem, paths in holding.items():
        rarity = math.log(1 + count / (1 + len(paths)))
        for path in paths:
            scores[path] += rarity * (2 if stem in path.lower() else 1)
    aside = {path for path in scores if "test" in path.lower() or path.endswith(_PROSE)}
    return sorted(scores, key=lambda path: (-scores[path] / (1 + (path in aside)), path))[:_MOST_FILES]


def _holding(root: Path, stems: list[str]) -> dict[str, set[str]]:
    """Return the files that hold each beginning of a word, as far as ripgrep gets."""
    holding: dict[str, set[str]] = {stem: set() for stem in stems}
    command = [ripgrep_binary(), *_OPTIONS, *(f"--regexp={stem}" for stem in stems), "./"]
    try:
        printed = subprocess.run(
            command, check=False, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LOOK_S
        ).stdout
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
    for line in printed.splitlines():
        name, _, found = line.partition(b"\0")
        if (stem := found.strip().lower().decode("utf-8", "replace")) in holding:
            holding[stem].add(os.fsdecode(name).removeprefix("./").replace(os.sep, "/"))
    return holding
