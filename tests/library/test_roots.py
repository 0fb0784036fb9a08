"""Several folders as one logical index: `roots` in a project's configuration."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project, Query
from findspot.core.config import set_value
from findspot.core.errors import InvalidArgumentError
from findspot.core.model import IndexState, Mode
from findspot.core.paths import Roots, find_roots

FILES = {
    "services/api/login.py": "def log_in(user):\n    return check(user)\n",
    "services/api/.gitignore": "secret_plan.py\n",
    "services/api/secret_plan.py": "plan = 1\n",
    "web/page.js": "export function renderPage() {\n  return 1;\n}\n",
    "web/node_modules/dep.js": "x = 1;\n",
    "web/README.md": "# Pages\n\nHow pages are drawn.\n",
    "elsewhere.py": "def not_in_any_root():\n    return 0\n",
}
PATHS = ["api/login.py", "web/README.md", "web/page.js"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    root = tmp_path / "workspace"
    write_files(root, FILES)
    configure(root, "services/api", "web")
    return root


@pytest.fixture
def project(workspace: Path) -> Iterator[Project]:
    project = Project(workspace)
    project.update()
    yield project
    project.close()


def configure(root: Path, *folders: str) -> None:
    (root / ".findspot.json").write_text(json.dumps({"roots": folders}))


def test_paths_begin_with_the_names_of_the_folders(project: Project) -> None:
    assert [path for path in project.files()[0] if not path.startswith("web/.")] == [
        "api/.gitignore",
        *PATHS,
    ]
    (hit, *_) = project.search(Query("log_in")).hits
    assert (hit.path, project.roots / hit.path) == ("api/login.py", project.root / "services/api/login.py")


def test_patterns_find_lines_in_every_root(project: Project) -> None:
    found = project.search(Query(r"return (check|1)", mode=Mode.REGEX)).hits
    assert [hit.path for hit in found] == ["api/login.py", "web/page.js"]
    assert project.files("api/**/*.py")[0] == ["api/login.py"]


def test_answers_are_as_the_disk_is(project: Project) -> None:
    (project.root / "services/api/login.py").write_text("# moved down\n\n" + FILES["services/api/login.py"])
    (hit, *_) = project.search(Query("log_in")).hits
    assert hit.span.start == 3
    assert project.status().pending_changes == 1
    (project.root / "services/api/login.py").unlink()
    assert "api/login.py" not in {hit.path for hit in project.search(Query("log_in")).hits}
    assert "api/login.py" not in project.files()[0]


def test_one_file_by_any_of_its_names(project: Project) -> None:
    file = project.root / "services/api/login.py"
    for number, name in enumerate(("api/login.py", "api/../api/login.py", str(file))):
        file.write_text(f"def entrance_{number}():\n    return 1\n")
        assert project.reindex_file(name) > 0
        assert project.search(Query(f"entrance_{number}")).hits[0].path == "api/login.py"
    for outside in (str(project.root / "elsewhere.py"), "../elsewhere.py"):
        with pytest.raises(InvalidArgumentError, match="outside the project"):
            project.reindex_file(outside)


def test_nothing_outside_the_roots_is_read(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/other.py").write_text("def private():\n    return 'not ours'\n")
    (project.root / "services/api/linked").symlink_to(tmp_path / "outside")
    (project.root / "web/linked.js").symlink_to(project.root / "elsewhere.py")
    project.update()
    assert {skip.path for skip in project.skipped("symlink")} == {"api/linked", "web/linked.js"}
    for text in ("not ours", "not_in_any_root"):
        assert project.search(Query(text, mode=Mode.REGEX)).hits == ()


def test_other_roots_take_the_place_of_the_old_ones(project: Project, tmp_path: Path) -> None:
    write_files(tmp_path / "shared", {"util.py": "def shared_helper():\n    return 1\n"})
    (project.root / ".findspot.json").unlink()
    set_value(project.store.folder / "config.json", "roots", ["services/api", "../shared"])
    project.update()
    assert [path for path in project.files()[0] if path.endswith("py")] == ["api/login.py", "shared/util.py"]
    set_value(project.store.folder / "config.json", "roots", [])
    project.update()
    assert "services/api/login.py" in project.files()[0]
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


def test_a_folder_that_is_gone_does_not_empty_the_index(project: Project) -> None:
    shutil.move(project.root / "web", project.root / "away")
    with pytest.raises(InvalidArgumentError, match=r"roots: The folder '.*web' is not there"):
        project.update()
    status = project.status()
    assert (status.state, status.total_files) == (IndexState.READY, 4)
    assert "web' is not there" in str(status.last_error)
    shutil.move(project.root / "away", project.root / "web")
    assert "web/page.js" in project.files()[0]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["services/api", "other/api"], "Two folders are named 'api'"),
        (["services", "services/api"], "lie in each other"),
        (["."], None),
        ([".", "web"], "lie in each other"),
        (["../elsewhere"], "outside the project"),
        (["/"], "outside the project"),
        ([".git"], "hard deny list"),
        (["services/node_modules/x"], "hard deny list"),
        (["services/.env.d"], "hard deny list"),
    ],
)
def test_what_is_refused(workspace: Path, wanted: list[str], said: str | None) -> None:
    def ask(where: Callable[..., Roots]) -> Roots:
        return where(workspace, wanted, inside_only=True)

    if said is None:
        assert ask(find_roots).folders == (workspace,)
    else:
        with pytest.raises(InvalidArgumentError, match=said) as refused:
            ask(find_roots)
        assert refused.value.hint


def test_the_deny_list_holds_for_the_users_own_roots(project: Project) -> None:
    """`security 8`: surface 7 says that no setting overrides it."""
    set_value(project.store.folder / "config.json", "roots", ["web", "../elsewhere/.git"])
    assert project.roots.folders == (project.root / "services/api", project.root / "web")
    assert "none on the deny list" in project.settings.warnings[0]
