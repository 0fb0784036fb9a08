"""`findspot deps` on real packages, and on a project whose packages are not there."""

from __future__ import annotations

import shutil
import venv
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from program import Program


def test_an_installed_package_is_listed_with_its_folder(
    findspot: Program, make_project: Callable[..., Path]
) -> None:
    root = make_project(**{"requirements.txt": "click>=8\n"})
    venv.create(root / ".venv")
    site = sorted((root / ".venv").glob("[Ll]ib/**/site-packages"))[0]
    installed = Path(click.__file__).parent
    (info,) = installed.parent.glob("click-*.dist-info")
    shutil.copytree(installed, site / "click")
    shutil.copytree(info, site / info.name)
    (listed,) = findspot("deps", "--project", str(root), "--json").json["dependencies"]
    assert (listed["name"], listed["version"], listed["direct"]) == ("click", version("click"), True)
    assert Path(listed["folder"]) == (site / "click").resolve()


def test_what_is_missing_is_said_with_its_reason(
    findspot: Program, make_project: Callable[..., Path]
) -> None:
    root = make_project(**{"requirements.txt": "no-such-package\n"})
    shown = findspot("deps", "--project", str(root))
    assert "pypi/no-such-package" in shown.out
    assert "not installed" in shown.out
    assert findspot("deps", "--project", str(root), "--missing", "--json").json["total"] == 1
    empty = make_project("empty")
    assert findspot("deps", "--project", str(empty)).out == "No dependencies were found.\n"
