"""Which tests most likely notice a change, and why."""

from __future__ import annotations

from pathlib import Path

from findspot.graph import Graph
from findspot.rank.roles import is_collected
from findspot.research.changes import Change, FileChange
from findspot.research.related_tests import Candidate, rank_tests
from graphs import stored

PROJECT = {
    "shop/__init__.py": "from shop.prices import total\n",
    "shop/prices.py": "def total(items): return sum(items)\n\n\ndef net(items): return total(items)\n",
    "shop/carts.py": "from shop.prices import net\n\n\nclass Cart:\n    def sum(self): return net([1])\n",
    "shop/mail.py": "def send(text):\n    return text\n",
    "tests/conftest.py": "import pytest\n",
    "tests/test_prices.py": "def test_nothing():\n    assert True\n",
    "tests/test_direct.py": "from shop.prices import total\n\n\ndef test_it():\n    assert total([1]) == 1\n",
    "tests/test_far.py": "from shop.carts import Cart\n\n\ndef test_cart():\n    assert Cart().sum() == 1\n",
    "tests/test_mail.py": "from shop.mail import send\n\n\ndef test_send():\n    assert send('x')\n",
    "tests/data/prices.csv": "1,2\n",
    "tests/apps/prices.py": "from shop.prices import total\n\n\ndef run(): return total([1, 2])\n",
}


def ranked(tmp_path: Path, name: str, history: list[list[str]] | None = None) -> list[Candidate]:
    store = stored(PROJECT, tmp_path)
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        nodes = graph.find(name)
        files = tuple(FileChange(path) for path in dict.fromkeys(node.path for node in nodes))
        found = rank_tests(snapshot, graph, Change(files, tuple(nodes)), history or [])
    store.close()
    return found


def why(found: list[Candidate]) -> dict[str, str]:
    return {candidate.path: "; ".join(candidate.why) for candidate in found}


def test_callers_names_and_imports_count(tmp_path: Path) -> None:
    found = why(ranked(tmp_path, "total"))
    assert "uses total" in found["tests/test_direct.py"]
    assert "imports shop/prices.py" in found["tests/test_direct.py"]
    assert "named like shop/prices.py" in found["tests/test_prices.py"]
    assert "reaches what changed through Cart.sum" in found["tests/test_far.py"]
    assert "tests/test_mail.py" not in found
    reaching = list(found)[:2]
    assert set(reaching) == {"tests/test_direct.py", "tests/test_far.py"}  # before what only has its name


def test_files_that_no_runner_collects_come_last(tmp_path: Path) -> None:
    collected = [is_collected(each.path) for each in ranked(tmp_path, "total")]
    assert collected == sorted(collected, reverse=True)
    assert not all(collected)


def test_functions_are_named_with_the_way_to_the_change(tmp_path: Path) -> None:
    (direct,) = [each for each in ranked(tmp_path, "total") if each.path == "tests/test_direct.py"]
    assert [(node.name, reason) for node, reason in direct.functions.values()] == [("test_it", "uses total")]


def test_files_that_were_committed_together_count(tmp_path: Path) -> None:
    history = [["shop/prices.py", "tests/test_mail.py"], ["shop/prices.py", "tests/test_mail.py", "x"]]
    assert "changed together 2 times" in why(ranked(tmp_path / "a", "total", history))["tests/test_mail.py"]
    large = [["shop/prices.py", "tests/test_mail.py", *(f"file{n}" for n in range(100))]]
    assert "tests/test_mail.py" not in why(ranked(tmp_path / "b", "total", large))


def test_a_changed_test_comes_first(tmp_path: Path) -> None:
    first, *_ = ranked(tmp_path, "test_cart")
    assert (first.path, first.why[0]) == ("tests/test_far.py", "is changed itself")
