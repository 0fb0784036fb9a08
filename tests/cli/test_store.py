"""`findspot store`, `export` and `import`, and indexes that older versions kept in LanceDB."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import write_files
from program import Program
from repositories import Repository

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


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of a folder in one file."""
    pytest.importorskip("lancedb")
    folder = tmp_path_factory.mktemp("exporter")
    write_files(folder / "shop", {"src/greet.py": "def say_hello(name):\n    return 'hello ' + name\n"})
    exporter, named = Program(home=folder / "home", cwd=folder), ("--commit", "0123abc", "--branch", "main")
    done = exporter("export", "shop.findspot", "shop", *named, "--json")
    assert done.code == 0, done.err
    assert done.json["address"] == str(folder / "shop.findspot")
    assert done.json["files"] == 1
    refused = exporter("export", "shop/index.findspot", "shop", *named)
    assert (refused.code, "is inside the project" in refused.err) == (2, True)
    asked = exporter("export", "shop.findspot", "shop", *named, "--json")
    assert (asked.code, asked.json["question"]) == (2, f"Replace {folder / 'shop.findspot'}?")
    onto = exporter("export", "home", "shop", *named)
    assert (onto.code, "home is a folder.\nhint: Name a file in it." in onto.err) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == ["home", "shop", "shop.findspot"]
    return folder / "shop.findspot"


def imported(findspot: Program) -> list[Path]:
    """The folders that archives were unpacked into."""
    return list((findspot.home / "indexes").glob("*/imported-*"))


def test_an_exported_index_answers_elsewhere(findspot: Program, archive: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    missing = findspot("import", "missing.findspot", empty)
    assert (missing.code, "hint: Name one that `findspot export` wrote." in missing.err) == (2, True)
    for _ in range(2):
        taken = findspot("import", archive, empty, "--json")
        assert (taken.code, taken.json["totalFiles"]) == (0, 1), taken.err
        found = findspot("search", "say hello", "--project", empty, "--json").json
        assert found["results"][0]["path"] == "src/greet.py"
        assert "commit 0123abc of main" in found["warning"]
        assert len(imported(findspot)) == 1
    (folder,) = imported(findspot)
    assert folder.stat().st_mode & 0o077 == 0
    assert findspot("store", "use", "default", empty).code == 0
    assert imported(findspot) == []


def test_a_checkout_that_imports_keeps_its_own_index(
    findspot: Program, archive: Path, make_project: Make
) -> None:
    root = make_project()
    taken = findspot("import", archive, root, "--yes", "--json")
    assert taken.code == 0, taken.err
    assert findspot("status", root, "--json").json["store"] == "default"
    asked = findspot("delete", root, "--json").json
    assert "stays" not in asked["question"]
    assert findspot("delete", root, "--yes").code == 0
    assert imported(findspot) == []


def test_a_checkout_that_differs_from_its_commit_is_not_exported(
    findspot: Program, make_project: Make, tmp_path: Path
) -> None:
    root, file = make_project(), tmp_path / "shop.findspot"
    Repository(root).commit("start")
    (root / "src/greet.py").write_text("def changed(): pass\n")
    refused = findspot("export", file, root)
    assert (refused.code, file.exists()) == (2, False)
    assert "1 file differs from the commit" in refused.err
    pytest.importorskip("lancedb")
    assert findspot("export", file, root, "--allow-dirty").code == 0
    assert file.stat().st_mode & 0o077 == 0


def hostile(kind: str, archive: Path, file: Path) -> None:
    """Write an archive with something in it that nobody exported."""
    if kind == "text":
        file.write_text("not an archive\n")
        return
    if kind == "cut off":
        file.write_bytes(archive.read_bytes()[:-40])
        return
    if kind == "damaged":
        data = bytearray(archive.read_bytes())
        data[200:260] = bytes(60)
        file.write_bytes(data)
        return
    if kind != "no index":
        shutil.copyfile(archive, file)
    names = {"above": "a/../../../evil", "absolute": "/evil", "drive": "C:/evil", "below": "some/file/a"}
    with zipfile.ZipFile(file, "a") as out:
        out.writestr("some/file", "/etc/passwd")
        if kind in names:
            out.writestr(names[kind], "/etc/passwd")
        if kind == "bomb":
            out.writestr("some/zeros", bytes(1 << 26), zipfile.ZIP_BZIP2)
        if kind == "huge":
            out.infolist()[-1].file_size = 1 << 40  # as the directory at its end says


def test_a_link_in_an_archive_becomes_a_plain_file(findspot: Program, archive: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    link = zipfile.ZipInfo("index.lancedb/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = Path(shutil.copy(archive, tmp_path / "linked.findspot"))
    with zipfile.ZipFile(file, "a") as out:
        out.writestr(link, "/etc/passwd")
    assert findspot("import", file, empty).code == 0
    [folder] = tmp_path.rglob("imported-*")
    assert not (folder / "index.lancedb/link").is_symlink()


BROKEN = ("text", "cut off", "damaged", "no index")
HOSTILE = ("huge", "bomb", "above", "absolute", "drive", "below")


@pytest.mark.parametrize("kind", BROKEN + HOSTILE)
def test_a_hostile_archive_changes_nothing(
    findspot: Program, archive: Path, tmp_path: Path, kind: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert findspot("import", archive, empty).code == 0
    before = imported(findspot)
    file = tmp_path / "hostile.findspot"
    hostile(kind, archive, file)
    refused = findspot("import", file, empty)
    assert refused.code == 2, refused.err
    assert f"{file} is not an archive that `findspot export`" in refused.err
    assert imported(findspot) == before
    assert not list(tmp_path.rglob("evil"))
    assert findspot("search", "say hello", "--project", empty, "--json").json["results"]
