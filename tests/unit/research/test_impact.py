"""What depends on a symbol, and what a removed one leaves behind."""

from __future__ import annotations

from pathlib import Path

from findspot.graph import Node
from findspot.research.impact import Impact, certainty_of, impact_of
from graphs import graph_of

PROJECT = {
    "shop/prices.py": """
def _round(value):
    return round(value, 2)


def total(items):
    return _round(sum(items))


class Rate:
    def of(self, amount):
        return amount


class Reduced(Rate):
    def of(self, amount):
        return amount / 2
""",
    "shop/cart.py": """
from shop.prices import Rate, total


def checkout(items):
    return total(items)


def tax(rate: Rate, amount):
    return rate.of(amount)
""",
    "shop/page.py": """
from shop.cart import checkout


def show(items):
    return checkout(items)
""",
    "tests/test_prices.py": """
from shop.prices import total


def test_total():
    assert total([1]) == 1
""",
}


def impact(tmp_path: Path, name: str, depth: int = 2) -> Impact:
    with graph_of(PROJECT, tmp_path) as graph:
        return impact_of(graph, graph.find(name), depth)


def reached(found: Impact) -> list[tuple[str, int]]:
    return [(affected.node.id, affected.distance) for affected in found.affected]


def test_production_comes_before_tests_and_near_before_far(tmp_path: Path) -> None:
    found = impact(tmp_path, "total")
    assert reached(found) == [
        ("shop/cart.py", 1),
        ("shop/cart.py#checkout", 1),
        ("shop/page.py#show", 2),
        ("tests/test_prices.py", 1),
        ("tests/test_prices.py#test_total", 1),
    ]


def test_a_private_helper_shows_who_reaches_it(tmp_path: Path) -> None:
    found = impact(tmp_path, "_round", depth=3)
    assert ("shop/cart.py#checkout", 2) in reached(found)
    assert ("shop/page.py#show", 3) in reached(found)


def test_overrides_implementers_and_type_uses_are_reached(tmp_path: Path) -> None:
    assert ("shop/prices.py#Reduced.of", 1) in reached(impact(tmp_path / "a", "Rate.of"))
    of_type = reached(impact(tmp_path / "b", "Rate"))
    assert ("shop/prices.py#Reduced", 1) in of_type
    assert ("shop/cart.py#tax", 1) in of_type


def test_a_call_of_the_base_method_is_possible_only(tmp_path: Path) -> None:
    found = impact(tmp_path, "Reduced.of", depth=1)
    (tax,) = [affected for affected in found.affected if affected.node.name == "tax"]
    assert certainty_of(tax.confidence) == "possible"


def gone(path: str, qualified: str, kind: str = "function") -> Node:
    name = qualified.rpartition(".")[2]
    return Node(path, 1, 2, name, qualified, kind, f"{path}#{qualified}")


def test_a_removed_function_leaves_its_import_and_its_calls(tmp_path: Path) -> None:
    files = PROJECT | {"shop/late.py": "import shop.prices\n\nX = shop.prices.discount(1)\n"}
    files["shop/cart.py"] += "\n\nfrom shop.prices import discount as less\n\nprint(less(3))\n"
    with graph_of(files, tmp_path) as graph:
        found = impact_of(graph, [], 1, [gone("shop/prices.py", "discount")])
    assert [(left.use.path, left.use.line, left.certain) for left in found.leftovers] == [
        ("shop/cart.py", 13, True),
        ("shop/cart.py", 15, True),
        ("shop/late.py", 3, True),
    ]


def test_a_removed_method_may_be_meant_by_a_call_on_something_unknown(tmp_path: Path) -> None:
    files = PROJECT | {"shop/late.py": "def late(thing):\n    return thing.refund_all()\n"}
    with graph_of(files, tmp_path) as graph:
        found = impact_of(graph, [], 1, [gone("shop/prices.py", "Rate.refund_all", "method")])
    assert [(left.use.line, left.certain) for left in found.leftovers] == [(2, False)]


def test_a_definition_that_moved_and_is_imported_from_its_new_place_leaves_nothing(tmp_path: Path) -> None:
    with graph_of(PROJECT, tmp_path) as graph:
        assert not impact_of(graph, [], 1, [gone("shop/old.py", "total")]).leftovers


def left_of(files: dict[str, str], node: Node, home: Path) -> list[tuple[str, int, bool]]:
    with graph_of(files, home) as graph:
        found = impact_of(graph, [], 1, [node]).leftovers
    return [(left.use.path, left.use.line, left.certain) for left in found]


def test_a_removed_method_is_missed_by_calls_on_its_type_and_subtypes(tmp_path: Path) -> None:
    files = PROJECT | {
        "shop/late.py": "from shop.prices import Rate, Reduced\n\nRate().refund()\nReduced().refund()\n",
        "shop/other.py": "class Till:\n    def refund(self): ...\n\n\nTill().refund()\n",
    }
    found = left_of(files, gone("shop/prices.py", "Rate.refund", "method"), tmp_path)
    assert found == [("shop/late.py", 3, True), ("shop/late.py", 4, True)]


def test_names_that_files_share_leave_uses_without_an_import(tmp_path: Path) -> None:
    go = {
        "go.mod": "module shop\n",
        "prices/a.go": "package prices\n\nfunc Kept() int { return 1 }\n",
        "prices/b.go": "package prices\n\nfunc Use() int { return Total() }\n",
        "main.go": 'package main\n\nimport "shop/prices"\n\nfunc main() { prices.Total() }\n',
    }
    found = left_of(go, gone("prices/a.go", "Total"), tmp_path / "go")
    assert found == [("main.go", 5, True), ("prices/b.go", 3, True)]
    java = {
        "src/shop/Kept.java": "package shop;\n\nclass Kept {}\n",
        "src/shop/Use.java": "package shop;\n\nclass Use { Gone one = new Gone(); }\n",
        "src/web/Page.java": "package web;\n\nimport shop.Gone;\n\nclass Page { Gone one; }\n",
    }
    found = left_of(java, gone("src/shop/Kept.java", "Gone", "class"), tmp_path / "java")
    assert {(path, line) for path, line, certain in found if certain} == {
        ("src/shop/Use.java", 3),
        ("src/web/Page.java", 3),
        ("src/web/Page.java", 5),
    }
