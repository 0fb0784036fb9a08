"""Whether a project's files are those that git names: `python -m benchmarks.tracked MIRRORS [NAME ...]`.

Each repository of a folder of mirrors is checked out. To every tenth source file an untracked copy is added,
so that ignore rules have something to decide about. The walk, and the look at each file's content, are then
compared with `git ls-files`: a tracked file, and an untracked one that is not ignored, is to be indexed. What
is left out is counted by its reason, files that the hard deny list of the specification names apart.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from findspot.core.config import load_settings
from findspot.core.globs import Globs
from findspot.core.languages import language_of, row
from findspot.core.model import Skip
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import nfc, read_file
from findspot.discover.walk import walk

EVERY = 10
# fmt: off
DENIED = Globs((
    "node_modules/", "jspm_packages/", "bower_components/", "vendor/", ".venv/", "venv/",
    ".git/", ".hg/", ".svn/",
    "dist/", "build/", "out/", "target/", "__pycache__/", ".next/", ".nuxt/",
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx",
    "*.log", "*.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Gemfile.lock", "poetry.lock",
    ".idea/", ".vscode/", ".DS_Store", "*.swp", "*.swo",
    "coverage/", ".nyc_output/", ".pytest_cache/",
))
# fmt: on


def git(folder: Path, *arguments: str) -> set[str]:
    """The paths that a git command prints."""
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return {nfc(path) for path in done.stdout.decode("utf-8", "surrogateescape").split("\0") if path}


def kind_of(path: str) -> str:
    """Whether a file is source, data or prose."""
    language = row(language_of(path))
    return "source" if language.grammar else "data" if language.data else "prose"


def add_copies(checkout: Path, tracked: set[str]) -> None:
    """Add untracked copies of some source files."""
    for path in sorted(path for path in tracked if kind_of(path) == "source")[::EVERY]:
        file = checkout / path
        if file.is_file() and not file.is_symlink():
            shutil.copy(file, file.with_name(f"untracked_{file.name}"))


def reason_for(path: str, skips: dict[str, Skip], text: dict[str, Skip]) -> str:
    """Why a file is not in the index."""
    parts = path.split("/")
    above = ["/".join(parts[:depth]) + "/" for depth in range(1, len(parts))]
    if any(map(DENIED.matches, (*above, path))):
        return "hard deny list"
    skip = text.get(path) or next((skips[each] for each in (*above, path) if each in skips), None)
    return f"{skip.reason}: {skip.detail}".rstrip(": ") if skip else "NO REASON"


def compare(mirror: Path, checkout: Path) -> tuple[Counter[str], list[tuple[str, str, str]]]:
    """How many files of each kind are wanted, and those left out with their kind and reason."""
    command = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(mirror), str(checkout)]
    subprocess.run(command, check=True)
    git(checkout, "read-tree", "HEAD")
    # A mirror may lack large files.
    subprocess.run(["git", "checkout-index", "--all"], cwd=checkout, check=False, capture_output=True)
    submodules = {line[50:] for line in git(checkout, "ls-files", "-s", "-z") if line.startswith("160000")}
    missing = git(checkout, "ls-files", "--deleted", "-z")
    tracked = git(checkout, "ls-files", "-z") - submodules - missing
    add_copies(checkout, tracked)
    wanted = tracked | git(checkout, "ls-files", "-o", "--exclude-standard", "-z")
    ignored = git(checkout, "ls-files", "-o", "-i", "--exclude-standard", "-z")
    settings = load_settings().discover
    found = walk(checkout, settings)
    unfit: dict[str, Skip] = {}
    for file in found.files:
        data = read_file(checkout, file, settings.max_file_bytes)
        text = data if isinstance(data, Skip) else readable_text(file.path, data, settings.secret_scan)
        if isinstance(text, Skip):
            unfit[file.path] = text
    indexed = {file.path for file in found.files} - unfit.keys()
    skips = {skip.path: skip for skip in found.skips}
    left_out = [(kind_of(path), path, reason_for(path, skips, unfit)) for path in sorted(wanted - indexed)]
    too_much = sorted(indexed & ignored) + sorted(indexed - wanted - ignored)
    left_out += [(kind_of(path), path, "INDEXED, THOUGH IGNORED") for path in too_much]
    return Counter(map(kind_of, wanted)), left_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "mirrors", type=Path, help="a folder of git repositories, or of folders with a `repo`"
    )
    parser.add_argument("names", nargs="*", help="only these")
    given = parser.parse_args()
    all_wanted: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for folder in sorted(path for path in given.mirrors.iterdir() if path.is_dir() and path.name[0] != "."):
        if given.names and folder.name not in given.names:
            continue
        with tempfile.TemporaryDirectory(prefix="findspot-tracked-") as temporary:
            mirror = folder / "repo" if (folder / "repo").exists() else folder
            wanted, left_out = compare(mirror, Path(temporary, folder.name))
        all_wanted += wanted
        counted = Counter((kind, why.partition(":")[0]) for kind, _, why in left_out)
        reasons += counted
        sys.stdout.write(f"{folder.name}: {sum(wanted.values())} files, {len(left_out)} left out\n")
        for kind, path, why in left_out:
            if kind == "source" and why != "hard deny list":
                sys.stdout.write(f"  {path}  {why}\n")
        sys.stdout.flush()
    for kind, count in all_wanted.items():
        sys.stdout.write(f"{kind}: {count}\n")
        for (of, why), number in reasons.most_common():
            if of == kind:
                sys.stdout.write(f"  {why}: {number} ({number / count:.2%})\n")


if __name__ == "__main__":
    main()
