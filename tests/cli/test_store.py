"""`findspot store`, and indexes that older versions kept in LanceDB."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from program import Program

Make = Callable[..., Path]


def test_an_index_in_lancedb_of_an_older_version_is_made_anew(findspot: Program, make_project: Make) -> None:
    root = make_project()
    assert findspot("index", root).code == 0
    (folder,) = (findspot.home / "indexes").iterdir()
    (folder / "index.sqlite").unlink()
    for name in ("index.lancedb", "docs.lancedb", "cache"):
        (folder / name).mkdir()
    made = findspot("index", root)
    assert made.code == 0, made.err
    assert "can no longer be stored in 'lancedb'" in made.err + made.out
    assert not (folder / "index.lancedb").exists()
    found = findspot("search", "say hello", "--project", root, "--json").json
    assert found["results"][0]["path"] == "src/greet.py"
    assert findspot("status", root, "--json").json["store"] == "default"


WITHOUT_LANCE = """
import sys
sys.modules["lancedb"] = None
from findspot.__main__ import main
sys.argv[0] = "findspot"
main()
"""


@pytest.mark.parametrize("command", ["store use", "publish"])
def test_without_the_extra_the_store_says_which_one_to_install(
    findspot: Program, make_project: Make, command: str
) -> None:
    root = make_project()
    folder = root.parent
    (folder / "index.lancedb/findspot_head.lance").mkdir(parents=True)
    commit = ["--commit", "0123abc", "--branch", "main"]
    words = {
        "store use": ["store", "use", str(folder), str(root)],
        "publish": ["publish", str(folder), "--project", str(root), *commit],
    }
    asked = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANCE, *words[command]],
        env={"FINDSPOT_HOME": str(findspot.home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert "pip install 'findspot[lance]'" in asked.stderr


IMPORTED = """
import sys
from findspot.serve.cli.app import run
assert run(["index", sys.argv[1]]) == 0
assert run(["search", "hello", "--project", sys.argv[1]]) == 0
assert run(["status", sys.argv[1]]) == 0
heavy = {"lancedb", "pyarrow", "lance"} & {name.partition(".")[0] for name in sys.modules}
sys.exit(f"imported: {heavy}" if heavy else 0)
"""


def test_the_default_store_never_imports_lancedb(findspot: Program, make_project: Make) -> None:
    asked = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(make_project())],
        env={"FINDSPOT_HOME": str(findspot.home), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
