"""How `benchmarks.issues` counts: ranks, changed functions, shown lines, and the baseline."""

from __future__ import annotations

from pathlib import Path

from benchmarks.issues import (
    FUNCTIONS,
    OUTER,
    Issue,
    changed_functions,
    functions_of,
)
from benchmarks.metrics import Place, all_within, any_within, ranks
from tests.graphs import graph_of

from findspot.core.model import Hit, Mode, Query, Results, Span

SHAPES = """\
import math

class Circle:
    sides = 0

    @property
    def area(self):
        return math.pi

    def grow(self):
        self.radius += 1

def draw():
    return 1
"""


def patch_of(*hunks: str) -> str:
    return "diff --git a/shapes.py b/shapes.py\n--- a/shapes.py\n+++ b/shapes.py\n" + "".join(hunks)


def issue_of(patch: str) -> Issue:
    return Issue("a-1", "swe", "a/a", "c0ffee", "text", patch, (Place("shapes.py", 1, 1),))


def test_strict_accuracy_wants_every_file() -> None:
    found = ranks(["a.py", "b.py", "c.py"], ["c.py", "a.py", "gone.py"])
    assert found == [3, 1, None]
    assert [all_within(found[:2], k) for k in (1, 3)] == [0.0, 1.0]
    assert all_within(found, 10) == 0.0
    assert any_within(found, 1) == 1.0
    assert any_within(found[2:], 10) == 0.0


def test_changed_functions_are_the_innermost_around_each_change(tmp_path: Path) -> None:
    in_method = "@@ -8 +8 @@\n-        return math.pi\n+        return 3\n"
    in_class = "@@ -4 +4 @@\n-    sides = 0\n+    sides = 1\n"
    in_module = "@@ -1 +1 @@\n-import math\n+import cmath\n"
    added = "@@ -10,0 +11 @@\n+        self.grown = True\n"
    with graph_of({"shapes.py": SHAPES}, tmp_path) as graph:
        issue = issue_of(patch_of(in_module, in_class, in_method, added))
        assert changed_functions(graph, issue) == ["shapes.py#Circle.area", "shapes.py#Circle.grow"]
        assert changed_functions(graph, issue, OUTER)[0] == "shapes.py#Circle"
        assert changed_functions(graph, issue_of(patch_of(in_module)), OUTER) == []


def test_a_hit_counts_for_the_function_that_it_is_named_after(tmp_path: Path) -> None:
    def hit(first: int, last: int, name: str | None, focus: int | None = None) -> Hit:
        span = Span(first, last)
        return Hit("shapes.py", span, "", 1.0, "", "python", breadcrumb=name, definition=span, focus=focus)

    hits = (
        hit(6, 8, "Circle > area"),
        hit(3, 4, "Circle"),
        hit(13, 14, None, 14),
        hit(6, 8, "Circle > area"),
    )
    answer = Results("text", Mode.HYBRID, hits, len(hits), 0, 0.0)

    def ask(query: Query) -> Results:
        return answer

    with graph_of({"shapes.py": SHAPES}, tmp_path) as graph:
        found = functions_of(ask, "text", graph, FUNCTIONS)
    assert found == ["shapes.py#Circle.area", "shapes.py#draw"]
