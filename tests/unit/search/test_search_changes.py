"""Searches among what changed since a revision, in a real repository."""

from __future__ import annotations

import pytest

from contents import MakeProject
from findspot import Project, Query
from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Corpus, Mode
from findspot.search.query_filters import changed_since
from trust.conftest import run_git

FILES = {
    "src/kept.py": "def kept_pump():\n    return 'pump'\n",
    "src/edited.py": "def edited_pump():\n    return 'pump'\n",
    "src/gone.py": "def gone_pump():\n    return 'pump'\n",
    "docs/kept.md": "# Pump\n\nThe pump that stays.\n",
    ".gitignore": "out.py\n",
}


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    """Two commits, and then an edit, a new file and an ignored one that are in neither."""
    project = make_project(FILES)
    root = project.root
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "one")
    run_git(root, "tag", "first")
    (root / "src/second.py").write_text("def second_pump():\n    return 'pump'\n")
    (root / "src/gone.py").unlink()
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "two")
    (root / "src/edited.py").write_text("def edited_pump():\n    return 'another pump'\n")
    (root / "src/naïve new.py").write_text("def new_pump():\n    return 'pump'\n")
    (root / "out.py").write_text("def ignored_pump():\n    return 'pump'\n")
    project.update()
    return project


def found(project: Project, **query: object) -> set[str]:
    asked = Query(**({"text": "pump", "limit": 50} | query))  # type: ignore[arg-type]
    return {hit.path for hit in project.search(asked).hits}


def test_what_changed_is_what_git_says(project: Project) -> None:
    assert changed_since(project.root, "HEAD") == {"src/edited.py", "src/naïve new.py"}
    everything = {"src/edited.py", "src/naïve new.py", "src/second.py", "src/gone.py"}
    assert changed_since(project.root, "first") == everything
    assert changed_since(project.root / "src", "HEAD") == {"edited.py", "naïve new.py"}


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.SEMANTIC, Mode.REGEX])
def test_searches_keep_to_it(project: Project, mode: Mode) -> None:
    assert found(project, mode=mode, changed_since="first") == {
        "src/edited.py",
        "src/naïve new.py",
        "src/second.py",
    }
    assert found(project, mode=mode, changed_since="HEAD", path_filter="**/edited.py") == {"src/edited.py"}


def test_nothing_changed_says_so(project: Project) -> None:
    results = project.search(Query("pump", corpus=Corpus.DOCS, changed_since="first"))
    assert results.hits == ()
    assert results.warning == "No indexed file passes the filters."


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD; rm", "a" * 300, " ", "first\0"])
def test_an_unknown_revision_is_refused(project: Project, revision: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is not a revision of|must name a revision"):
        found(project, changed_since=revision)


def test_outside_a_repository_it_is_refused(make_project: MakeProject) -> None:
    project = make_project({"a.py": "x = 1\n"})
    project.update()
    with pytest.raises(InvalidArgumentError, match="needs a git repository"):
        found(project, changed_since="HEAD")
