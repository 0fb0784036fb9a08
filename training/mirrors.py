"""The files of the evaluation's repositories, read from bare git directories."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_FILE_BYTES = 1_000_000


def mirror_of(repository: str, mirrors: Path) -> Path | None:
    """The git directory of `owner/name`, under any of the names that mirrors have."""
    owner, _, name = repository.partition("/")
    for place in (f"{owner}+{name}/repo", f"{owner}+{name}", f"{owner}/{name}.git", f"{name}.git"):
        if (mirrors / place / "HEAD").is_file():
            return mirrors / place
    return None


def texts_of(mirror: Path, commits: Iterable[str]) -> Iterator[str]:
    """The text of every file at any of the commits, each content once; binaries are left out."""
    git = ["git", f"--git-dir={mirror}"]
    blobs: set[bytes] = set()
    for commit in sorted(set(commits)):
        listing = subprocess.run([*git, "ls-tree", "-rz", commit], capture_output=True, check=False).stdout
        for entry in filter(None, listing.split(b"\0")):
            mode, kind, blob = entry.partition(b"\t")[0].split()
            if kind == b"blob" and mode != b"120000":
                blobs.add(blob)
    asked = b"\n".join(sorted(blobs)) + b"\n"
    answer = subprocess.run(
        [*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True
    ).stdout
    yield from filter(None, texts(answer))


def texts(answer: bytes) -> Iterator[str | None]:
    """Read what `cat-file --batch` printed: the text of each blob, None for a binary or an absent one."""
    at = 0
    while at < len(answer):
        end = answer.index(b"\n", at)
        head = answer[at:end].split()
        at = end + 1
        if head[-1] == b"missing":  # a shallow mirror lacks some
            yield None
            continue
        size = int(head[2])
        data = answer[at : at + size]
        at += size + 1
        is_text = size <= MAX_FILE_BYTES and b"\0" not in data[:8000]
        yield data.decode("utf-8", "replace") if is_text else None
