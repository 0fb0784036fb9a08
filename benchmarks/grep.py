"""Compare `findspot grep` with ripgrep: the same files, the same patterns, the same lines.

    python -m benchmarks.grep FOLDER_OF_CHECKOUTS [--repositories 20] [--patterns 10]

Chooses patterns from each repository's own lines (with a fixed seed), runs `findspot grep` without an index,
and ripgrep on exactly the files that an index would hold. It prints every difference in the sets of (path,
line, text). Lines of files with masked secrets are counted apart. Both take every file for text; of a very
long line `findspot grep` shows a part, which must be in the line that ripgrep shows.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from findspot.core.config import load_settings
from findspot.core.model import Skip
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import read_file
from findspot.discover.walk import walk
from findspot.search.ripgrep import ripgrep_binary
from findspot.serve.cli.app import run

Line = tuple[str, int, str]
FLAGS: tuple[tuple[str, ...], ...] = ((), ("-i",), ("-w",), ("-F",), ("-S",))
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|r)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]{3,}")
_PART = re.compile(r" \[part of ([0-9,]+) characters\]$")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--repositories", type=int, default=20)
    parser.add_argument("--patterns", type=int, default=10)
    parser.add_argument("--most-files", type=int, default=2_500, help="larger repositories are passed over")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")  # noqa: T201
    os.environ |= {"FINDSPOT_IN_PROCESS": "1", "FINDSPOT_HOME": tempfile.mkdtemp(prefix="grep-home-")}
    asked = lines = different = masked = repositories = 0
    ours_s = theirs_s = 0.0
    for root in sorted(given.checkouts.resolve().iterdir()):
        if repositories == given.repositories:
            break
        paths, secret = _searched(root)
        if not 0 < len(paths) <= given.most_files:
            continue
        repositories += 1
        for pattern, flags in _patterns(root, paths, given.patterns):
            started = time.perf_counter()
            theirs = _ripgrep(root, paths, pattern, flags)
            between = time.perf_counter()
            ours = _findspot(root, pattern, flags)
            theirs_s, ours_s = theirs_s + between - started, ours_s + time.perf_counter() - between
            ours = _whole(ours, theirs)
            apart = {line for line in theirs ^ ours if line[0] in secret}
            asked, lines, masked = asked + 1, lines + len(theirs), masked + len(apart)
            for line in sorted((theirs ^ ours) - apart):
                different += 1
                which = "only ripgrep" if line in theirs else "only findspot"
                print(f"{root.name} {flags} {pattern!r}: {which}: {str(line)[:200]}")  # noqa: T201
    print(  # noqa: T201
        f"{repositories} repositories, {asked} patterns, {lines} lines: {different} differ, {masked} in "
        f"files with masked secrets; {ours_s / asked:.2f} s a pattern, ripgrep {theirs_s / asked:.2f} s"
    )
    sys.exit(bool(different))


def _searched(root: Path) -> tuple[list[str], set[str]]:
    """Return the files that an index holds or will hold, and those of them that have masked secrets."""
    settings = load_settings().discover
    paths, secret = [], set()
    for file in walk(root, settings).files:
        data = read_file(root, file, settings.max_file_bytes)
        if isinstance(data, Skip) or isinstance(text := readable_text(file.path, data, "mask"), Skip):
            continue
        paths.append(file.path)
        if text != readable_text(file.path, data, "off"):
            secret.add(file.path)
    return paths, secret


def _patterns(root: Path, paths: list[str], count: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return names from the repository's own lines, some of them as expressions."""
    chance = random.Random(7)
    found: list[tuple[str, tuple[str, ...]]] = []
    while len(found) < count:
        text = (root / chance.choice(paths)).read_bytes().decode("utf-8", "replace")
        names = _NAME.findall(text)
        if not names:
            continue
        name, other = chance.choice(names), chance.choice(names)
        forms = (name, f"{name}|{other}", rf"\b{name[:4]}\w+\(", f"^\\s*{name}", f"{name}.*{other[:3]}")
        flags = chance.choice(FLAGS)
        found.append((name if flags == ("-F",) else chance.choice(forms), flags))
    return found


def _ripgrep(root: Path, paths: list[str], pattern: str, flags: tuple[str, ...]) -> set[Line]:
    found: set[Line] = set()
    for first in range(0, len(paths), 500):
        done = subprocess.run(
            [ripgrep_binary(), "--no-config", "--no-messages", "--no-heading", "--with-filename",
             "--line-number", "--color=never", "--text", *flags,
             "-e", pattern, "--", *paths[first : first + 500]],
            cwd=root, capture_output=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found |= _lines(done.stdout)
    return found


def _findspot(root: Path, pattern: str, flags: tuple[str, ...]) -> set[Line]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run(["grep", *flags, "-e", pattern, "--project", str(root)])
    found = _lines(printed.getvalue().encode())
    if code != (0 if found else 1):
        sys.exit(f"{pattern!r}: exit code {code}")
    return found


def _whole(ours: set[Line], theirs: set[Line]) -> set[Line]:
    """Return the lines with each part of a very long line replaced by the line that it is a part of."""
    lines = {line[:2]: line for line in theirs}
    whole = set()
    for line in ours:
        same, marked = lines.get(line[:2]), _PART.search(line[2])
        is_part = same and marked and line[2][: marked.start()] in same[2]
        whole.add(same if same and is_part else line)
    return whole


def _lines(printed: bytes) -> set[Line]:
    """Take printed lines apart; what a terminal must not see is compared without it."""
    found = set()
    for raw in printed.split(b"\n"):
        parts = raw.decode("utf-8", "replace").split(":", 2)
        if len(parts) == 3 and parts[1].isdigit():
            text = "".join(c for c in _ESCAPE.sub("", parts[2]) if c == "\t" or " " <= c < "\x7f")
            found.add((parts[0], int(parts[1]), text))
    return found


if __name__ == "__main__":
    main()
