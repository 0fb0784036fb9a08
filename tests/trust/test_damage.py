"""Damage is noticed, told and repaired; what only looks like damage destroys nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder

if sys.platform != "win32":
    import resource

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no limits of this kind")


def with_limit(kind: int, most: int) -> dict[str, object]:
    """Start a process under a limit of the system."""
    return {"preexec_fn": lambda: resource.setrlimit(kind, (most, most))}


def test_a_limit_of_the_system_is_not_called_damage(
    findspot: Program, make: MakeFolder, tmp_path: Path
) -> None:
    """code-review B1, security 19: a size limit told the user to drop an intact index of documents."""
    (tmp_path / "tea.txt").write_text("a cup of tea\n")
    (tmp_path / "big.txt").write_text("".join(f"word{n} of a large text\n" for n in range(30_000)))
    assert findspot("documents", "create", "shelf").code == 0
    assert findspot("documents", "add", "tea.txt", "--index", "shelf").code == 0
    small = with_limit(resource.RLIMIT_FSIZE, 400_000)
    refused = findspot("documents", "add", "big.txt", "--index", "shelf", "--json", **small)
    assert refused.code == 1
    assert refused.json["code"] == "DISK_FULL"
    assert "drop" not in refused.err
    found = findspot("documents", "search", "tea", "--index", "shelf", "--json")
    assert "tea.txt" in found.out

    project = make({f"pkg/mod{n}.py": f"def function_{n}():\n    return {n}\n" for n in range(5)})
    assert findspot("index", ".", cwd=project).code == 0
    for most in (9, 12):
        few = with_limit(resource.RLIMIT_NOFILE, most)
        asked = findspot("search", "function_3", "--json", cwd=project, **few)
        assert "INDEX_CORRUPT" not in asked.out + asked.err, most
    assert not list(findspot.home.glob("indexes/*/index.bak"))
    assert findspot("search", "function_3", cwd=project).code == 0
