"""Git repositories that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Repository:
    """A repository that tests make commits in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        command = ("git", *identity, "-C", str(self.root), *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        for name, text in files.items():
            (self.root / f"{name}.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
