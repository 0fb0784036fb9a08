"""`findspot config`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from program import Program

Make = Callable[..., Path]


@pytest.fixture
def project(findspot: Program, make_project: Make) -> Path:
    root = make_project()
    findspot.make_index(root)
    return root


def test_it_shows_every_value_with_its_source(findspot: Program, make_project: Make) -> None:
    root = make_project(**{".findspot.json": '{"maxFiles": 7}'})
    done = findspot("config", "--json", cwd=root, env={"FINDSPOT_MAX_FILE_SIZE": "2MB"})
    assert done.code == 0
    values = done.json["values"]
    assert values["maxFiles"] == {"value": 7, "source": ".findspot.json"}
    assert values["maxFileSize"] == {"value": "2MB", "source": "environment"}
    assert values["indexDocs"] == {"value": True, "source": "default"}
    assert done.json["warnings"] == []

    rows = [line.split() for line in findspot("config", cwd=root).out.splitlines()]
    assert rows[0] == ["key", "value", "source"]
    assert ["maxFiles", "7", ".findspot.json"] in rows


def test_get(findspot: Program, make_project: Make) -> None:
    root = make_project()
    assert findspot("config", "get", "maxFileSize", cwd=root).out == "1MB\n"
    assert findspot("config", "get", "maxFiles", "--json", "--project", root).json == {
        "key": "maxFiles",
        "value": 50000,
        "source": "default",
    }


def test_set_in_each_place(findspot: Program, project: Path) -> None:
    assert findspot("config", "set", "maxFiles", "10", "--global", cwd=project).code == 0
    assert json.loads((findspot.home / "config.json").read_text()) == {"maxFiles": 10}
    assert findspot("config", "set", "exclude", "*.js,*.css", "--project", cwd=project).code == 0
    assert json.loads((project / ".findspot.json").read_text()) == {"exclude": ["*.js", "*.css"]}

    done = findspot("config", "set", "maxFiles", "20", "--json", cwd=project).json
    assert (done["value"], done["effective"]) == (20, 20)
    own = json.loads(Path(done["file"]).read_text())
    assert own["maxFiles"] == 20
    assert "_comment" in own, "the rest of the file is kept"
    assert findspot("config", "get", "maxFiles", cwd=project).out == "20\n"
    undone = findspot("config", "unset", "maxFiles", "--json", cwd=project).json
    assert (undone["removed"], undone["effective"]) == (True, 10)
    again = findspot("config", "unset", "maxFiles", cwd=project)
    assert (again.code, again.out.startswith("maxFiles was not set in ")) == (0, True)


def test_set_says_when_another_source_wins(findspot: Program, project: Path) -> None:
    done = findspot(
        "config", "set", "maxFiles", "10", "--global", cwd=project, env={"FINDSPOT_MAX_FILES": "5"}
    )
    assert done.code == 0
    assert "environment overrides it: maxFiles is 5" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("set", "colour", "red"), 2, "no configuration key 'colour'"),
        (("get", "colour"), 2, "no configuration key 'colour'"),
        (("unset", "colour"), 2, "no configuration key 'colour'"),
        (("set", "include", '["\\ud800"]', "--global"), 2, "'include' must be text"),
        (("set", "maxFiles", "many"), 2, "'maxFiles' must be a positive integer"),
        (("set", "embedding.provider", "http", "--project"), 2, "only be set in your own configuration"),
        (("set", "maxFiles", "5"), 3, "hasn't been indexed yet"),
        (("set", "--global", "indexDocs", "maybe"), 2, "true or false"),
    ],
)
def test_set_refuses(
    findspot: Program, make_project: Make, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = findspot("config", *arguments, cwd=make_project())
    assert done.code == code
    assert says in done.err
    assert not findspot.home.exists()


def test_a_file_that_is_not_json_is_not_overwritten(findspot: Program, make_project: Make) -> None:
    root = make_project(**{".findspot.json": "{broken"})
    done = findspot("config", "set", "maxFiles", "5", "--project", cwd=root)
    assert done.code == 2
    assert "not valid JSON" in done.err
    assert (root / ".findspot.json").read_text() == "{broken"
