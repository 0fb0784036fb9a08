"""The same options mean the same, whether they come through a tool, a command or the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness import Pipe
from web.served import Home, Served


@pytest.fixture(scope="module")
def pipe(indexed: tuple[Home, Path]) -> Iterator[Pipe]:
    home, root = indexed
    with Pipe(home.folder / "home", root) as pipe:
        pipe.initialize()
        yield pipe


@pytest.fixture
def answers(indexed: tuple[Home, Path], page: Served, pipe: Pipe) -> Callable[..., list[dict[str, Any]]]:
    """What the tool, the command and the page answer to the same options."""

    def ask(options: dict[str, Any]) -> list[dict[str, Any]]:
        listed = {"languages": [options["languages"]]} if "languages" in options else {}
        from_tool = pipe.values("search_code", format="json", max_tokens=50_000, **(options | listed))
        project = page.ask("projects")[1]["projects"][0]["id"]
        status, from_page = page.ask(f"projects/{project}/search", **options)
        assert status == 200
        return [from_tool, from_command(*indexed, options), from_page]

    return ask


def from_command(home: Home, root: Path, options: dict[str, Any]) -> dict[str, Any]:
    named = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "query"]
    words = [options["query"]] if "query" in options else []
    answer: dict[str, Any] = home.program(root)("search", "--json", "--no-update", *named, *words).json
    return answer


def places(answer: dict[str, Any]) -> list[tuple[str, int, int, str | None]]:
    return [
        (found["path"], found["startLine"], found["endLine"], found.get("symbol"))
        for found in answer["results"]
    ]


KETTLE = "dep://pypi/teatime@1.0/teatime/kettle.py"


@pytest.mark.parametrize(
    ("options", "mode", "first"),
    [
        ({"query": "price of an article"}, "hybrid", "src/shop/prices.py"),
        ({"query": "price", "semantic_weight": 0}, "keyword", "src/shop/prices.py"),
        ({"query": "price", "semantic_weight": 1}, "semantic", "src/shop/prices.py"),
        ({"query": "price", "semantic_weight": 0.3, "limit": 3, "offset": 1}, "hybrid", None),
        ({"query": "part number", "top_k": 4}, "hybrid", None),
        ({"query": "total", "extensions": "*.js, .mjs"}, "hybrid", "web/basket.js"),
        ({"query": "total", "languages": "javascript"}, "hybrid", "web/basket.js"),
        ({"query": "total", "path_filter": "src/**", "exclude": "src/shop/cart.py"}, "hybrid", None),
        ({"query": "total", "include_tests": "no", "group_by": "file"}, "hybrid", None),
        ({"query": "total", "group_by": "symbol"}, "hybrid", None),
        ({"query": r"def \w+_of\(", "mode": "regex"}, "regex", "src/shop/prices.py"),
        ({"similar_to": "src/shop/cart.py:13-15"}, None, None),
        ({"query": "boil water", "dependency": "teatime"}, "hybrid", KETTLE),
        ({"similar_to": f"{KETTLE}:1-2"}, None, None),
    ],
)
def test_the_same_is_asked(
    options: dict[str, Any], mode: str | None, first: str | None, answers: Callable[..., list[dict[str, Any]]]
) -> None:
    given = answers(options)
    assert places(given[0]) == places(given[1]) == places(given[2])
    modes = {answer["searchMode"] for answer in given}
    assert modes == {mode} if mode else len(modes) == 1
    assert len({answer["totalResults"] for answer in given}) == 1
    if first:
        assert given[0]["results"][0]["path"] == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"query": "a", "mode": "magic"}, "'mode' must be one of"),
        ({"query": "a", "group_by": "page"}, "'group_by' must be one of"),
        ({"query": "a", "include_tests": "maybe"}, "'include_tests' must be one of"),
        ({"query": "a", "offset": "many"}, "'offset' must be a whole number"),
        ({"query": "a", "semantic_weight": "much"}, "semantic_weight"),
    ],
)
def test_the_same_is_refused(options: dict[str, str], said: str, page: Served, pipe: Pipe) -> None:
    project = page.ask("projects")[1]["projects"][0]["id"]
    status, refused = page.ask(f"projects/{project}/search", **options)
    assert status == 400
    assert said in json.dumps(refused)
    told = pipe.call("search_code", **options)
    assert told["isError"]
    assert said in told["content"][0]["text"]
