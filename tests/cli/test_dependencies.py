"""`findspot deps` on real packages, and on a project whose packages are not there."""

from __future__ import annotations

import shutil
import venv
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from contents import write_files
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
    assert "no-such-package" in shown.out
    assert "not installed" in shown.out
    (listed,) = findspot("deps", "--project", str(root), "--json").json["dependencies"]
    assert listed["missing"]
    empty = make_project("empty")
    assert findspot("deps", "--project", str(empty)).out.endswith(
        "package.json); those of other languages are not.\n"
    )
    (empty / "package.json").write_text("{")
    (empty / "pyproject.toml").write_text("[")
    broken = findspot("deps", "--project", str(empty))
    assert "Left out, since it is not written correctly: package.json, pyproject.toml." in broken.err


def test_packages_are_searched(findspot: Program, make_project: Callable[..., Path]) -> None:
    root = make_project(**{"requirements.txt": "alpha\n", ".venv/pyvenv.cfg": ""})
    site = root / ".venv/lib/python3.12/site-packages"
    package = {
        "alpha/__init__.py": "def wait_between_attempts():\n    return 1\n",
        "alpha-1.dist-info/METADATA": "Name: alpha\nVersion: 1\n\n",
    }
    write_files(site, package)
    findspot.make_index(root)
    asked = ("search", "wait between attempts", "--project", root, "--dependency", "alpha")
    assert "dep://pypi/alpha@1/alpha/__init__.py:1-2" in findspot(*asked).out
    similar = findspot(
        "search", "--similar-to", "dep://pypi/alpha@1/alpha/__init__.py:1-2", "--project", root
    )
    assert similar.code == 0, similar.err
