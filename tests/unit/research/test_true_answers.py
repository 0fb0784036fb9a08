"""Answers say nothing that the code does not: about cycles, registered functions, and unread languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contents import MakeProject, indexed_project
from findspot import Findings, Inquiry, Project
from findspot.research.findings import Aim
from findspot.serve.research_answers import fitted_report

SESSIONS = {
    "web/sessions.py": (
        "from web import hooks\n\n\n"
        "class Session:\n"
        "    def send(self, request):\n"
        "        hooks.dispatch(request)\n"
        "        return self.follow(request)\n\n"
        "    def follow(self, request):\n"
        "        return self.send(request)\n\n\n"
        "def get(url):\n"
        "    return Session().send(url)\n"
    ),
    "web/hooks.py": "import web.sessions\n\n\ndef dispatch(request):\n    return request\n",
    "web/__init__.py": "",
    "web/signals.py": (
        "from web.connections import close_old\n\n\n"
        "class Signal:\n"
        "    def connect(self, receiver):\n"
        "        self.receiver = receiver\n\n\n"
        "started = Signal()\n"
        "started.connect(close_old)\n"
    ),
    "web/connections.py": "def close(): ...\n\n\ndef close_old():\n    close()\n",
    "web/loop.py": (
        "def serve(handler):\n    handler()\n\n\n"
        "def listen():\n    serve(respond)\n\n\n"
        "def respond():\n    write()\n\n\n"
        "def write(): ...\n"
    ),
}
UNREAD = {
    "lib/cart.ex": "defmodule Cart do\n  def total(items) do\n    Enum.sum(items)\n  end\nend\n",
    "lib/order.ex": "defmodule Order do\n  def price(items) do\n    Cart.total(items)\n  end\nend\n",
    "test/cart_test.exs": 'test "the total" do\n  assert Cart.total([1]) == 1\nend\n',
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("web"), SESSIONS) as project:
        yield project


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("shop"), UNREAD) as project:
        yield project


def asked(project: Project, aim: Aim, symbol: str, depth: int = 2, to: str = "") -> Findings:
    return project.research(Inquiry(relation=aim, symbol=symbol, depth=depth, to=to))


def direct(found: Findings) -> list[str]:
    return [found.names[far.id] for near, far, _ in found.steps() if near.hop == 0]


class TestCycles:
    def test_what_a_function_calls_is_not_among_its_callers(self, web: Project) -> None:
        found = asked(web, Aim.CALLERS, "Session.send")
        assert sorted(direct(found)) == ["Session.follow", "get"]
        report = fitted_report(found, 2_000)
        assert "return self.send(request)" in report
        assert "self.follow(request)" not in report

    def test_a_file_is_not_among_its_own_importers(self, web: Project) -> None:
        found = asked(web, Aim.IMPORTERS, "web/hooks.py", depth=3)
        assert direct(found) == ["web/sessions.py"]
        assert "web/hooks.py\n" not in fitted_report(found, 2_000).partition("\n")[2]


class TestRegisteredFunctions:
    def test_a_change_reaches_where_a_caller_is_registered(self, web: Project) -> None:
        found = asked(web, Aim.IMPACT, "close")
        assert ("web/signals.py", 10) in {(edge.path, edge.line) for edge in found.edges}

    def test_a_path_goes_through_functions_that_are_passed_on(self, web: Project) -> None:
        found = asked(web, Aim.PATH, "listen", to="write")
        assert found.summary == (
            "listen reaches write in 2 steps: "
            "listen (web/loop.py:5) → passes respond (web/loop.py:9) → write (web/loop.py:13)."
        )


class TestUnreadLanguages:
    """A definition that search finds is never said to be missing from the index."""

    @pytest.mark.parametrize("aim", [Aim.CALLERS, Aim.USES, Aim.IMPACT])
    def test_a_name_is_looked_for_as_a_word(self, shop: Project, aim: Aim) -> None:
        found = asked(shop, aim, "Cart.total")
        assert not found.unknown
        assert "found by its name alone" in found.summary
        assert found.summary.endswith("The graph does not read Elixir.")
        assert ("lib/order.ex", 3) in {(place.path, place.line) for place in found.possible}
        assert "Cart.total(items)" in fitted_report(found, 2_000)

    @pytest.mark.parametrize("aim", [Aim.IMPORTERS, Aim.IMPACT])
    def test_a_file_is_said_to_be_indexed(self, shop: Project, aim: Aim) -> None:
        found = asked(shop, aim, "lib/cart.ex")
        assert not found.unknown
        assert found.summary == (
            "lib/cart.ex is indexed. The graph does not read Elixir, so what refers to it is not known."
        )

    @pytest.mark.parametrize("symbol", ["lib/cart.ex", "Cart.total"])
    def test_tests_are_found_by_their_names(self, shop: Project, symbol: str) -> None:
        assert asked(shop, Aim.TESTS, symbol).nodes[0].path == "test/cart_test.exs"

    def test_what_is_nowhere_is_said_to_be_nowhere(self, shop: Project) -> None:
        assert asked(shop, Aim.CALLERS, "Cart.nothing").unknown
        assert asked(shop, Aim.IMPACT, "lib/nothing.ex").unknown


VALUES = {
    "a.py": (
        "LIMIT = 5\nSPARE = 6\nHANDLER = make()\n\n\n"
        "def f():\n    return LIMIT\n\n\n"
        "def g():\n    HANDLER()\n"
    ),
    "b.py": (
        "from a import LIMIT\n\n\n"
        "class Box:\n    size = 3\n\n"
        "    def fits(self, x=LIMIT):\n        return self.size\n"
    ),
    "c.py": "LIMIT = 7\n\n\ndef other():\n    return LIMIT\n",
    "m.ts": "export const LIM = 5;\nexport function f() { return LIM + 1; }\n",
    "n.ts": 'import { LIM } from "./m";\nexport const g = () => LIM * 2;\n',
    "l.rb": "module Net\n  TOP = 3\nend\n",
    "o.rb": "module Net\n  def f(n) = n > TOP\nend\n",
    "k.go": "package k\n\nconst Most = 3\n\nfunc F() int {\n\treturn Most\n}\n",
}


class TestValues:
    """The graph follows no constants and variables: their uses are listed by name, and never denied."""

    @pytest.fixture(scope="module")
    def values(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
        with indexed_project(tmp_path_factory.mktemp("values"), VALUES) as project:
            yield project

    def test_uses_are_listed_by_name(self, values: Project) -> None:
        for symbol, places in {
            "a.py#LIMIT": {"a.py:7", "b.py:1", "b.py:7"},
            "m.ts#LIM": {"m.ts:2", "n.ts:1", "n.ts:2"},
            "Box.size": {"b.py:8"},
            "Most": {"k.go:6"},
            "Net.TOP": {"o.rb:2"},
        }.items():
            for aim in (Aim.USES, Aim.IMPACT):
                found = asked(values, aim, symbol)
                assert {f"{each.path}:{each.line}" for each in (*found.possible, *found.edges)} == places
        assert {place.source for place in asked(values, Aim.USES, "Most").possible} == {"F"}

    def test_nothing_is_denied(self, values: Project) -> None:
        found = asked(values, Aim.CALLERS, "HANDLER")
        assert [(each.path, each.line) for each in (*found.possible, *found.edges)] == [("a.py", 11)]
        assert asked(values, Aim.USES, "SPARE").summary.endswith("No use was found.")


@pytest.mark.parametrize("folder", ["src", "code"])
def test_a_package_without_init_is_found_and_an_empty_one_is_noticed(
    make_project: MakeProject, folder: str
) -> None:
    calls = "from pkg.store import make_store\n\n\ndef {}():\n    return make_store()\n"
    project = make_project(
        {
            f"{folder}/pkg/store.py": "def make_store():\n    return 1\n",
            f"{folder}/pkg/app.py": calls.format("run"),
            "tests/test_store.py": calls.format("test_store"),
        }
    )
    project.update()
    in_tests = "2 (1 in tests)" if folder == "src" else "1: run"
    assert f"is called by {in_tests}" in asked(project, Aim.CALLERS, "make_store").summary
    (project.root / folder / "pkg" / "__init__.py").touch()
    project.update()
    assert "is called by 2 (1 in tests)" in asked(project, Aim.CALLERS, "make_store").summary
