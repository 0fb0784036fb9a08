"""What a diff changes: its files, their lines, and the definitions around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import read_history
from findspot.core.paths import Roots
from findspot.graph import Node
from findspot.research.changes import Change, FileChange, parse_diff, read_change, touched
from graphs import graph_of
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
    "a.py": "def kept():\n    return 1\n\n\ndef renamed():\n    return 2\n",
    "b.py": "from a import renamed\n\nprint(renamed())\n",
}


def commit(root: Path, files: dict[str, str]) -> None:
    write(root, files)
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "start")


def write(root: Path, files: dict[str, str]) -> None:
    root.mkdir(exist_ok=True)
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8")


def change(root: Path, files: dict[str, str], home: Path, since: str | None = None) -> Change:
    with graph_of(files, home) as graph:
        return read_change(graph, Roots(root), since)


def test_definitions_are_compared_with_those_of_the_revision(tmp_path: Path) -> None:
    root = tmp_path / "project"
    commit(root, BEFORE)
    after = BEFORE | {"a.py": BEFORE["a.py"].replace("renamed", "other"), "new.py": "def fresh(): ...\n"}
    write(root, after)
    found = change(root, after, tmp_path / "home")
    assert found.paths == ("a.py", "new.py")
    assert [node.id for node in found.nodes] == ["a.py#other", "new.py#fresh"]
    assert [node.id for node in found.gone] == ["a.py#renamed"]


def test_a_diff_needs_a_repository_with_that_revision(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, BEFORE)
    with pytest.raises(InvalidArgumentError, match="needs a git repository"):
        change(root, BEFORE, tmp_path / "home1")
    run_git(root, "init", "-q", "-b", "main")
    with pytest.raises(InvalidArgumentError, match="has none yet"):
        change(root, BEFORE, tmp_path / "home2")
    run_git(root, "commit", "-q", "-m", "start", "--allow-empty")
    with pytest.raises(InvalidArgumentError, match="'nowhere' is not a revision"):
        change(root, BEFORE, tmp_path / "home3", "nowhere")


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
