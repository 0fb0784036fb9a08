"""What a diff changes: its files, their lines, and the definitions around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from contents import MakeProject
from findspot import Project
from findspot.core.errors import InvalidArgumentError
from findspot.core.git import read_history
from findspot.graph import Graph, Node
from findspot.research.changes import Change, FileChange, parse_diff, pasted_change, read_change, touched
from findspot.research.graph_walks import Trail
from findspot.research.research_view import ResearchView
from trust.conftest import run_git

DIFF = """diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -3,2 +3 @@ def f():
-    old = 1
--- a line that looks like a header
+    new = 1
@@ -9,0 +9,2 @@ def g():
+    one = 1
+    two = 2
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x = 1
diff --git "a/t\\303\\244b\\t.py" "b/t\\303\\244b\\t.py"
new file mode 100644
--- /dev/null
+++ "b/t\\303\\244b\\t.py"
@@ -0,0 +1 @@
+y = 2
diff --git a/picture.png b/picture.png
Binary files a/picture.png and b/picture.png differ
"""


def test_a_diff_is_read_into_lines_of_both_sides() -> None:
    changed, gone, new = parse_diff(DIFF)
    assert changed.old == ((3, 4), (10, 9))
    assert changed.new == ((3, 3), (9, 10))
    assert "one = 1" in changed.text
    assert gone == FileChange("gone.py", ((1, 1),), ((1, 0),), "x = 1", "x = 1", removed=True)
    assert (new.path, new.added) == ("täb\t.py", True)


def test_lines_of_context_belong_to_no_change() -> None:
    diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n\n+five\n-six\n"
    (file,) = parse_diff(diff)
    assert (file.path, file.old, file.new) == ("a", ((2, 2), (5, 5)), ((2, 2), (5, 5)))
    mark = "\\ No newline at end of file\n"
    (file,) = parse_diff(f"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n{mark}+two\n{mark}")
    assert (file.old, file.new, file.text) == (((1, 1),), ((1, 1),), "one\ntwo")


def test_a_line_belongs_to_the_innermost_definition() -> None:
    outer, inner = Node("a", 1, 9, "A", "A", "class", "a#A"), Node("a", 3, 5, "f", "A.f", "method", "a#A.f")
    file = Node("a", 1, 20, "a", "a", "file", "a")
    assert touched([outer, inner], [(4, 4)], file) == [inner]
    assert touched([outer, inner], [(5, 6)], file) == [inner, outer]
    assert touched([outer, inner], [(6, 5)], file) == [outer]  # between two lines
    assert touched([outer, inner], [(15, 16)], file) == [file]
    assert touched([outer, inner], [], file) == []


BEFORE = {
    "a.py": (
        "def kept():\n    return 1\n\n\ndef renamed():\n    return 2\n\n\n"
        "class Shape:\n    def area(self):\n        def inner():\n            return 1\n"
        "        return inner()\n\n    def sides(self):\n        return 4\n"
    ),
    "b.py": "from a import renamed\n\nprint(renamed())\n",
    "c.go": (
        "package c\n\ntype Old struct{}\ntype Cart struct{}\n\nfunc Total() int { return 1 }\n\n"
        "func (c *Cart) Add(n int) int { return n }\n"
    ),
}
AFTER = BEFORE | {
    "a.py": (
        "def kept():\n    return 1\n\n\ndef other():\n    return 2\n\n\n"
        "class Shape:\n    def area(self):\n        return 1\n"
    ),
    "c.go": (
        "package c\n\ntype Cart struct{}\n\nfunc Sum() int { return 1 }\n\n"
        "func (c *Cart) Add(n, m int) int { return n }\n"
    ),
    "new.py": "def fresh(): ...\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    root.mkdir(exist_ok=True)
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8")


def commit(root: Path, files: dict[str, str]) -> None:
    write(root, files)
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "start")


def change(project: Project, since: str | None = None, diff: str = "") -> Change:
    with project.reader() as reader:
        view = ResearchView(reader, Trail(Graph(reader.snapshot)))
        return pasted_change(view, diff) if diff else read_change(view, since)


def test_removed_lines_say_which_definitions_are_gone(make_project: MakeProject) -> None:
    project = make_project({})
    commit(project.root, BEFORE)
    write(project.root, AFTER)
    project.update()
    for diff in ("", run_git(project.root, "diff")):
        found = change(project, diff=diff)
        assert found.paths == ("a.py", "c.go", *(("new.py",) if not diff else ()))
        assert [node.id for node in found.nodes if node.kind != "file"][:1] == ["a.py#other"]
        gone = {node.id: node.kind for node in found.gone}
        assert gone == {
            "a.py#renamed": "function",
            "a.py#Shape.sides": "method",
            "c.go#Old": "class",
            "c.go#Total": "function",
        }


def test_a_diff_that_is_not_applied_takes_nothing_away(make_project: MakeProject) -> None:
    project = make_project({})
    commit(project.root, BEFORE)
    write(project.root, AFTER)
    diff = run_git(project.root, "diff")
    write(project.root, BEFORE)
    project.update()
    found = change(project, diff=diff)
    assert {"a.py#renamed", "c.go#Total"} <= {node.id for node in found.nodes}
    assert found.gone == ()


def test_a_diff_needs_a_repository_with_that_revision(make_project: MakeProject) -> None:
    project = make_project(BEFORE)
    project.update()
    with pytest.raises(InvalidArgumentError, match="needs a git repository"):
        change(project)
    run_git(project.root, "init", "-q", "-b", "main")
    with pytest.raises(InvalidArgumentError, match="has none yet"):
        change(project)
    run_git(project.root, "commit", "-q", "-m", "start", "--allow-empty")
    with pytest.raises(InvalidArgumentError, match="'nowhere' is not a revision"):
        change(project, "nowhere")


def test_the_history_leaves_out_first_commits(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, BEFORE)
    write(root, {"a.py": "x = 1\n", "ä b.py": "y = 1\n"})
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "both")
    assert read_history(root) == (("a.py", "ä b.py"),)
    assert read_history(tmp_path) == ()
    write(root, {"a.py": "x = 2\n"})
    run_git(root, "commit", "-q", "-a", "-m", "one")
    assert read_history(root) == (("a.py",), ("a.py", "ä b.py"))
