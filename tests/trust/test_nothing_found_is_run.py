"""Nothing that lies in a project is run: no module, no program, no command of its git configuration."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from findspot.core.platforms import find_program
from findspot.search.query_filters import changed_since
from program import Program
from trust.conftest import MakeFolder, Serve, run_git

MARK = "ran"
TRAP = "import os, pathlib; pathlib.Path(os.environ['TRAP_MARK']).write_text(__file__)\nraise SystemExit(3)\n"
MODULES = ("findspot.py", "findspot/__main__.py", "findspot/__init__.py", "sitecustomize.py",
           "usercustomize.py", "numpy.py", "json.py", "mcp.py")  # fmt: skip
PROGRAMS = ("git", "git.exe", "git.cmd", "less", "rg", "python", "python3", "xdg-open")


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a trap writes when it runs."""
    path = tmp_path / MARK
    monkeypatch.setenv("TRAP_MARK", str(path))
    return path


@pytest.fixture
def hostile(make: MakeFolder, mark: Path) -> Path:
    """A repository full of modules and programs with the names of ours."""
    files = {"app.py": "def pump_water():\n    return 'water'\n"} | dict.fromkeys(MODULES, TRAP)
    root = make(files, "hostile", git=True)
    for name in PROGRAMS:
        trap(root / name, mark)
    return root


def trap(path: Path, mark: Path) -> str:
    path.write_text(f"#!/bin/sh\necho {path.name} >> {shlex.quote(str(mark))}\nexit 1\n")
    path.chmod(0o755)
    return str(path)


def test_nothing_of_a_hostile_repository_runs(
    hostile: Path, mark: Path, findspot: Program, serve: Serve
) -> None:
    """security 1: `findspot doctor` ran the repository's findspot.py; the PATH here looks into it too."""
    environment = {"PATH": os.pathsep.join(["", ".", os.environ["PATH"], "bin"])}
    for arguments in (
        ["doctor"],
        ["index"],
        ["search", "pump water", "--changed-since", "HEAD", "--json"],
        ["search", "pump.*", "--mode", "regex", "--json"],
    ):
        done = findspot(*arguments, cwd=hostile, env=environment)
        assert not mark.exists(), f"{arguments}: {mark.read_text()}"
        assert arguments == ["doctor"] or done.code == 0, done.err
    pipe = serve(hostile, **environment)
    found = pipe.values("search_code", query="pump water", changed_since="HEAD")
    assert not mark.exists(), mark.read_text()
    assert "app.py" not in {result["path"] for result in found["results"]}


class TestPrograms:
    def test_relative_entries_of_the_path_count_for_nothing(
        self, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """security 3: on Windows, and with `.` on the PATH, a committed `git` would run."""
        trap(tmp_path / "git", mark)
        monkeypatch.chdir(tmp_path)
        assert find_program("git", os.pathsep.join(["", "."])) is None
        found = find_program("git", os.pathsep.join(["", ".", os.environ["PATH"]]))
        assert found
        assert Path(found).is_absolute()
        assert Path(found).parent != tmp_path


def repository(make: MakeFolder, name: str = "repository") -> Path:
    root = make({"kept.py": "kept = 1\n", "edited.py": "edited = 1\n"}, name, git=True)
    (root / "edited.py").write_text("edited = 2\n")
    return root


class TestGit:
    """security 3: a repository's git configuration names programs; a search runs none of them."""

    def test_programs_of_the_configuration(self, make: MakeFolder, tmp_path: Path, mark: Path) -> None:
        root = repository(make)
        program = trap(tmp_path / "program", mark)
        for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.d.command",
                    "diff.d.textconv", "filter.a=b.clean", "filter.c.process"):  # fmt: skip
            run_git(root, "config", key, program)
        run_git(root, "config", "filter.c.required", "true")
        run_git(root, "config", "core.hooksPath", str(tmp_path))
        trap(tmp_path / "post-index-change", mark)
        (root / ".git/info/attributes").write_text("edited.py filter=a=b diff=d\nkept.py filter=c\n")
        (root / "kept.py").touch()
        assert changed_since(root, "HEAD") == {"edited.py"}
        assert not mark.exists(), mark.read_text()

    def test_a_filter_of_the_users_own(
        self, make: MakeFolder, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A filter such as git-lfs reads further programs from the repository's configuration."""
        root = repository(make)
        home = tmp_path / "user"
        home.mkdir()
        (home / ".gitconfig").write_text(f'[filter "lfs"]\n clean = {trap(tmp_path / "lfs", mark)}\n')
        monkeypatch.setenv("HOME", str(home))
        (root / ".gitattributes").write_text("*.py filter=lfs\n")
        assert changed_since(root, "HEAD") == {"edited.py", ".gitattributes"}
        assert not mark.exists(), mark.read_text()

    def test_a_filter_of_a_submodule(self, make: MakeFolder, tmp_path: Path, mark: Path) -> None:
        inner = make({"inner.txt": "one\n"}, "inner", git=True)
        root = repository(make)
        run_git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
        run_git(root, "commit", "-qm", "add a submodule")
        run_git(root / "sub", "config", "filter.x.clean", trap(tmp_path / "clean", mark))
        (root / ".git/modules/sub/info").mkdir(exist_ok=True)
        (root / ".git/modules/sub/info/attributes").write_text("*.txt filter=x\n")
        (root / "sub/inner.txt").write_text("two\n")
        assert changed_since(root, "HEAD") == {"edited.py"}
        assert not mark.exists(), mark.read_text()

    @pytest.mark.parametrize("way", ["uploadpack", "sshCommand", "ext"])
    def test_a_promisor_remote(self, make: MakeFolder, tmp_path: Path, mark: Path, way: str) -> None:
        """A missing object is fetched from a promisor remote, by a command of the configuration."""
        root = repository(make)
        program = trap(tmp_path / "fetch", mark)
        address = {
            "uploadpack": str(tmp_path),
            "sshCommand": "ssh://host/repository",
            "ext": f"ext::{program}",
        }
        for key, value in {
            "core.repositoryformatversion": "1",
            "core.sshCommand": program,
            "extensions.partialClone": "origin",
            "protocol.allow": "always",
            "protocol.ext.allow": "always",
            "remote.origin.promisor": "true",
            "remote.origin.uploadpack": program,
            "remote.origin.url": address[way],
        }.items():
            run_git(root, "config", key, value)
        tree = run_git(root, "rev-parse", "HEAD^{tree}").strip()
        (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
        for revision in ("HEAD", "1" * 40):
            with pytest.raises(Exception, match=r"git could not say|is not a revision of"):
                changed_since(root, revision)
        assert not mark.exists(), mark.read_text()
