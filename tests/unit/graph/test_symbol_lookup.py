"""Names as people write them: qualified, through packages that hand them on, by path and line, misspelt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.graph import Graph
from graphs import graph_of

FILES = {
    "src/shop/__init__.py": "from .helpers import price_of\nfrom .app import Shop\n",
    "src/shop/app.py": (
        "class Shop:\n    def open(self):\n        return 1\n\n    def price_of(self):\n        return 2\n"
    ),
    "src/shop/helpers.py": (
        "def price_of(item):\n    return 1\n\n\n"
        "def unrelated():\n    def inner():\n        return 1\n    return inner\n"
    ),
    "web/vault.js": "export class Vault {\n  #secret() {}\n}\n",
    "java/com/acme/Till.java": "package com.acme;\n\nclass Till {\n    int count() { return 1; }\n}\n",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with graph_of(FILES, Path(tmp_path_factory.mktemp("symbols"))) as graph:
        yield graph


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("price_of", ["src/shop/app.py#Shop.price_of", "src/shop/helpers.py#price_of"]),
        ("Shop.price_of", ["src/shop/app.py#Shop.price_of"]),
        ("shop.helpers.price_of()", ["src/shop/helpers.py#price_of"]),
        ("shop.price_of", ["src/shop/helpers.py#price_of"]),
        ("shop.Shop.open", ["src/shop/app.py#Shop.open"]),
        ("shop.app.Shop::open", ["src/shop/app.py#Shop.open"]),
        ("src/shop/helpers.py#price_of", ["src/shop/helpers.py#price_of"]),
        ("helpers.py::price_of", ["src/shop/helpers.py#price_of"]),
        ("shop/helpers.py:7", ["src/shop/helpers.py#unrelated.inner"]),
        ("src/shop/helpers.py:3", []),
        ("com.acme.Till.count", ["java/com/acme/Till.java#Till.count"]),
        ("acme.Till", ["java/com/acme/Till.java#Till"]),
        ("Vault.#secret", ["web/vault.js#Vault.#secret"]),
        ("#secret", ["web/vault.js#Vault.#secret"]),
        ("vault.js#Vault.#secret", ["web/vault.js#Vault.#secret"]),
        ("SHOP.OPEN", ["src/shop/app.py#Shop.open"]),
        ("bank.price_of", []),
        ("nothing", []),
    ],
)
def test_names_as_people_write_them(graph: Graph, name: str, ids: list[str]) -> None:
    """protocol-and-research B11."""
    assert [node.id for node in graph.find(name)] == ids


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("bank.price_of", ["Shop.price_of", "price_of"]),
        ("prise_of", ["Shop.price_of", "price_of"]),
        ("unrelate", ["unrelated"]),
        ("nosuchfunction", []),
        ("no_such_unrelated_name_anywhere", []),
    ],
)
def test_names_close_to_an_unknown_one(graph: Graph, name: str, near: list[str]) -> None:
    assert [node.qualified for node in graph.symbols.near(name)] == near
