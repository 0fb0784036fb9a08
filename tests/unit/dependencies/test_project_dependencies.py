"""Dependencies read from real layouts of manifests and package stores."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

from contents import write_files as write
from findspot.dependencies.package import Dependency
from findspot.dependencies.project_dependencies import list_dependencies, summary


def install(site: Path, name: str, version: str, *, tops: tuple[str, ...] = ()) -> None:
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText"}
    packages = tops or (f"{name.replace('-', '_')}/__init__.py",)
    files |= dict.fromkeys(packages, "")
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in packages)
    write(site, files)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def listed(project: Path, home: Path, **environ: str) -> dict[str, Dependency]:
    return {each.label: each for each in list_dependencies(project, environ, home)}


def site_of(environment: Path) -> Path:
    write(environment, {"pyvenv.cfg": "home = /usr/bin\n"})
    site = environment / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    return site


def test_python_packages_come_from_manifests_and_the_environment(project: Path, home: Path) -> None:
    write(
        project,
        {
            "pyproject.toml": '[project]\nname = "own"\n'
            "dependencies = [\"Requests[socks]>=2; python_version>'3'\", "
            '"gone", "winonly; sys_platform == \'win32\'"]\n'
            '[project.optional-dependencies]\nx = ["PyYAML"]\n[dependency-groups]\ndev = ["pytest>=8"]\n',
            "requirements.txt": "-r requirements/more.txt\n# six2\nsix==1.17 --hash=sha256:00\n-e .\n"
            "https://x/y.whl\n",
            "requirements/more.txt": "-r ../../outside.txt\nattrs\n",
            "setup.cfg": "[options]\ninstall_requires =\n  click>=8\n  rich\n[other]\nx = 1\n",
            "setup.py": "from setuptools import setup\nsetup(install_requires=['tomli'])\nexit(1)\n",
        },
    )
    write(project.parent, {"outside.txt": "secret-package\n"})
    site = site_of(project / ".venv")
    install(site, "requests", "2.32.3")
    install(site, "urllib3", "2.2.0")
    install(site, "PySocks", "1.7", tops=("socks.py",))
    install(site, "PyYAML", "6.0.2", tops=("yaml/__init__.py", "_yaml/__init__.py", "yaml/nodes.py"))
    install(site, "six", "1.17.0", tops=("six.py",))
    found = listed(project, home)
    assert found["pypi/requests@2.32.3"].folder == site / "requests"
    assert found["pypi/requests@2.32.3"].direct
    assert not found["pypi/urllib3@2.2.0"].direct
    assert found["pypi/PyYAML@6.0.2"].folder == site / "yaml"
    assert found["pypi/six@1.17.0"].folder == site / "six.py"
    assert found["pypi/gone"].missing == "not installed"
    assert "sys_platform" in found["pypi/winonly"].missing
    assert {"pypi/pytest", "pypi/attrs", "pypi/click", "pypi/rich", "pypi/tomli"} <= set(found)
    names = {each.name for each in found.values()}
    assert not names & {"own", "secret-package", "six2"}
    counted = summary(list(found.values()))
    assert counted is not None
    assert counted["indirect"] == 2, "urllib3 and PySocks, which nothing names"
    assert "pypi/gone" in counted["missing"]


def test_environments_elsewhere_are_found(project: Path, home: Path) -> None:
    write(
        project,
        {"pyproject.toml": '[tool.poetry]\nname = "my app"\n[tool.poetry.dependencies]\na = "1"\nb = "1"\n'},
    )
    place = os.path.normcase(os.path.realpath(project)).encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(place).digest()).decode()[:8]
    install(site_of(home / ".cache" / "pypoetry" / "virtualenvs" / f"my_app-{digest}-py3.12"), "a", "1.0")
    install(site_of(home / "active"), "b", "1.1")
    found = listed(project, home, VIRTUAL_ENV=str(home / "active"))
    assert found["pypi/a@1.0"].folder
    assert found["pypi/b@1.1"].folder


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_of_a_repository_lead_nowhere(project: Path, home: Path) -> None:
    write(project, {"requirements.txt": "a\nb\n", "package.json": '{"dependencies": {"c": "1"}}'})
    install(site_of(home / "other"), "a", "1.0")
    (project / ".venv").symlink_to(home / "other")
    site = site_of(project / "venv")
    install(site, "b", "1.0")
    write(home, {"private/secret.py": "", "private/package.json": '{"name": "c", "version": "1.0.0"}'})
    (site / "b" / "__init__.py").unlink()
    (site / "b").rmdir()
    (site / "b").symlink_to(home / "private")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "c").symlink_to(home / "private")
    found = listed(project, home)
    assert found["pypi/a"].missing == "not installed"
    assert "leads out" in found["pypi/b@1.0"].missing
    assert found["npm/c"].missing == "not installed"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_npm_and_pnpm_layouts(project: Path, home: Path) -> None:
    def package(name: str, version: str) -> str:
        return json.dumps({"name": name, "version": version})

    write(
        project,
        {
            "package.json": json.dumps(
                {
                    "name": "root",
                    "workspaces": ["packages/*"],
                    "devDependencies": {"typescript": "^5", "lost": "1"},
                }
            ),
            "packages/app/package.json": json.dumps(
                {"name": "app", "dependencies": {"@scope/lib": "1", "root": "*"}}
            ),
            "node_modules/typescript/package.json": package("typescript", "5.9.0"),
            "node_modules/typescript/node_modules/inner/package.json": package("inner", "0.1.0"),
            "node_modules/.bin/tsc": "",
            "node_modules/.pnpm/@scope+lib@1.0.0/node_modules/@scope/lib/package.json": package(
                "@scope/lib", "1.0.0"
            ),
            "node_modules/.pnpm/deep@2.0.0/node_modules/deep/package.json": package("deep", "2.0.0"),
        },
    )
    (project / "packages/app/node_modules/@scope").mkdir(parents=True)
    real = project / "node_modules/.pnpm/@scope+lib@1.0.0/node_modules/@scope/lib"
    (project / "packages/app/node_modules/@scope/lib").symlink_to(real)
    (project / "node_modules/app").symlink_to(project / "packages/app")
    found = listed(project, home)
    assert found["npm/@scope/lib@1.0.0"].folder == real
    assert found["npm/@scope/lib@1.0.0"].direct
    assert not found["npm/inner@0.1.0"].direct
    assert found["npm/deep@2.0.0"].folder
    assert found["npm/lost"].missing == "not installed"
    assert not {each.name for each in found.values()} & {"app", "root"}


@pytest.mark.skipif(os.name == "nt", reason="needs links and FIFOs")
def test_hostile_files_are_passed_over(project: Path, home: Path) -> None:
    """Links to devices, FIFOs and folders elsewhere, odd names and patterns: the rest is listed."""
    write(project, {"requirements.txt": "endless\nwaiting\ngood\nprivate\n"})
    site = site_of(project / ".venv")
    install(site, "good", "1.0")
    write(site, {"endless-1.0.dist-info/RECORD": "", "waiting-1.0.dist-info/top_level.txt": "/etc\n..\n"})
    (site / "endless-1.0.dist-info" / "METADATA").symlink_to("/dev/zero")
    os.mkfifo(site / "waiting-1.0.dist-info" / "METADATA")
    install(home / "elsewhere", "private", "1.0")
    (project / "venv" / "lib" / "python3.12").mkdir(parents=True)
    write(project, {"venv/pyvenv.cfg": "home = /usr/bin\n"})
    (project / "venv" / "lib" / "python3.12" / "site-packages").symlink_to(home / "elsewhere")
    for number in range(9):
        (project / f"l{number}").symlink_to(project)
    patterns = ["", ".", "./", "**b", "../*", "/etc", "*/" * 9 + "*", "\0"]
    manifest = {"workspaces": patterns, "dependencies": {"left": "1", "\ud800": "1"}}
    write(project, {"package.json": json.dumps(manifest), "node_modules/left/package.json": '{"name": 1}'})
    write(project, {"pyproject.toml": "x = ["})
    write(
        project,
        {"pnpm-workspace.yaml": "-" + " " * 3_000 + "x" + "\n" * 3_000},
    )
    found = listed(project, home)
    assert found["pypi/good@1.0"].folder
    assert {label for label in found if not found[label].missing} == {"pypi/good@1.0"}
    assert found["pypi/private"].missing == "not installed"


def test_names_and_versions_that_no_package_has_are_left_out(project: Path, home: Path) -> None:
    site = project / ".venv/lib/python3.12/site-packages"
    write(project, {"requirements.txt": "good\n", ".venv/pyvenv.cfg": ""})
    for name, version in (("good", "1.0"), ("evil", "1\x1b[2J"), ("worse\x9b", "1"), ("l" * 400, "1")):
        write(site, {f"{name[:9]}-1.dist-info/METADATA": f"Name: {name}\nVersion: {version}\n\nText"})
    write(project, {"package.json": json.dumps({"dependencies": {"a b": "1", "c\nd": "1", "fine": "1"}})})
    assert set(listed(project, home)) == {"pypi/good@1.0", "npm/fine"}
