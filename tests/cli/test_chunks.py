"""`findspot chunks`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from program import Program

Make = Callable[..., Path]
NAMES = ["code-data.json", "code-definitions.json", "code-symbols.json", "doc-chunks.json"]


def test_export_indexes_and_writes_four_files(findspot: Program, make_project: Make) -> None:
    root = make_project()
    done = findspot("chunks", "export", root, "--json")
    assert done.code == 0
    folder = root / ".cortex" / "chunks"
    assert done.json["path"] == str(folder)
    assert sorted(path.name for path in folder.glob("*.json")) == NAMES
    assert done.json["chunks"]["symbols"] == 1
    assert done.json["total"] == sum(done.json["chunks"].values())
    assert "chunks written to" in findspot("chunks", "export", root).out
    assert findspot("status", root, "--json").json["pendingChanges"] == 0


def test_export_elsewhere_and_without_updating(findspot: Program, make_project: Make, tmp_path: Path) -> None:
    root = make_project()
    assert findspot("chunks", "export", root, "--no-update").code == 3
    done = findspot("chunks", "export", root, "--output", tmp_path / "out")
    assert done.code == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("*.json")) == NAMES
    assert not (root / ".cortex").exists()


def test_search_by_type_and_tag(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    from_index = findspot("chunks", "search", "say hello", "--chunk-types", "symbols", "--json", cwd=root)
    (only,) = from_index.json["results"]
    assert only["chunk"]["id"] == "code-symbols-src-greet-py"
    findspot("chunks", "export", root)
    shown = findspot("chunks", "search", "say", "hello", "--tags", "code, python", "--project", root)
    assert shown.out.startswith("1. src/greet.py:1-3  definitions: greet\n    def greet(name):\n")
    nothing = findspot("chunks", "search", "hello", "--tags", "absent", "--project", root)
    assert nothing.out == "No results.\n"
