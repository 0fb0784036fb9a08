"""What calls, implements or imports a symbol: nothing is denied that is not known, and nothing is hidden."""

from __future__ import annotations

from program import Program

from .conftest import MakeFolder, Serve

BASE = """
def setupmethod(f):
    return f


class Adapter:
    def send(self, request):
        raise NotImplementedError

    def close(self):
        return None


class Mixin:
    def follow(self, response):
        return self.send(response)

    def send(self, request):
        raise NotImplementedError
"""

SESSION = """
from .base import Adapter, Mixin, setupmethod
from .tools import price_of


class Session(Mixin):
    @setupmethod
    def get(self):
        return self.send(None)

    def send(self, request):
        return price_of(request)


class Quiet(Adapter):
    def close(self):
        return 1

    def unused(self):
        return 2


def shut(adapter: Adapter, thing):
    adapter.close()
    thing.finish_up()
    register(on_exit)


def on_exit():
    return 3


class Job:
    def finish_up(self):
        return 1


class Task:
    def finish_up(self):
        return 2
"""

FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/shop/__init__.py": "from .tools import price_of\nfrom .session import Session\n",
    "src/shop/base.py": BASE,
    "src/shop/session.py": SESSION,
    "src/shop/tools/__init__.py": "from .prices import price_of\n",
    "src/shop/tools/prices.py": "def price_of(item):\n    return 1\n\n\ndef shown_in_page():\n    return 2\n",
    "src/shop/worker.py": (
        "import threading\n\n\nclass Worker(threading.Thread):\n    def run(self):\n        return 1\n"
    ),
    "src/shop/page.html": "<p>{{ shown_in_page() }}</p>\n",
    "tests/test_shop.py": (
        "from shop import Session, price_of\n\n\n"
        "def test_send():\n    assert Session().send(None) == 1\n\n\n"
        "def test_price():\n    assert price_of(None) == 1\n"
    ),
}


def test_callers_are_certain_possible_or_known_to_be_none(make: MakeFolder, findspot: Program) -> None:
    """protocol-and-research B3, B13, section 3: decorators, base classes, values, tests, unknown names."""
    project = make(FILES)
    findspot.make_index(project)

    def ask(*words: str) -> str:
        return findspot("research", "--depth", "1", *words, cwd=project).out

    assert "(as a decorator)" in ask("what functions call setupmethod")
    send = ask("what calls Session.send")
    assert send.index("src/shop/session.py") < send.index("tests/test_shop.py")
    assert "Mixin.follow" in send
    alone = ask("--relation", "callers", "--symbol", "Session.send", "--no-tests")
    assert "test_send" not in alone
    assert "1 place in tests left out." in alone
    closed = ask("what calls Quiet.close")
    assert "through Adapter.close, which it overrides" in closed
    assert "Nothing" not in closed
    assert "shut: adapter.close() (confidence 0.4)" in ask(
        "what calls Quiet.close", "--min-confidence", "0.4"
    )
    finish = ask("callers of Job.finish_up")
    assert "No certain caller. 1 place may be one" in finish
    assert "(one of 2 definitions of that name)" in finish
    assert "passed as a value" in ask("callers of on_exit")
    assert "src/shop/page.html:1" in ask("who calls shown_in_page")
    assert "No caller in this project." in ask("is Quiet.unused called anywhere")

    unknown = findspot("research", "what calls prise_of", cwd=project)
    assert unknown.code == 1
    assert unknown.err.startswith("No definition named prise_of in the index. Did you mean price_of (")


def test_a_folder_and_a_package_name_the_symbol_and_hide_nothing(
    make: MakeFolder, findspot: Program, serve: Serve
) -> None:
    """protocol-and-research B6, B10, B11: over MCP, by question and by arguments."""
    project = make(FILES)
    findspot.make_index(project)
    pipe = serve(project)

    def callers(**arguments: object) -> list[str]:
        answer = pipe.values("code_research", depth=1, **arguments)
        return sorted(node["name"] for node in answer["nodes"] if node["hop"] == 1)

    everyone = ["send", "test_price"]
    for symbol in ("shop.price_of", "shop.tools.prices.price_of", "src/shop/tools/prices.py:1"):
        assert callers(relation="callers", symbol=symbol) == everyone
        assert callers(query=f"where do we call {symbol}") == everyone
    for folder in ("src/shop/tools", "tests"):
        assert callers(relation="callers", symbol="price_of", path=str(project / folder)) == everyone
    answer = pipe.values("code_research", query="reverse dependencies of shop.tools.prices", depth=1)
    assert answer["relation"] == "importers"
    assert "src/shop/tools/__init__.py" in answer["files"]
    answer = pipe.values("code_research", query="what does Session.send depend on", depth=1)
    assert (answer["relation"], answer["nodes"][1]["name"]) == ("callees", "price_of")
    answer = pipe.values("code_research", query="what does shop.session depend on", depth=1)
    assert answer["relation"] == "imports"
    answer = pipe.values("code_research", relation="callers", symbol="Worker.run")
    assert answer["summary"].endswith("No caller in this project.")
