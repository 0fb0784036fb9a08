"""Refuse a release whose tag, version, address and changelog differ: `check_tag.py v1.2.3 OWNER/NAME`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, repository: str, root: Path = ROOT) -> list[str]:
    """Return what stands against a release."""
    about = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    version, source = about["version"], about["urls"]["Source"]
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    found = []
    if tag != f"v{version}":
        found.append(f"The tag is {tag}, the version {version}.")
    if source != f"https://github.com/{repository}":
        found.append(f"project.urls says {source}, but this is {repository}.")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section '## {version} (YYYY-MM-DD)'.")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems(*sys.argv[1:3])))
