"""`findspot delete` and `findspot clean`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from program import Program

Make = Callable[..., Path]


def test_delete_asks_and_deletes(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)

    refused = findspot("delete", root, "--json")
    assert refused.code == 2
    assert refused.json["status"] == "confirmation_required"
    assert refused.json["question"] == "Delete the index for this project? This cannot be undone."

    declined = findspot.on_terminal("delete", root, answers={"[y/N]": "\n"})
    assert declined.code == 1
    assert "Cancelled" in declined.err
    assert findspot("status", root).code == 0

    agreed = findspot.on_terminal("delete", root, "--json", answers={"[y/N]": "yes\n"})
    assert agreed.code == 0
    assert json.loads(agreed.out) == {
        "status": "success",
        "projectPath": str(root),
        "message": "Index deleted successfully",
    }
    assert (root / "src" / "greet.py").exists()

    again = findspot("delete", root, "--json", "--yes")
    assert again.code == 3
    assert again.json["status"] == "not_found"


def test_clean_deletes_the_indexes_of_projects_that_are_gone(findspot: Program, make_project: Make) -> None:
    kept, gone = make_project("kept"), make_project("gone")
    findspot.make_index(kept)
    findspot.make_index(gone)
    assert "Nothing to clean" in findspot("clean").out
    shutil.rmtree(gone)

    listed = findspot("projects")
    assert str(gone) not in listed.out
    assert f"note: {gone} is gone; `findspot clean` deletes its index." in listed.err

    refused = findspot("clean")
    assert (refused.code, str(gone) in refused.out) == (2, True)
    assert "Delete 1 orphaned index?" in refused.err

    done = findspot("clean", "--yes", "--json")
    assert (done.code, done.json["status"], done.json["total"]) == (0, "success", 1)
    assert not Path(done.json["removed"][0]["path"]).exists()
    assert findspot("projects", "--json").json["total"] == 1
