"""Wrong input: each gets a sentence, a code and an exit code; never a trace."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from program import Program
from warm_start import INSTALLED

Make = Callable[..., Path]


def test_a_missing_path(findspot: Program) -> None:
    for command in ("index", "status", "reindex", "delete", "watch"):
        done = findspot(command, "no/such/folder")
        assert (done.code, done.out) == (1, "")
        assert "error: Path does not exist or is not a directory: no/such/folder" in done.err
        assert f"hint: Check its spelling: it is looked for in {findspot.cwd}." in done.err


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be deleted elsewhere")
def test_a_working_folder_that_is_gone(findspot: Program, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", 'rmdir "$PWD" && exec "$0" status', INSTALLED]
    environment = os.environ | {"FINDSPOT_HOME": str(findspot.home)}
    done = subprocess.run(command, cwd=gone, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "hint: The working folder is gone" in done.stderr) == (1, True)


@pytest.mark.skipif(
    any((folder / ".git").exists() for folder in Path(os.path.realpath("/tmp")).parents),
    reason="temporary folders are inside a project here",
)
def test_no_project_around(findspot: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    for name, file, said in (
        ("letters", "notes/b.log", "letters or directly below. Name the project's folder"),
        ("empty/notes", "", "notes is empty."),
        ("node_modules", "one/a.js", "node_modules belongs to the system or to a tool, and is no project."),
        ("plain", "src/a.py", "plain is taken for the project"),
    ):
        folder = tmp_path / name
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("x = 1\n") if file else folder.mkdir()
        done = findspot("search", "x", "--json", cwd=folder)
        assert said in done.err
        assert done.code == 0 if name == "plain" else done.json["code"] == "PROJECT_NOT_DETECTED"
        if name == "empty/notes":
            assert said in done.json["userMessage"]

    alone = findspot.on_terminal(answers={}, whole=True)
    assert alone.code == 0
    assert "Without a command, `findspot` asks what to search for." in alone.err

    for system in ("/etc", "/usr/bin"):
        assert f"{system} belongs to the system" in findspot("search", "x", cwd=Path(system)).err
    home = findspot("search", "x", env={"HOME": str(tmp_path)})
    assert f"{tmp_path} is your home folder, and is no project." in home.err

    chosen = findspot.on_terminal(
        "status",
        answers={"[2] Enter a custom path": "3\n", "1 or 2": "2\n", "Path:": f"{tmp_path}\n"},
        whole=True,
    )
    assert f"[1] Use current directory: {tmp_path}" in chosen.err
    assert f"{tmp_path}" in chosen.err.partition("Path:")[2]

    here = findspot.on_terminal("index", "--json", answers={"Choice:": "1\n"})
    assert json.loads(here.out)["filesIndexed"] == 2


def test_the_end_of_input_is_a_no(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    done = findspot.on_terminal("delete", root, answers={"[y/N]": "\x04"})
    assert done.code == 130
    assert "Cancelled." in done.err
    assert findspot("status", root).code == 0


def test_wrong_usage(findspot: Program, make_project: Make) -> None:
    done = findspot("serch")
    assert (done.code, "No such command 'serch'" in done.err) == (2, True)
    asked = findspot("how", "are", "parts", "made", "-n", "3").err
    one = findspot("cart").err
    assert "No such command 'cart'. To search for it: findspot search cart\n" in one
    assert """No such command 'how'. A question goes in quotes: findspot "how are parts made"\n""" in asked
    as_json = findspot("index", "--colour", "--json")
    assert (as_json.code, as_json.json["code"]) == (2, "INVALID_ARGUMENT")
    root = make_project()
    twice = findspot("status", root, "--project", root)
    assert (twice.code, "Name the project once" in twice.err) == (2, True)


def test_a_bad_value_is_replaced_with_a_warning(findspot: Program, make_project: Make) -> None:
    root = make_project()
    (root / ".findspot.json").write_text(
        '{"maxFileSize": "huge", "colour": "red", "embedding.provider": "http"}'
    )
    done = findspot("index", root, "--json")
    assert done.code == 0
    assert done.err.splitlines() == [
        "warning: .findspot.json: unknown key 'colour' is ignored",
        "warning: .findspot.json: 'maxFileSize' must be a size such as '500KB' or '2MB'; using the default",
        "warning: .findspot.json: 'embedding.provider' can only be set in your own configuration; ignored",
    ]
    assert done.json["status"] == "success"


def test_the_modules_of_a_project_are_not_imported(findspot: Program, make_project: Make) -> None:
    root = make_project(
        **{f"{name}.py": "raise SystemExit(99)\n" for name in ("json", "click", "numpy", "queue")}
    )
    assert findspot("index", "--json", cwd=root).json["filesIndexed"] == 8
