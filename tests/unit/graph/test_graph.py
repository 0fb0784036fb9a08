"""The questions of the graph, on projects small enough to know every answer."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread

from findspot.graph import Edge, Graph, Node, Outline
from findspot.store.sqlite_store import SqliteStore
from graphs import graph_of, record_of, stored

SHOP = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": """\
from .item import Item


class Cart:
    def __init__(self):
        self.items: list[Item] = []

    def add(self, item: Item):
        item.check()
        self.items.append(item)
        return self

    def total(self):
        return sum(item.price() for item in self.items)
""",
    "shop/item.py": """\
class Priced:
    def price(self):
        raise NotImplementedError


class Item(Priced):
    def price(self):
        return 1

    def check(self):
        return helper(self)


class Book(Item):
    def price(self):
        return super().price() + 1


def helper(item):
    return item.unheard_of().check_out()
""",
    "app.py": """\
import shop
from shop import Cart


def main():
    cart = Cart().add(shop.item.Item())
    return cart.total()


main()
""",
}


def named(graph: Graph, name: str) -> Node:
    (node,) = graph.find(name)
    return node


def sources(edges: list[Edge]) -> list[str]:
    return [edge.source.qualified for edge in edges]


class TestFinding:
    def test_a_node_by_its_id(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            assert graph.node("shop/cart.py#Cart.add") == named(graph, "add")
            file = graph.node("app.py")
            assert file is not None
            assert (file.kind, file.qualified) == ("file", "app.py")
            assert graph.node("gone.py") is None
            assert graph.node("app.py#gone") is None


class TestCalls:
    def test_callers_and_callees(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            assert sources(graph.callers(named(graph, "main"))) == ["app.py"]
            assert sources(graph.callers(named(graph, "total"))) == ["main"]
            called = [edge.target.qualified for edge in graph.callees(named(graph, "main"))]
            assert called == ["Cart", "Cart.add", "Item", "Cart.total"]
            (edge,) = graph.callers(named(graph, "helper"))
            assert (edge.path, edge.line, edge.confidence) == ("shop/item.py", 11, 1.0)

    def test_making_an_instance_calls_the_constructor(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            assert sources(graph.callers(named(graph, "Cart.__init__"))) == ["main"]

    def test_what_is_in_doubt_is_said(self, tmp_path: Path) -> None:
        files = {
            "a.py": "class A:\n    def go_on(self): ...\nclass B:\n    def go_on(self): ...\n",
            "b.py": "import os\ndef run(x):\n    x.go_on()\n    x.nowhere()\n    os.getcwd()\n",
        }
        with graph_of(files, tmp_path) as graph:
            run = named(graph, "run")
            assert graph.callees(run) == []
            left = {(u.name, u.reason, len(u.candidates)) for u in graph.unresolved(run)}
            assert left == {("go_on", "ambiguous", 2), ("nowhere", "unknown", 0), ("getcwd", "external", 0)}


class TestTypes:
    def test_implementers_and_supertypes(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            priced, book = named(graph, "Priced"), named(graph, "Book")
            assert sources(graph.implementers(priced)) == ["Item", "Book"]
            assert sources(graph.implementers(priced, transitive=False)) == ["Item"]
            assert [e.target.name for e in graph.supertypes(book)] == ["Item"]
            assert [e.target.name for e in graph.supertypes(book, transitive=True)] == ["Priced", "Item"]

    def test_overrides(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            found = graph.overrides(named(graph, "Item.price"))
            pairs = [(edge.source.qualified, edge.target.qualified) for edge in found]
            assert pairs == [("Item.price", "Priced.price"), ("Book.price", "Item.price")]


class TestMixins:
    """protocol-and-research B13: `self.m()` in a class that others combine with the one that has `m`."""

    MIXIN = """\
class RedirectMixin:
    limit: int
{declared}
    def follow(self):
        return self.send(self.limit)
"""
    SESSION = """\
from redirects import RedirectMixin


class Session(RedirectMixin):
    def send(self, request):
        return request

    def run(self):
        return self.follow()
"""

    def test_a_mixin_calls_the_method_of_the_class_that_combines_it(self, tmp_path: Path) -> None:
        files = {"redirects.py": self.MIXIN.format(declared=""), "sessions.py": self.SESSION}
        with graph_of(files, tmp_path) as graph:
            (send,) = graph.find("Session.send")
            (edge,) = graph.callers(send)
            assert (edge.source.qualified, edge.confidence) == ("RedirectMixin.follow", 0.6)

    def test_the_only_override_of_a_stub_is_reached(self, tmp_path: Path) -> None:
        stubs = (
            "    def send(self, request: int) -> int: ...",
            "    def send(self, request):\n        raise NotImplementedError",
        )
        for number, declared in enumerate(stubs):
            files = {"redirects.py": self.MIXIN.format(declared=declared), "sessions.py": self.SESSION}
            with graph_of(files, tmp_path / str(number)) as graph:
                (send,) = graph.find("Session.send")
                (edge,) = graph.callers(send)
                assert (edge.source.qualified, edge.confidence) == ("RedirectMixin.follow", 0.6)

    def test_several_candidates_are_shown_on_request(self, tmp_path: Path) -> None:
        other = self.SESSION.replace("Session", "Other")
        files = {
            "redirects.py": self.MIXIN.format(declared=""),
            "sessions.py": self.SESSION,
            "other.py": other,
        }
        with graph_of(files, tmp_path) as graph:
            (send,) = graph.find("Session.send")
            assert graph.callers(send) == []
            (edge,) = graph.callers(send, floor=0.0)
            assert edge.source.qualified == "RedirectMixin.follow"


class TestModules:
    def test_imports_and_importers(self, tmp_path: Path) -> None:
        with graph_of(SHOP, tmp_path) as graph:
            assert [(edge.target.id, edge.mark) for edge in graph.imports_of("app.py")] == [
                ("shop/__init__.py", ""),
                ("shop/__init__.py", "package"),
                ("shop/cart.py#Cart", ""),
            ]
            for place in ("shop/cart.py", "shop.cart"):
                assert [edge.path for edge in graph.importers(place)] == ["app.py", "shop/__init__.py"]
            assert {edge.path for edge in graph.importers("shop")} == {
                "app.py",
                "shop/__init__.py",
                "shop/cart.py",
            }
            assert graph.importers("gone.py") == []

    def test_an_import_of_a_value_leads_to_the_module_that_defines_it(self, tmp_path: Path) -> None:
        """protocol-and-research B5: it led to the class of the value, and never to the package."""
        files = {
            "pkg/__init__.py": "from .codes import codes\nfrom . import tools\n",
            "pkg/structures.py": "class Lookup:\n    pass\n",
            "pkg/codes.py": "from .structures import Lookup\n\ncodes: Lookup = Lookup()\n",
            "pkg/tools.py": "limit = 3\n",
            "use.py": "from pkg import codes, tools\nfrom pkg.codes import codes as known\n",
        }
        with graph_of(files, tmp_path) as graph:
            assert [(e.target.id, e.line, e.mark) for e in graph.imports_of("use.py")] == [
                ("pkg/__init__.py", 1, "package"),
                ("pkg/codes.py#codes", 1, ""),
                ("pkg/tools.py", 1, ""),
                ("pkg/codes.py#codes", 2, ""),
            ]
            assert {edge.path for edge in graph.importers("pkg/structures.py")} == {"pkg/codes.py"}
            assert {edge.path for edge in graph.importers("pkg/__init__.py")} == {"pkg/__init__.py", "use.py"}
            assert ("use.py", "pkg/__init__.py") not in graph.dependencies()

    def test_imports_that_do_not_run_with_their_file_are_marked(self, tmp_path: Path) -> None:
        files = {
            "a.py": "import typing as t\nif t.TYPE_CHECKING:\n    from b import B\nelse:\n"
            "    from b import C\ndef f():\n    from b import D\n",
            "b.py": "B = C = D = 1\n",
            "c.ts": "import type { E } from './d'\nfunction f() { const d = require('./d') }\n",
            "d.ts": "export type E = string\n",
        }
        with graph_of(files, tmp_path) as graph:
            assert [e.mark for e in graph.imports_of("a.py")] == ["typing", "", "local"]
            assert [e.mark for e in graph.imports_of("c.ts")] == ["typing", "local"]
            assert graph.dependencies() == {("a.py", "b.py"): 2, ("c.ts", "d.ts"): 1}

    def test_outline(self, tmp_path: Path) -> None:
        def shown(outlines: list[Outline]) -> list[object]:
            return [(outline.node.name, shown(list(outline.children))) for outline in outlines]

        with graph_of(SHOP, tmp_path) as graph:
            assert shown(graph.outline("shop/cart.py")) == [
                ("Cart", [("__init__", []), ("add", []), ("total", [])])
            ]
            assert graph.outline("gone.py") == []

    def test_a_package_is_told_by_an_empty_init(self, tmp_path: Path) -> None:
        """`import json` in a package that has a module `json` is not that module."""
        files = {"pkg/__init__.py": "x = 1\n", "pkg/json.py": "def loads(): ...\n",
                 "pkg/a.py": "import json\ndef read():\n    return json.loads()\n"}  # fmt: skip
        with graph_of(files, tmp_path) as graph:
            assert graph.callers(named(graph, "loads")) == []


class TestGenerations:
    def test_an_edit_changes_the_edges_of_other_files(self, tmp_path: Path) -> None:
        """Nothing of another file is stored with a file, so that one file is all that an update writes."""
        store = stored(SHOP, tmp_path)
        with store.snapshot() as snapshot:
            graph = Graph(snapshot)
            assert len(graph.callers(named(graph, "total"))) == 1
        with store.writer() as writer:
            writer.put(record_of("shop/cart.py", "class Cart:\n    def add(self, item): ...\n"))
            writer.commit()
        with store.snapshot() as snapshot:
            graph = Graph(snapshot)
            assert graph.find("total") == []
            assert sources(graph.callers(named(graph, "add"))) == ["main"]
            assert graph.callers(named(graph, "check")) == []
        store.close()

    def test_a_graph_reads_from_its_own_snapshot(self, tmp_path: Path) -> None:
        """A second graph of the same thread, closed before a commit, takes nothing from the first."""
        files = {f"use{n}.py": f"from a import f\ndef use{n}():\n    return f()\n" for n in range(3)}
        store = stored({"a.py": "def f(): ...\n", **files}, tmp_path)
        with store.snapshot() as outer:
            graph = Graph(outer)
            with store.snapshot() as inner:
                Graph(inner).outline("a.py")
            with store.writer() as writer:
                for n in (1, 2):
                    writer.remove(f"use{n}.py")
                writer.commit()
            assert sources(graph.callers(named(graph, "f"))) == ["use0", "use1", "use2"]
        store.close()

    def test_threads_share_what_is_known(self, tmp_path: Path) -> None:
        """Each thread compares definitions by identity, so all of them must be given the same objects."""
        switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)  # threads take turns within a question, not after it
        try:
            for number in range(15):
                store = stored(SHOP, tmp_path / str(number))
                assert _callers_from_threads(store) == [["main"]] * 8
                store.close()
        finally:
            sys.setswitchinterval(switch_interval)


def _callers_from_threads(store: SqliteStore) -> list[list[str]]:
    found: list[list[str]] = []

    def ask() -> None:
        with store.snapshot() as snapshot:
            graph = Graph(snapshot)
            found.append(sources(graph.callers(named(graph, "total"))))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
