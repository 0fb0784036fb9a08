"""A folder of repositories on the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from program import Program

Make = Callable[..., Path]


def make_workspace(folder: Path, make_project: Make, *names: str) -> Path:
    for name in names:
        root = make_project(f"all/{name}", **{f"{name}_only.py": f"def {name}_entry():\n    return 1\n"})
        subprocess.run(["git", "init", "-q", root], check=True)
    return folder / "all"


def test_it_is_listed_asked_about_once_and_indexed(
    findspot: Program, make_project: Make, tmp_path: Path
) -> None:
    folder = make_workspace(tmp_path, make_project, "shop", "web")
    declined = findspot.on_terminal("index", answers={"[y/N]": "n\n"}, cwd=folder)
    assert f"{folder} is a workspace of 2 projects:" in declined.err
    assert str(folder / "shop") in declined.err
    assert findspot("status", cwd=folder).code == 3

    done = findspot("index", cwd=folder)
    assert done.code == 0
    assert f"{folder}: " in done.out
    status = json.loads(findspot("status", "--json", cwd=folder).out)
    assert [member["name"] for member in status["members"]] == ["shop", "web"]

    found = findspot("search", "web_entry", "--json", "-n", "1", cwd=folder)
    (hit,) = json.loads(found.out)["results"]
    assert (hit["path"], hit["project"]) == ("web/web_only.py", "web")
    assert "shop/shop_only.py" in findspot("files", "*_only.py", cwd=folder).out
    inside = findspot("search", "web_entry", "-n", "1", cwd=folder / "shop")
    assert "'web' fits better (web/web_only.py:1)" in inside.err
    assert "hint: Name one of its members, such as shop." in findspot("delete", cwd=folder).err
    named = findspot("search", "web_entry", "--project", "w*", "-n", "1", cwd=folder / "shop")
    assert "web/web_only.py" in named.out

    make_workspace(tmp_path, make_project, "late")
    assert "late/late_only.py" in findspot("search", "late_entry", "-n", "1", cwd=folder).out


def test_a_first_question_indexes_all_of_it_and_gets_one_answer(
    findspot: Program, make_project: Make, tmp_path: Path
) -> None:
    folder = make_workspace(tmp_path, make_project, "shop", "web")
    found = findspot("search", "web_entry", "--json", "-n", "1", cwd=folder)
    assert [hit["path"] for hit in json.loads(found.out)["results"]] == ["web/web_only.py"]


def test_members_that_lie_elsewhere(findspot: Program, make_project: Make, tmp_path: Path) -> None:
    folder = make_workspace(tmp_path, make_project, "shop")
    other = make_project("other")
    added = findspot("workspace", "add", other, "--json", cwd=folder)
    assert [member["name"] for member in json.loads(added.out)["members"]] == ["shop", "other"]
    refused = findspot("workspace", "remove", "shop", cwd=folder)
    assert (refused.code, "is no member that was added" in refused.err) == (2, True)
    assert "other" not in findspot("workspace", "remove", "other", cwd=folder).out
    missing = findspot("workspace", "add", tmp_path / "gone", cwd=folder)
    assert (missing.code != 0, "does not exist" in missing.err) == (True, True)


def test_a_wrong_or_empty_folder_is_an_error(findspot: Program, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    empty = findspot("index", tmp_path / "empty")
    assert (empty.code != 0, "There is nothing to index in" in empty.err) == (True, True)
    assert findspot("workspace", "--path", tmp_path / "empty").code != 0
    assert findspot("index", tmp_path / "nowhere").code != 0
    assert findspot("projects", "--json").out.count("path") == 0


def test_inside_a_member_and_with_a_path_into_one(
    findspot: Program, make_project: Make, tmp_path: Path
) -> None:
    folder = make_workspace(tmp_path, make_project, "shop", "web", "other")
    findspot("index", "--project", "shop", cwd=folder)
    findspot("index", cwd=folder)
    shown = findspot("workspace", "--json", cwd=folder / "shop")
    assert [each["name"] for each in json.loads(shown.out)["members"]] == ["other", "shop", "web"]
    findspot("index", "--project", "[sw]*", cwd=folder)
    (known,) = json.loads((findspot.home / "workspaces.json").read_text()).values()
    assert len(known) == 3

    status = json.loads(findspot("status", "--json", cwd=folder / "shop").out)
    assert (status["projectPath"], status["totalFiles"]) == (str(folder / "shop"), 5)
    assert status["indexPath"]
    assert "web/web_only.py" in findspot("context", "web/web_only.py:1", cwd=folder).out
    assert findspot("impact", "web/web_only.py", cwd=folder).code == 0
    found = findspot("grep", "def .*_entry", cwd=folder).out.splitlines()
    assert found == [f"{name}/{name}_only.py:1:def {name}_entry():" for name in ("other", "shop", "web")]
    found = findspot("grep", "-A1", "_entry", "web", cwd=folder).out.splitlines()
    assert found == ["web/web_only.py:1:def web_entry():", "web/web_only.py-2-    return 1"]
    about = findspot("grep", "def", "--about", "the entry of the web", cwd=folder).out
    assert about.startswith("web/web_only.py:1  web_entry")
    for named in ("shop", "shop/src", str(folder / "shop/src")):
        hits = json.loads(findspot("search", "greet", "--project", named, "--json", cwd=folder).out)
        assert hits["results"][0]["path"] == "shop/src/greet.py"
    assert findspot("files", "*.py", "--project", "shop/src", cwd=folder).out == "shop/src/greet.py\n"


def test_what_is_added_are_projects(findspot: Program, make_project: Make, tmp_path: Path) -> None:
    group = make_workspace(tmp_path, make_project, "shop", "web")
    alone = make_project("alone")
    added = findspot("workspace", "add", group, "--json", cwd=alone)
    assert [each["name"] for each in json.loads(added.out)["members"]] == ["alone", "shop", "web"]
    for wide in ("/", "~"):
        refused = findspot("workspace", "add", wide, cwd=alone)
        assert (refused.code, "holds your home folder" in refused.err) == (2, True)
    last = findspot("workspace", "remove", "shop", "web", cwd=alone)
    assert (last.code, "is no workspace" in last.out) == (0, True)
