"""`findspot store`, `findspot export` and `findspot import`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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


def test_a_prebuilt_index_is_taken_over_and_only_the_difference_indexed(
    findspot: Program, make_project: Make, tmp_path: Path
) -> None:
    built = make_project(
        "built", **{f"src/part{n}.py": f"def part{n}():\n    return {n}\n" for n in range(9)}
    )
    file = tmp_path / "index.findspot"
    exported = findspot("export", file, built, "--json")
    assert exported.code == 0, exported.err
    mine = tmp_path / "mine"
    shutil.copytree(built, mine, copy_function=shutil.copyfile)  # with times of writing of their own
    (mine / "src/part3.py").write_text("def changed():\n    return 'here'\n")
    (mine / "src/part4.py").unlink()

    taken = findspot("import", file, mine, "--json")
    assert taken.code == 0, taken.err
    # Neither the changed file nor the missing one is taken over, so nothing is left to remove.
    assert taken.json["filesImported"] == exported.json["totalFiles"] - 2
    assert (taken.json["filesIndexed"], taken.json["filesRemoved"]) == (1, 0)
    assert taken.json["filesUnchanged"] == exported.json["totalFiles"] - 2
    found = findspot("search", "changed", "--project", mine, "--json").json
    assert found["results"][0]["path"] == "src/part3.py"
    assert found.get("warning") is None

    refused = findspot("import", file, mine, "--json")
    assert refused.json["status"] == "confirmation_required"
    assert findspot("import", file, mine, "--yes", "--no-update").code == 0
    assert findspot("import", tmp_path / "mine/README.md", mine, "--yes").code == 2
    assert findspot("import", tmp_path / "missing", mine, "--yes").code == 2


WITHOUT_LANCE = """
import sys
sys.modules["lancedb"] = None
from findspot.__main__ import main
sys.argv[0] = "findspot"
main()
"""


def test_without_the_extra_the_store_says_which_one_to_install(findspot: Program, make_project: Make) -> None:
    root = make_project()
    (root.parent / "index.lancedb/findspot_head.lance").mkdir(parents=True)
    asked = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANCE, "store", "use", str(root.parent), str(root)],
        env={"FINDSPOT_HOME": str(findspot.home), "PATH": ""},
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
