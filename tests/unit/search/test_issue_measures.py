"""How `benchmarks.issues` counts: ranks, changed functions, shown lines, and the baseline."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.issues import (
    FUNCTIONS,
    OUTER,
    Issue,
    bm25,
    changed_functions,
    compare,
    functions_of,
    report,
    save,
)
from benchmarks.metrics import Place, all_within, any_within, lines_shown, ranks
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


def test_lines_are_shown_only_where_every_one_is() -> None:
    wanted = [Place("a.py", 3, 5), Place("b.py", 1, 1)]
    assert lines_shown([Place("a.py", 1, 4), Place("a.py", 5, 9), Place("b.py", 1, 2)], wanted) == (
        True,
        True,
    )
    assert lines_shown([Place("a.py", 1, 4)], wanted) == (False, True)
    assert lines_shown([Place("c.py", 1, 9)], wanted) == (False, False)


def test_bm25_prefers_rare_words_and_short_files() -> None:
    documents = {
        "long.py": Counter(parse=1, filler=50),
        "short.py": Counter(parse=1, filler=2),
        "rare.py": Counter(quirk=1, filler=2),
        "none.py": Counter(filler=2),
    }
    assert bm25(documents, Counter(parse=1, quirk=1)) == ["rare.py", "short.py", "long.py"]


def test_report_and_comparison_use_the_ranks_of_each_issue(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "id": "a-1",
        "repo": "a/a",
        "part": "swe",
        "files": [1, 4],
        "functions": [2, None],
        "definitions": [2, None],
        "bm25": [1, None],
        "lines": (False, True),
        "not_held": 0,
        "cpu": 0.01,
        "wall": 0.02,
    }
    table = "\n".join(report([row]))
    assert "| Python | 1 | Findspot | 0.000 / 0.000 / 1.000 / 1.000 |" in table
    assert "| | | ceiling | 0.000 / 1.000 / 1.000 / 1.000 |" in table
    assert "Acc@5 against BM25 +1.000" in table
    save([row], tmp_path / "run.json")
    earlier = json.loads((tmp_path / "run.json").read_text())["issues"]
    better = row | {"functions": [2, 9]}
    assert "all: functions Acc@10 against before +1.000 (+1.000 … +1.000)" in list(compare([better], earlier))
