"""Published indexes: publishing fits a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder, run_git

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(25)}


@pytest.fixture
def publisher(tmp_path: Path) -> Program:
    return Program(home=tmp_path / "publisher-home", cwd=tmp_path)


def test_publishing_fits_a_pipeline(publisher: Program, make: MakeFolder, tmp_path: Path) -> None:
    """Versions per commit and branch, exit codes, JSON, no question."""
    root, folder = make(FILES, git=True), tmp_path / "published"
    head = run_git(root, "rev-parse", "HEAD").strip()
    done = publisher("publish", folder, "--json", cwd=root)
    assert (done.code, done.json["commit"], done.json["branch"], done.json["filesSent"]) == (
        0,
        head,
        "main",
        25,
    )

    (root / "m1.py").write_text("def changed(): pass\n")
    (root / "note.md").write_text("# not committed\n")
    dirty = publisher("publish", folder, cwd=root)
    assert dirty.code == 2
    assert "2 files differ from the commit" in dirty.err
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "second")
    run_git(root, "checkout", "-q", "--detach")
    unknown = publisher("publish", folder, cwd=root)
    assert (unknown.code, "--branch" in unknown.err) == (2, True)
    second = publisher("publish", folder, "--json", cwd=root, env={"GITHUB_REF_NAME": "topic"})
    assert (second.json["branch"], second.json["filesSent"], second.json["versions"]) == ("topic", 2, 2)

    listed = publisher("publish", folder, "--list", "--json").json["versions"]
    assert {version["branch"] for version in listed} == {"main", "topic"}

    assert publisher("publish", "https://host/x", "--branch", "x", cwd=root).code == 2
    assert publisher("publish", root / "public", "--branch", "x", cwd=root).code == 2
    assert publisher("publish", "--branch", "x", cwd=root).code == 2
    plain = make({"a.py": "a = 1\n"}, "plain")
    assert publisher("publish", folder, "--project", plain).code == 2
    named = ("--commit", "0123abc", "--branch", "main", "--keep", "1", "--json")
    cleaned = publisher("publish", folder, "--project", plain, *named)
    assert [old["commit"] for old in cleaned.json["removed"]] == [head]


def test_a_published_text_is_searched_for_patterns(
    publisher: Program, make: MakeFolder, tmp_path: Path
) -> None:
    root, folder, reader = make(FILES, git=True), tmp_path / "published", tmp_path / "reader"
    assert publisher("publish", folder, cwd=root).code == 0
    reader.mkdir()
    assert publisher("store", "use", folder, reader).code == 0
    refused = publisher("grep", "function_24", cwd=reader)
    assert (refused.code, "hint: Ask the index: findspot search --mode regex" in refused.err) == (2, True)
    found = publisher("search", "--mode", "regex", "function_24", "--json", cwd=reader)
    assert [hit["path"] for hit in found.json["results"]] == ["m24.py"]
