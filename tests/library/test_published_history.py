"""Commits in a published index: a reader without git answers about them as the checkout does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot import Project
from findspot.core.errors import InvalidArgumentError
from findspot.core.git import current_commit
from findspot.core.progress import CancelToken
from findspot.history.project_history import Commits
from findspot.publishing import published_store
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.serve.history_answers import ask_history, commits_text
from repositories import Repository

QUESTIONS = (
    "why are half cents rounded",
    "when did the discount go away",
    "slow mirrors time out",
    "step 17 of the counter",
    "an unrelated question about submarines",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = Repository(tmp_path_factory.mktemp("made"))
    repository.commit("Start")
    repository.commit("Begin", cart="def total(items):\n    return sum(items)\n", rules="RULES = (1,)\n")
    repository.commit(
        "Round totals\n\nTills cannot give half a cent.",
        cart="def total(items):\n    return round(sum(items), 2)\n",
    )
    for step in range(24):
        repository.commit(f"Count to {step}\n\nStep {step} of the counter.", counter=f"COUNT = {step}\n")
    repository.commit("Drop the discount", rules="RULES = ()\n")
    return repository.root


@pytest.fixture
def repository(made: Path, tmp_path: Path) -> Repository:
    return Repository(shutil.copytree(made, tmp_path / "shop"))


@pytest.fixture
def project(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(published_store, "LOOK_EVERY_S", 0.0)
    return Project(repository.root)


def publish(project: Project, address: Path, *, with_commits: bool = True) -> tuple[int, int]:
    project.update()
    project.history.wait(CancelToken(), lambda _: None)
    meta = project.store.meta()
    commit = str(current_commit(project.root))
    published = PublishedIndex(str(address))
    made = f"2026-01-15T14:30:{len(published.versions()):02}Z"  # two in one second would be in no order
    version = Version(commit, "main", made, 1, 1, meta["model"], meta["pipeline"])
    return Publisher(published, project.root if with_commits else None).add(version, project.index.own)


@pytest.fixture
def reader(tmp_path: Path) -> Callable[[], Project]:
    def opened() -> Project:
        (tmp_path / "empty").mkdir(exist_ok=True)
        return Project(tmp_path / "empty", {"store": str(tmp_path / "published")})

    return opened


def found(commits: Commits) -> list[tuple[object, ...]]:
    return [(each.commit, each.score, each.sentence) for each in commits.found]


def test_a_reader_ranks_commits_as_the_checkout_does(
    project: Project, repository: Repository, reader: Callable[[], Project], tmp_path: Path
) -> None:
    publish(project, tmp_path / "published")
    far = reader()
    assert found(ask_history(far, QUESTIONS[0], 1))[0][2] == "Tills cannot give half a cent."
    for question in QUESTIONS:
        expected = found(ask_history(project, question, 10))
        assert found(ask_history(far, question, 10)) == expected, question
        assert found(ask_history(far, question, 3, 2)) == expected[2:5]
    assert "published index" in str(ask_history(far, QUESTIONS[0], 1).warning)

    repository.commit("Wait longer for slow mirrors", client="TIMEOUT = 30\n")
    files_sent, bytes_sent = publish(project, tmp_path / "published")
    assert files_sent == 1
    assert bytes_sent < 20_000
    for question in QUESTIONS:
        assert found(ask_history(far, question, 10)) == found(ask_history(project, question, 10)), question
    repository.git("reset", "-q", "--hard", "HEAD~2")
    publish(project, tmp_path / "published")
    again = reader()
    for question in QUESTIONS:
        subjects = {each.commit.subject for each in ask_history(again, question, 40).found}
        assert subjects.isdisjoint({"Wait longer for slow mirrors", "Drop the discount"})


def test_a_place_gets_the_commits_that_changed_its_file(
    project: Project, reader: Callable[[], Project], tmp_path: Path
) -> None:
    publish(project, tmp_path / "published")
    far = reader()
    for place in ("cart.py", "cart.py:1-2", "total"):
        answer = ask_history(far, place, 10)
        assert [each.commit.subject for each in answer.found] == ["Round totals", "Begin"], place
        assert ("not its lines alone" in str(answer.warning)) == (place != "cart.py")
    with pytest.raises(InvalidArgumentError, match=r"No file car\.py"):
        ask_history(far, "car.py", 10)


def test_a_version_without_commits_says_so(
    project: Project, reader: Callable[[], Project], tmp_path: Path
) -> None:
    publish(project, tmp_path / "published", with_commits=False)
    for question in (QUESTIONS[0], "cart.py"):
        answer = ask_history(reader(), question, 10)
        assert "No commits are published" in commits_text(answer)
