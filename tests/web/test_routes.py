"""What the page is told: the library's answers as JSON, and its errors with what to do."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from .served import HOSTILE, Home, Served, make_project, serving, until


@pytest.fixture(scope="module")
def here(page: Served) -> str:
    """The id of the project that the page was started in."""
    identity = page.ask("projects")[1]["here"]
    assert isinstance(identity, str)
    return identity


def test_projects(page: Served, indexed: tuple[Home, Path], here: str) -> None:
    status, told = page.ask("projects")
    assert status == 200
    assert told["start"] == str(indexed[1])
    (project,) = told["projects"]
    assert (project["id"], project["path"], project["status"]) == (here, str(indexed[1]), "ready")
    assert project["languages"]["python"] == 34
    assert project["queryReady"]
    assert project["run"] is None


def test_a_project(page: Served, here: str) -> None:
    told = page.ask(f"projects/{here}", disk=1)[1]
    assert told["pendingChanges"] == 0
    assert set(told["parts"]) == {"text and structure", "keywords", "vectors"}
    assert sum(told["parts"].values()) <= told["storageBytes"]


def test_search_says_why(page: Served, here: str) -> None:
    told = page.ask(f"projects/{here}/search", q="price after a discount")[1]
    first = told["results"][0]
    assert first["path"] == "src/shop/prices.py"
    assert first["startLine"] <= first["focusLine"] <= first["endLine"]
    assert first["why"]["semantic"] > 0
    assert told["searchTimeMs"] > 0


def test_history_of_a_folder_without_commits(page: Served, here: str) -> None:
    told = page.ask(f"projects/{here}/history", q="why is there a discount")[1]
    assert told["results"] == []
    assert "no commit here" in told["warning"]
    assert page.ask(f"projects/{here}/history")[0] == 400


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"q": ""}, "INVALID_ARGUMENT"),
        ({"q": "x", "mode": "magic"}, "INVALID_ARGUMENT"),
        ({"q": "x", "limit": "-1"}, "INVALID_ARGUMENT"),
        ({"q": "x", "limit": "9" * 5000}, "INVALID_ARGUMENT"),
        ({"q": "x", "offset": "many"}, "INVALID_ARGUMENT"),
        ({"q": "x", "offset": "0" * 10 + "9" * 5000}, "INVALID_ARGUMENT"),  # security 19
        ({"q": "(", "mode": "regex"}, "INVALID_PATTERN"),
    ],
)
def test_wrong_questions(page: Served, here: str, asked: dict[str, str], code: str) -> None:
    status, told = page.ask(f"projects/{here}/search", **asked)
    assert (status, told["code"]) == (400, code)
    assert told["userMessage"]


def test_an_unknown_project(page: Served) -> None:
    assert page.ask("projects/0123/search", q="x")[0] == 400
    assert page.ask("projects/%2e%2e/search", q="x")[0] == 400


def test_a_file_as_it_is(page: Served, here: str) -> None:
    told = page.ask(f"projects/{here}/file", path="src/shop/hostile.py")[1]
    assert "\n".join(told["lines"]) == HOSTILE
    assert told["language"] == "python"


@pytest.mark.parametrize(
    "path", [".env", "build/out.py", "logo.png", "../shop/src/shop/cart.py", "/etc/passwd", "", "no.py"]
)
def test_files_that_are_not_indexed_are_not_shown(page: Served, here: str, path: str) -> None:
    status, told = page.ask(f"projects/{here}/file", path=path)
    assert status in (400, 404)
    assert "lines" not in told


def test_what_was_left_out(page: Served, here: str) -> None:
    told = page.ask(f"projects/{here}/skipped")[1]
    reasons = {skip["path"]: skip["reason"] for skip in told["skipped"]}
    assert reasons[".env"] == "denied"
    assert reasons["logo.png"] == "binary"
    assert told["total"] == len(reasons)
    only = page.ask(f"projects/{here}/skipped", reason="binary")[1]
    assert {skip["path"] for skip in only["skipped"]} == {"logo.png"}


def test_dependencies(page: Served, here: str) -> None:
    listed = page.ask(f"projects/{here}/dependencies")[1]["dependencies"]
    assert [(each["name"], each["missing"]) for each in listed] == [
        ("absent", "not installed"),
        ("teatime", None),
    ]
    asked = {"q": "boil the water", "dependency": "pypi/teatime"}
    _, answer = page.ask(f"projects/{here}/dependencies/search", "POST", **asked)
    (hit,) = answer["results"]
    assert hit["path"] == "dep://pypi/teatime@1.0/teatime/kettle.py"
    _, shown = page.ask(f"projects/{here}/file", path=hit["path"])
    assert shown["lines"][0] == "def heat(litres):"
    assert page.ask(f"projects/{here}/dependencies")[1]["dependencies"][1]["indexed"]


def test_a_get_changes_nothing(page: Served, here: str) -> None:
    assert page.request("GET", f"/api/projects/{here}/index").status == 405
    assert page.ask(f"projects/{here}")[1]["run"] is None


class TestIndexing:
    @pytest.fixture
    def fresh(self, tmp_path: Path) -> tuple[Home, Path]:
        return Home(tmp_path), make_project(tmp_path / "shop")

    def test_no_project_at_all(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        with serving(Home(tmp_path), tmp_path / "empty") as page:
            told = page.ask("projects")[1]
            assert (told["projects"], told["here"]) == ([], None)

    def test_a_run_that_fails_says_why(self, fresh: tuple[Home, Path]) -> None:
        home, root = fresh
        (root / ".findspot.json").write_text('{"maxFiles": 2}')
        with serving(home, root) as page:
            identity = page.ask("projects")[1]["here"]
            page.ask(f"projects/{identity}/index", "POST")
            error = until(lambda: page.ask(f"projects/{identity}")[1]["run"]["error"])
            assert error["code"] == "FILE_LIMIT_WARNING"
            page.ask(f"projects/{identity}/index", "POST", large=1)
            until(lambda: page.ask(f"projects/{identity}")[1]["run"]["report"])

    def test_stopping_the_page_stops_its_run(self, fresh: tuple[Home, Path]) -> None:
        home, root = fresh
        for number in range(400):
            (root / f"more_{number}.py").write_text(f"def more_{number}():\n    return {number}\n")
        with serving(home, root) as page:
            identity = page.ask("projects")[1]["here"]
            page.ask(f"projects/{identity}/index", "POST")
            assert page.ask(f"projects/{identity}/cancel", "POST")[0] == 200
            until(lambda: not page.ask(f"projects/{identity}")[1]["run"]["running"])
            page.ask(f"projects/{identity}/index", "POST")
            assert page.stop() in (0, 128 + signal.SIGTERM)


class TestRelations:
    def test_the_map_of_a_folder(self, page: Served, here: str) -> None:
        told = page.ask(f"projects/{here}/map")[1]
        paths = {part["path"]: part for part in told["parts"]}
        assert told["at"] == ""
        assert paths["src"]["folder"]
        assert not paths["pyproject.toml"]["folder"]
        inside = page.ask(f"projects/{here}/map", under="src")[1]
        assert inside["at"] == "src/shop"
        parts = {part["path"]: part for part in inside["parts"]}
        assert parts["src/shop/parts"]["files"] == 30
        assert len(parts["src/shop/parts"]["inside"]) == 24
        assert page.ask(f"projects/{here}/map", under="nowhere")[0] == 400

    def test_callers_and_callees(self, page: Served, here: str) -> None:
        prices, cart = {"path": "src/shop/prices.py"}, {"path": "src/shop/cart.py"}

        def related(relation: str, **place: Any) -> tuple[str | None, set[str]]:
            told = page.ask(f"projects/{here}/dependents", relation=relation, **place)[1]
            return told["subject"], {node["name"] for node in told["nodes"] if node["hop"]}

        assert related("callers", **prices, line=6) == ("price_of", {"Cart.total", "discounted"})
        assert related("callees", **cart, line=17) == ("Cart.total", {"price_of"})
        assert related("callees", **cart, line=1, symbol="Cart.total")[0] == "Cart.total"
        outside = page.ask(f"projects/{here}/dependents", **prices, line=1, relation="callers")[1]
        assert outside["subject"] is None
        assert [node["path"] for node in outside["nodes"] if node["hop"]] == ["src/shop/cart.py"]

    def test_what_depends_on_a_passage(self, page: Served, here: str) -> None:
        place = {"path": "src/shop/prices.py", "line": 6}
        reached = page.ask(f"projects/{here}/dependents", **place, relation="impact")[1]
        assert reached["subject"] == "price_of"
        assert {"Cart.total", "discounted"} <= {each["name"] for each in reached["nodes"]}
        assert {each["test"] for each in reached["nodes"]} == {True, False}
        tests = page.ask(f"projects/{here}/dependents", **place, relation="tests")[1]
        assert tests["nodes"][0]["path"] == "tests/test_cart.py"
        assert page.ask(f"projects/{here}/dependents", **place, relation="nonsense")[0] == 400
        assert page.ask(f"projects/{here}/dependents", **place)[0] == 400
