"""Which fixture a parameter of a test asks for, and what the fixture gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.facts import Relation
from graphs import graph_of

THINGS = """\
class Base:
    def run(self): ...

class Near(Base):
    def run(self): ...

class Far(Base):
    def run(self): ...
"""


def calls(files: dict[str, str], home: Path) -> dict[str, float]:
    """What the tests of `tests/test_it.py` call, with the confidence."""
    with graph_of({"things.py": THINGS, **files}, home) as graph:
        nodes = [graph.node(f"tests/test_it.py#{name}") for name in ("test_it", "TestIt.test_it")]
        found = [edge for node in nodes if node for edge in graph.edges_of(node, (Relation.CALL,))]
        return {edge.target.id: edge.confidence for edge in found}


def gives(text: str, home: Path) -> set[str]:
    """The methods that a test reaches through the fixture `thing` of its own file."""
    head = "from typing import *\nimport pytest\nfrom things import Near, Far\n"
    test = "def test_it(thing):\n    thing.run()\n"
    called = calls({"tests/test_it.py": f"{head}{text}\n{test}"}, home)
    return {target for target in called if target.startswith("things.py")}


NEAR = "from things import Near\nimport pytest\n\n@pytest.fixture\ndef thing():\n    return Near()\n\n"
FAR = NEAR.replace("Near", "Far")
TEST = "def test_it(thing):\n    thing.run()\n"


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.fixture\ndef thing() -> Near: ...",
        "@pytest.fixture(scope='module')\ndef thing():\n    made = Near()\n    return made",
        "@pytest.fixture()\ndef thing():\n    with open('x'):\n        yield Near()",
        "@pytest.fixture\ndef thing() -> Generator[Near, None, None]:\n    yield make()",
        "@pytest.fixture\nasync def thing() -> AsyncIterator[Near]:\n    yield make()",
        "@fixture(name='thing')\ndef other():\n    return Near()",
        "@pytest.fixture\ndef other(): return Near()\n@pytest.fixture\ndef thing(other): return other",
    ],
)
def test_what_a_fixture_gives(text: str, tmp_path: Path) -> None:
    assert gives(text, tmp_path) == {"things.py#Near.run"}


@pytest.mark.parametrize(
    "text",
    [
        "def thing():\n    return Near()",
        "@pytest.fixture\ndef thing() -> list[Near]:\n    return [Near()]",
        "@pytest.fixture\ndef thing():\n    yield from [Near()]",
        "@pytest.fixture(name='other')\ndef thing():\n    return Near()",
        "@pytest.fixture\ndef thing():\n    return Near()\n@pytest.mark.parametrize('a, thing', [])",
        "@pytest.fixture\ndef thing():\n    return Near()\n@pytest.mark.parametrize(NAMES, [])",
    ],
)
def test_what_is_in_doubt_is_left_out(text: str, tmp_path: Path) -> None:
    assert gives(text, tmp_path) == set()


HIDING = "import pytest\n\n@pytest.fixture\ndef thing(thing):\n    return thing\n\n"
CLASSES = """\
import pytest
from things import Near

class Shared:
    @pytest.fixture
    def thing(self) -> Near: ...

class TestIt(Shared):
    def test_it(self, thing):
        thing.run()
"""
PLACES = {
    "the nearest counts": (
        {"conftest.py": FAR, "tests/conftest.py": NEAR, "tests/test_it.py": TEST},
        {"tests/conftest.py#thing": 0.9, "things.py#Near.run": 0.85},
    ),
    "folders share nothing": ({"other/conftest.py": NEAR, "tests/test_it.py": TEST}, {}),
    "nor do files": ({"other/test_other.py": NEAR, "tests/test_it.py": TEST}, {}),
    "imported": (
        {"helpers.py": NEAR, "tests/test_it.py": f"from helpers import thing\n{TEST}"},
        {"helpers.py#thing": 0.95, "things.py#Near.run": 0.85},
    ),
    "the only one of a name is of a plugin": (
        {"plugin.py": NEAR, "tests/test_it.py": TEST},
        {"plugin.py#thing": 0.6, "things.py#Near.run": 0.6},
    ),
    "one of several is not": ({"plugin.py": NEAR, "another.py": FAR, "tests/test_it.py": TEST}, {}),
    "it hides what it asks for": (
        {"tests/conftest.py": NEAR, "tests/test_it.py": HIDING + TEST},
        {"tests/test_it.py#thing": 1.0, "things.py#Near.run": 0.85},
    ),
    "a class inherits it": (
        {"tests/conftest.py": FAR, "tests/test_it.py": CLASSES},
        {"tests/test_it.py#Shared.thing": 0.95, "things.py#Near.run": 0.95},
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_where_a_fixture_is_found(case: str, tmp_path: Path) -> None:
    files, found = PLACES[case]
    assert calls(files, tmp_path) == found


def test_other_functions_ask_for_no_fixtures(tmp_path: Path) -> None:
    inner = "def around():\n    def test_it(thing):\n        thing.run()\n"
    text = f"{NEAR}def run_it(thing):\n    thing.run()\n\n{inner}"
    with graph_of({"things.py": THINGS, "tests/test_it.py": text}, tmp_path) as graph:
        (thing,) = graph.find("thing")
        assert graph.callers(thing) == []
