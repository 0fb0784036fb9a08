"""`where: history` and `findspot history`, through a real client and the real program."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Connect
from e2e.harness import text_of
from findspot.search.token_budget import token_count
from program import Program
from repositories import Repository

CART = "def total(items):\n    return sum(items)\n\n\ndef add(item):\n    return [item]\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository(tmp_path_factory.mktemp("history") / "shop")
    repository.commit("Begin", cart=CART, till="OPEN = True\n")
    repository.commit(
        "Round totals\n\nTills cannot give half a cent.",
        cart=CART.replace("sum(items)", "round(sum(items), 2)"),
    )
    repository.commit("Drop the discount", rules="RULES = ()\n")
    return repository


def test_an_assistant_asks_why(connect: Connect, repository: Repository) -> None:
    with connect(repository.root) as server:
        server.values("index_codebase", path=str(repository.root), confirm=True)
        answer = server.call(
            "search_code", query="why are half cents rounded", where="history", max_tokens=300
        )
        values = answer.structured_content
        assert isinstance(values, dict)
        first = values["results"][0]
        assert first["subject"] == "Round totals"
        assert first["sentence"] == "Tills cannot give half a cent."
        assert first["changed"] == [{"path": "cart.py", "definitions": ["total"]}]
        assert token_count(text_of(answer)) <= 300
        place = server.values("search_code", query="cart.py:1-2", where="history")
        assert [each["subject"] for each in place["results"]] == ["Round totals", "Begin"]
        assert server.refusal("search_code", query="x", where="elsewhere")[0] == "INVALID_ARGUMENT"


def test_a_person_asks_the_program(repository: Repository, tmp_path: Path) -> None:
    findspot = Program(home=tmp_path / "home", cwd=repository.root)
    findspot.make_index(repository.root)
    asked = findspot("history", "when did the discount go away")
    assert asked.code == 0
    assert "Drop the discount" in asked.out.splitlines()[0]
    by_symbol = findspot("history", "total", "--json").json
    assert [each["subject"] for each in by_symbol["results"]] == ["Round totals", "Begin"]
    below = repository.root / "web"
    below.mkdir()
    from_below = findspot("history", "../cart.py:1-2", "--json", cwd=below).json
    assert from_below["results"] == by_symbol["results"]
    (repository.root / "till.py").unlink()  # committed with everything else, and never changed
    assert "Begin" in findspot("history", "till.py").out
    nowhere = findspot("history", "cart.py:1-2", "--project", tmp_path)
    assert "There is no commit here" in nowhere.out
