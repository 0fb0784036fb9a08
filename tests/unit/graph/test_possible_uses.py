"""Places that may use a definition, and uses that a removed one leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from contents import MakeProject
from findspot.graph import Node
from findspot.research.findings import Aim, Inquiry
from graphs import graph_of

CONSTRUCTORS = {
    "a.py": "class Base:\n    def __init__(self, x): ...\n\nclass Child(Base): ...\n\nclass Other(Base):\n"
    "    def __init__(self): ...\n\ndef make():\n    Other()\n    return Child(1)\n"
}


def test_making_an_heir_calls_the_constructor_that_it_inherits(tmp_path: Path) -> None:
    with graph_of(CONSTRUCTORS, tmp_path) as graph:
        (made,) = graph.find("Base.__init__")
        assert [(edge.source.name, edge.line) for edge in graph.callers(made)] == [("make", 11)]


def test_a_property_is_called_where_it_is_read(tmp_path: Path) -> None:
    text = (
        "class Box:\n    @property\n    def size(self):\n        return 1\n\n"
        "def use(box: Box):\n    return box.size\n"
    )
    with graph_of({"a.py": text}, tmp_path) as graph:
        (use,) = graph.doubts.callers(graph.find("Box.size")).places
        assert (use.line, use.reason) == (7, "read as an attribute")


def test_a_decorator_gets_what_it_decorates(tmp_path: Path) -> None:
    text = "from web import app\n\n@app.route('/')\ndef index(): ...\n\n@staticmethod\ndef plain(): ...\n"
    with graph_of({"a.py": text}, tmp_path) as graph:
        (use,) = graph.doubts.callers(graph.find("index")).places
        assert (use.line, use.reason) == (3, "handed to the decorator app.route")
        assert graph.doubts.callers(graph.find("plain")).places == []


def test_imports_of_a_removed_file_are_left_behind(tmp_path: Path) -> None:
    files = {
        "sub/__init__.py": "from os import path\n",
        "sub/use.py": "from sub.gone import gone\n\ndef f():\n    return gone()\n",
        "sub/other.py": "import sub.gone as g\n\ndef f():\n    return g.gone()\n",
        "sub/apart.py": "from else_where.gone import gone\n\ngone()\n",
        "lib/use.js": "import { lost } from './lost.js';\n\nlost();\n",
        "lib/whole.js": "import other from './lost.js';\n\nother();\n",
        "lib/all.js": "export * from './lost.js';\n",
        "lib/through.js": "import { lost as it } from './all.js';\n\nit();\n",
    }
    with graph_of(files, tmp_path) as graph:
        old = Node("sub/gone.py", 1, 2, "gone", "gone", "function", "sub/gone.py#gone")
        certain = [(left.use.path, left.use.line) for left in graph.leftovers.of(old) if left.certain]
        assert certain == [("sub/other.py", 4), ("sub/use.py", 1), ("sub/use.py", 4)]
        old = Node("lib/lost.js", 1, 2, "lost", "lost", "function", "lib/lost.js#lost")
        certain = [(left.use.path, left.use.line) for left in graph.leftovers.of(old) if left.certain]
        names = ("lib/through.js", "lib/use.js", "lib/whole.js")
        assert certain == [(name, line) for name in names for line in (1, 3)]


def test_an_overridden_method_that_is_passed_as_a_value_may_mean_the_one_that_overrides(
    tmp_path: Path,
) -> None:
    code = """
class View:
    def dispatch_request(self): ...

    @classmethod
    def as_view(cls):
        if cls.every_request:
            def view(**kwargs):
                self = view.view_class()
                return ensure_sync(self.dispatch_request)(**kwargs)
        else:
            self = cls()

            def view(**kwargs):
                return ensure_sync(self.dispatch_request)(**kwargs)

        view.view_class = cls
        return view


class MethodView(View):
    def dispatch_request(self): ...
"""
    with graph_of({"views.py": code}, tmp_path) as graph:
        places = graph.doubts.callers(graph.find("MethodView.dispatch_request")).places
        reason = "passed as a value through View.dispatch_request, which it overrides"
        assert [(use.line, use.reason, use.confidence) for use in places] == [
            (10, reason, 0.4),
            (15, reason, 0.4),
        ]


ZOD = {
    "packages/zod/src/v4/schemas.ts": "export function creditCard() {}\nexport class Card { check() {} }\n",
    "packages/docs/a.ts": 'import * as z from "zod/v4";\nz.creditCard();\nnew z.Card().check();\n',
    "packages/docs/b.ts": 'import { creditCard } from "zod";\nexport const made = creditCard();\n',
    "packages/docs/c.ts": 'import { Card } from "zod/v4";\nlet card: Card;\n',
}
"""A package whose name nothing says: what is imported from it looks like another project's."""


@pytest.mark.parametrize(("symbol", "count"), [("creditCard", "2 uses"), ("Card.check", "1 use")])
def test_uses_that_are_taken_for_another_packages_are_counted(
    symbol: str, count: str, make_project: MakeProject
) -> None:
    project = make_project(ZOD)
    project.update()
    said = project.research(Inquiry(relation=Aim.CALLERS, symbol=symbol)).summary
    assert f"No caller was found; {count} of that name lead" in said


def test_with_its_manifest_a_package_is_known_by_its_name(make_project: MakeProject) -> None:
    manifest = {"packages/zod/package.json": '{"name": "zod", "main": "src/v4/schemas.ts"}'}
    named = {path: text.replace('"zod/v4"', '"zod"') for path, text in ZOD.items()}
    project = make_project({**named, **manifest})
    project.update()
    found = project.research(Inquiry(relation=Aim.CALLERS, symbol="creditCard"))
    assert {edge.path for edge in found.edges} == {"packages/docs/a.ts", "packages/docs/b.ts"}
    assert "elsewhere" not in found.summary
