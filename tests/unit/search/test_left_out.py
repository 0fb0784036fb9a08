"""A file that is left out and fits the question is named in the answer, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contents import indexed_project
from findspot import Project, Query
from findspot.core.model import Mode
from findspot.serve.project_files import find_files

FILES = {
    "config/.env": "PASSWORD=horse\n",
    "config/secrets.yml": "password: horse\n",
    "certs/server.key": "horse\n",
    "data/user_table.json": '{"name": "horse"}\n' * 20_000,
    "fixtures/data.json": '{"name": "horse"}\n' * 20_000,
    "poetry.lock": "horse\n",
    "app.py": "def load_env():\n    return read('config')\n\n\ndef serve(server):\n    return server.data\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("left-out"), FILES, maxFileSize="100KB") as project:
        yield project


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("how are env variables loaded", "config/.env"),
        ("what is in .env?", "config/.env"),
        ("how are secrets read", "config/secrets.yml"),
        ("where is the server key", "certs/server.key"),
        ("columns of the user table", "data/user_table.json"),
        ("data.json", "fixtures/data.json"),
        ("what does poetry.lock pin", "poetry.lock"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.REGEX])
def test_a_file_that_fits_by_its_name_is_named(
    project: Project, question: str, named: str, mode: Mode
) -> None:
    warning = project.search(Query(question, mode=mode)).warning or ""
    assert warning.count("is left out because") == 1
    assert f"{named} fits the question by its name; it is left out because " in warning
    assert project.research(question).warning == warning


def test_the_reason_is_the_true_one(project: Project) -> None:
    assert "because it holds credentials." in str(project.search(Query("env")).warning)
    assert "because it is larger than maxFileSize." in str(project.search(Query("user table")).warning)
    assert "because such files are never indexed." in str(project.search(Query("poetry.lock")).warning)


@pytest.mark.parametrize(
    "question",
    ["process.env.PORT", "how does the server start", "where is data read from disk", "how is poetry used"],
)
def test_other_questions_are_answered_without_it(project: Project, question: str) -> None:
    assert project.search(Query(question)).warning is None


def test_only_once_and_only_where_it_was_looked_for(project: Project) -> None:
    for query in (
        Query("env", offset=1),
        Query("env", under="certs"),
        Query("env", languages=("python",)),
    ):
        assert "left out" not in str(project.search(query).warning)


def test_a_pattern_for_such_files_finds_none_and_says_why(project: Project) -> None:
    assert find_files(project, None, "**/.env") == (
        [],
        "config/.env fits the pattern; it is left out because it holds credentials.",
    )
    assert find_files(project, None, "**/*.py") == (["app.py"], None)
