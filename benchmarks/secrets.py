# ruff: noqa: A005 - the name is the command: python -m benchmarks.secrets
"""Measure which secrets stay out of an index, what is taken for one wrongly, and how fast the scan is.

Secrets: one file of every kind in `secret_shapes.toml`, with values that are drawn anew in every run.
Ordinary files: the sources, documentation and data of the packages installed here, and of Python itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.secret_shapes import Example, draw
from findspot.core.config import load_settings
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import read_file
from findspot.discover.secrets import find_secrets
from findspot.discover.walk import classify, walk

ORDINARY_FILES = 5_000
_MAX_BYTES = 1 << 20
_SECRET_REASONS = (SkipReason.DENIED, SkipReason.SECRET)


@dataclass(slots=True)
class Figures:
    """What a run found."""

    kinds: int = 0
    masked: int = 0
    """Kinds that are masked; the files of the others are left out by their names."""
    missed: list[str] = field(default_factory=list)
    """Kinds whose value would be in an index."""
    ordinary: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Ordinary files that are left out, or in which something is masked, each with the reason."""
    sources: Counter[str] = field(default_factory=Counter)
    characters: int = 0
    seconds: float = 0.0


def measure(chance: random.Random, folders: Sequence[Path], files: int) -> Figures:
    """Try every kind once, and so many ordinary files of some folders."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="findspot-secrets-") as folder:
        for number, example in enumerate(draw(chance)):
            _try_secret(Path(folder, f"{number:03}"), example, figures)
    for top, file in _ordinary(folders, files):
        _try_ordinary(top, file, figures)
    return figures


def _try_secret(root: Path, example: Example, figures: Figures) -> None:
    figures.kinds += 1
    file = root / example.path
    file.parent.mkdir(parents=True)
    file.write_text(example.text, encoding="utf-8", newline="")
    admitted = classify(root, example.path, load_settings().discover)
    if isinstance(admitted, Skip):
        if admitted.reason not in _SECRET_REASONS:
            raise ValueError(f"{example.path} is left out for another reason: {admitted.reason}")
        return
    shown = readable_text(example.path, file.read_bytes(), load_settings().discover.secret_scan)
    if isinstance(shown, str) and example.values[-1] in shown:
        figures.missed.append(example.kind)
    else:
        figures.masked += 1


def _ordinary(folders: Sequence[Path], files: int) -> Iterator[tuple[Path, SourceFile | Skip]]:
    """Yield evenly spaced files that are indexed, or left out because of their names."""
    every: list[tuple[Path, SourceFile | Skip]] = []
    for top in folders:
        found = walk(
            top, replace(load_settings().discover, respect_gitignore=False, exclude=("site-packages/**",))
        )
        every += [(top, file) for file in found.files]
        every += [(top, skip) for skip in found.skips if skip.reason is SkipReason.DENIED and _by_name(skip)]
    step = max(1, len(every) // files)
    yield from every[::step]


def _by_name(skip: Skip) -> bool:
    """Tell whether the list of secret files left it out; keys and certificates are no ordinary files."""
    others = ("/", ".log", ".lock", ".swp", ".swo", "package-lock.json", "yarn.lock", ".DS_Store")
    return not skip.path.endswith((*others, ".pem", ".key", ".p12", ".pfx"))


def _try_ordinary(top: Path, file: SourceFile | Skip, figures: Figures) -> None:
    if isinstance(file, Skip):
        figures.ordinary += 1
        figures.wrong.append((file.path, "its name"))
        return
    data = read_file(top, file, _MAX_BYTES)
    text = data if isinstance(data, Skip) else readable_text(file.path, data, "off")
    if isinstance(text, Skip):
        return
    figures.ordinary += 1
    figures.sources[f"{top.name}/{file.path.partition('/')[0]}"] += 1
    started = time.process_time()
    hits = find_secrets(text)
    figures.seconds += time.process_time() - started
    figures.characters += len(text)
    if hits:
        figures.wrong.append((file.path, hits[0].kind))


def installed_folders() -> list[Path]:
    """Return where packages and Python's own modules are installed."""
    sites = [Path(path) for path in sys.path if path.endswith("site-packages")]
    return [folder for folder in (*sites, Path(sysconfig.get_path("stdlib"))) if folder.is_dir()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="for the drawn values; default: another one in every run")
    parser.add_argument("--files", type=int, default=ORDINARY_FILES, help="about how many ordinary files")
    parser.add_argument("--folder", type=Path, action="append", help="of ordinary files; default: packages")
    given = parser.parse_args()
    figures = measure(random.Random(given.seed), given.folder or installed_folders(), given.files)
    wrong = len(figures.wrong)
    rate = 1000 * wrong / max(1, figures.ordinary)
    kept_out = figures.kinds - len(figures.missed)
    lines = [
        f"kept out        {kept_out} of {figures.kinds} kinds, {figures.masked} of them masked",
        *(f"  missed        {kind}" for kind in figures.missed),
        f"wrongly         {wrong} of {figures.ordinary} ordinary files ({rate:.2f} per 1,000)",
        *(f"  {path}: {reason}" for path, reason in figures.wrong),
        f"speed           {figures.characters / 1e6 / max(figures.seconds, 1e-9):.0f} MB/s",
        "files of        " + ", ".join(f"{name} {count}" for name, count in figures.sources.most_common(40)),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
