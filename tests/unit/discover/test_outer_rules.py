"""Rules from outside a project's root: git's answer for a package is the answer for the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from contents import files_wanted, write_files
from findspot.core.model import SkipReason
from findspot.discover.ignore import global_excludes, state_above
from findspot.discover.walk import classify, walk
from trust.conftest import run_git

FILES = {
    ".gitignore": "*.gen.py\npackages/api/private/\n/top.py\n",
    ".findspotignore": "*.own.py\n!kept.gen.py\n",
    "packages/.gitignore": "api/local.py\n!b.gen.py\n",
}
NAMES = "pyproject.toml a.py b.gen.py c.gen.py kept.gen.py d.own.py local.py top.py private/s.py excluded.py"
FILES |= {f"packages/api/{path}": "" for path in NAMES.split()}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with no git configuration yet."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def repository(user: Path, tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    write_files(root, FILES)
    run_git(root, "init", "-q")
    write_files(root, {".git/info/exclude": "excluded.py\n"})
    return root


def paths(root: Path, **policy: bool) -> list[str]:
    return [file.path for file in walk(root, files_wanted(**policy)).files]  # type: ignore[arg-type]


def test_the_repositorys_rules_hold_in_a_package(repository: Path) -> None:
    """search-mcp B1: a package with its own marker, a folder named as a path."""
    package = repository / "packages/api"
    assert paths(package) == ["a.py", "b.gen.py", "pyproject.toml", "top.py"]
    whole = [path for path in paths(repository) if path.startswith("packages/api/")]
    assert [f"packages/api/{path}" for path in paths(package)] == whole
    listed = run_git(package, "ls-files", "-co", "--exclude-standard").split()
    assert paths(package) == sorted({*listed} - {"d.own.py"}), "git itself agrees"
    skips = {skip.path: skip for skip in walk(package, files_wanted()).skips}
    assert skips["c.gen.py"].detail == "../../.gitignore: *.gen.py"
    assert classify(package, "private/s.py", files_wanted()) == skips["private/"]
    assert "c.gen.py" in paths(package, respect_gitignore=False)
    assert "d.own.py" not in paths(package, respect_gitignore=False)


def test_git_ignores_no_tracked_file(repository: Path) -> None:
    ignored = ["packages/api/c.gen.py", "packages/api/excluded.py", "packages/api/private/s.py"]
    write_files(repository, {"packages/api/private/deep/t.py": "", "packages/api/private/other.py": ""})
    assert not set(ignored) & set(paths(repository))
    run_git(repository, "add", "-f", *ignored)
    assert set(ignored) <= set(paths(repository))
    package = repository / "packages/api"
    assert {"c.gen.py", "excluded.py", "private/s.py"} <= set(paths(package))
    assert classify(package, "private/s.py", files_wanted()).path == "private/s.py"
    skips = {skip.path: skip.detail for skip in walk(package, files_wanted()).skips}
    rule = "../../.gitignore: packages/api/private/"
    assert skips["private/deep/"] == skips["private/other.py"] == rule
    assert classify(package, "private/deep/t.py", files_wanted()).path == "private/deep/"
    run_git(repository, "rm", "-rq", "--cached", "packages")
    assert not set(ignored) & set(paths(repository))


def test_tracked_files_are_left_out_by_findspots_own_rules(repository: Path) -> None:
    write_files(repository, {"dist/a.js": "a", ".env": "A=1"})
    run_git(repository, "add", "-f", ".")
    found = paths(repository)
    assert "packages/api/c.gen.py" in found
    assert not {"packages/api/d.own.py", "dist/a.js", ".env"} & set(found)
    excluded = walk(repository, files_wanted(exclude=("*.gen.py",)))
    assert not [file.path for file in excluded.files if "gen" in file.path]


@pytest.mark.parametrize("kind", ["split", "sparse", "fourth version", "worktree", "separate folder"])
def test_every_form_of_gits_list_is_read(repository: Path, kind: str, tmp_path: Path) -> None:
    run_git(repository, "add", "-f", ".")
    run_git(repository, "commit", "-qm", "all")
    root = repository
    if kind == "split":
        run_git(root, "update-index", "--split-index")
    elif kind == "sparse":
        run_git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "packages/api")
    elif kind == "fourth version":
        run_git(root, "update-index", "--index-version", "4")
    elif kind == "worktree":
        root = tmp_path / "linked"
        run_git(repository, "worktree", "add", "-q", str(root))
    else:
        run_git(root, "init", "-q", f"--separate-git-dir={tmp_path / 'elsewhere'}")
    found = walk(root, files_wanted())
    assert {"packages/api/c.gen.py", "packages/api/private/s.py"} <= {file.path for file in found.files}
    assert not [note for note in found.notes if "tracked" in note]


@pytest.mark.parametrize("kind", ["no git", "a damaged list"])
def test_without_gits_list_ignore_files_alone_decide(
    repository: Path, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_git(repository, "add", "-f", ".")
    if kind == "no git":
        (tmp_path / "empty").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    else:
        (repository / ".git/index").write_bytes(b"DIRC\0\0\0\7junk")
    found = walk(repository, files_wanted())
    listed = {file.path for file in found.files}
    assert ("packages/api/a.py" in listed, "packages/api/c.gen.py" in listed) == (True, False)
    (note,) = found.notes
    assert note.startswith(f"Git does not tell which files of {repository} are tracked")


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude", "the user's own file"])
def test_our_file_brings_back_only_what_it_leaves_out_itself(
    repository: Path, user: Path, where: str
) -> None:
    """It is committed: it must not bring in what the reader's ignore files leave out."""
    file = user / ".config/git/ignore" if where.startswith("the") else repository / where
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("local.yaml\nprivate/\n")
    own = "!local.yaml\n!private/\n!private/**\n*.tmp\n!kept.tmp\n"
    write_files(repository, {".findspotignore": own, "local.yaml": "a: 1\n", "private/a.md": "a\n"})
    write_files(repository, {"b.tmp": "b\n", "kept.tmp": "c\n", "private/.findspotignore": "!*\n"})
    found = paths(repository)
    assert "kept.tmp" in found
    assert not {"local.yaml", "private/a.md", "b.tmp"} & set(found)


def test_a_linked_worktree_has_the_repositorys_exclude_file(repository: Path) -> None:
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "start")
    worktree = repository / ".claude/worktrees/feature"
    run_git(repository, "worktree", "add", "-q", str(worktree))
    write_files(worktree, {"excluded.py": "", "packages/api/excluded.py": "", "a.py": ""})
    assert paths(worktree) == ["a.py"]
    assert paths(worktree / "packages") == []
    assert walk(repository, files_wanted()).skips[0].reason is SkipReason.REPOSITORY


def test_rules_end_at_the_top_of_the_nearest_checkout(repository: Path) -> None:
    inner = repository / "packages/api/inner"
    write_files(inner, {"c.gen.py": "", "d.own.py": ""})
    run_git(inner, "init", "-q")
    assert paths(inner) == ["c.gen.py", "d.own.py"]


@pytest.mark.parametrize(
    ("files", "environment"),
    [
        ({".config/git/ignore": "notes.txt\n"}, {}),
        ({"xdg/git/ignore": "notes.txt\n"}, {"XDG_CONFIG_HOME": "xdg"}),
        ({".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "notes.txt\n"}, {}),
        ({".gitconfig": "[include]\npath = more\n", "more": "[core] excludesfile=~/m", "m": "/notes.*"}, {}),
        ({"o": '[Core]\nEXCLUDESFILE = "~/mine" # here', "mine": "notes.txt"}, {"GIT_CONFIG_GLOBAL": "o"}),
    ],
)  # fmt: skip
def test_the_users_global_excludes_count(
    user: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    environment: dict[str, str],
) -> None:
    """security 9: `~/.config/git/ignore`, or what `core.excludesFile` names."""
    write_files(user, files)
    for name, path in environment.items():
        monkeypatch.setenv(name, str(user / path))
    if ".config/git/ignore" in files:  # it may be a link
        (user / ".config/git/ignore").rename(user / "linked")
        (user / ".config/git/ignore").symlink_to(user / "linked")
    project = tmp_path / "project"
    write_files(project, {"notes.txt": "", "a.py": ""})
    assert paths(project) == ["a.py"]
    run_git(project, "init", "-q")
    assert run_git(project, "ls-files", "-co", "--exclude-standard").split() == ["a.py"]
    assert paths(project) == ["a.py"]


def test_a_repository_chooses_no_excludes_file(repository: Path) -> None:
    write_files(repository, {"chosen": "*\n"})
    run_git(repository, "config", "core.excludesFile", str(repository / "chosen"))
    assert "packages/api/a.py" in paths(repository)


def test_an_outer_ignore_file_that_cannot_be_used_leaves_everything_out(repository: Path, user: Path) -> None:
    package = repository / "packages/api"
    (repository / "packages/.gitignore").unlink()
    (repository / "packages/.gitignore").symlink_to(repository / ".gitignore")
    found = walk(package, files_wanted())
    assert (found.files, [skip.path for skip in found.skips]) == ([], ["./"])
    assert found.skips == [classify(package, "a.py", files_wanted())]
    (repository / "packages/.gitignore").unlink()
    (user / ".config/git/ignore").mkdir(parents=True)
    assert walk(package, files_wanted()).skips[0].detail == (
        "~/.config/git/ignore: it cannot be read (not a regular file)"
    )


def test_a_home_under_git_says_why_nothing_is_left(user: Path) -> None:
    run_git(user, "init", "-q")
    write_files(user, {".gitignore": "*\n", "work/pyproject.toml": "", "work/a.py": ""})
    found = walk(user / "work", files_wanted())
    assert found.files == []
    assert "git init" in found.notes[0]


def test_changes_above_the_root_are_seen(repository: Path, user: Path) -> None:
    package = repository / "packages/api"
    states = [state_above(package)]
    for path in (repository / ".gitignore", repository / ".git/info/exclude", user / ".config/git/ignore"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("another.py\n")
        states.append(state_above(package))
    write_files(user, {".gitconfig": "[core]\nexcludesFile = ~/mine\n", "mine": "x"})
    states.append(state_above(package))
    run_git(repository, "add", "-f", "packages/api/c.gen.py")
    states.append(state_above(package))
    run_git(repository, "rm", "-q", "--cached", "packages/api/c.gen.py")
    assert state_above(package) == states[-2]
    run_git(repository, "add", "-f", "packages/api/local.py")
    states.append(state_above(package))
    assert len(set(states)) == 7
    assert state_above(package) == states[-1]


def test_an_empty_setting_names_no_excludes(user: Path) -> None:
    write_files(user, {".gitconfig": "[core]\nexcludesFile = ~/mine\n"})
    assert global_excludes() == user / "mine"
    write_files(user, {".gitconfig": "[core]\nexcludesFile =\n"})
    assert global_excludes() is None
    write_files(user, {".gitconfig": "\0[[ no configuration"})
    assert global_excludes() == user / ".config" / "git" / "ignore"
