"""Incremental equals full: after any series of edits, updates and a rebuild hold the same."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from contents import contents, fresh_contents
from findspot import FindspotError, Project

PATHS = (
    "a.py",
    "src/b.py",
    "src/deep/c.js",
    "src/deep/er/d.py",
    "docs/e.md",
    "f.json",
    "g.unknown",
    "pkg",
    "pkg/inner.py",
    "ünï/é.py",
    "src/h.py",
)
CONTENTS = (
    b"def one():\n    return 1\n",
    b"def two():\n    return 2\n",  # the same size as before it
    b"class Big:\n" + b"".join(b"    def m%d(self):\n        return %d\n\n" % (n, n) for n in range(60)),
    b"# Title\n\nWords of prose.\n\n## More\n\nOther words.\n",
    b'{"key": [1, 2, 3]}\n',
    b"x = 1\n\0binary\n",
    b"",
    b"  \n\n",
    b"x = 'caf\xe9'\n",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    b"from b import one\nclass C(Big):\n    def m1(self, x: C):\n        return one(self.m2())\n",
)
RULES = ("*.md\n", "src/\n", "deep\n", "!c.js\n*.js\n", "*\n!*.py\n", "/a.py\npkg\n", "")

IGNORE_FILES = (".gitignore", "src/.gitignore", ".findspotignore")

path = st.sampled_from(PATHS)
edit = st.one_of(
    st.tuples(st.just("write"), path, st.sampled_from(CONTENTS)),
    st.tuples(st.just("write"), path, st.sampled_from(CONTENTS)),
    st.tuples(st.just("delete"), path, st.none()),
    st.tuples(st.just("rename"), path, path),
    st.tuples(st.just("touch"), path, st.none()),
    st.tuples(st.just("ignore"), st.sampled_from(IGNORE_FILES), st.sampled_from(RULES)),
    st.tuples(st.just("reindex"), path, st.none()),
)


class Tree:
    """A project on disk; each edit gets a time of writing of its own, long ago."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = 1_500_000_000

    def write(self, name: str, data: bytes) -> None:
        target = self.root / name
        for parent in reversed(target.relative_to(self.root).parents):
            if (self.root / parent).is_file():
                (self.root / parent).unlink()
        if target.is_dir():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        self.touch(name)

    def touch(self, name: str) -> None:
        self.clock += 10
        if (self.root / name).is_file():
            os.utime(self.root / name, (self.clock, self.clock))

    def delete(self, name: str) -> None:
        target = self.root / name
        if target.is_dir():
            shutil.rmtree(target)
        elif target.is_file():
            target.unlink()

    def rename(self, name: str, other: str) -> None:
        if (self.root / name).is_file() and name != other:
            data = (self.root / name).read_bytes()
            self.delete(name)
            self.write(other, data)


def apply(tree: Tree, project: Project, step: tuple[str, str, object]) -> None:
    action, name, value = step
    if action in ("write", "ignore"):
        tree.write(name, value.encode() if isinstance(value, str) else bytes(value))  # type: ignore[call-overload]
    elif action == "rename":
        tree.rename(name, str(value))
    elif action == "touch":
        tree.touch(name)
    elif action == "delete":
        tree.delete(name)
    elif action == "reindex":
        with contextlib.suppress(FindspotError):
            project.reindex_file(name)


START = tuple(("write", name, data) for name, data in zip(PATHS, CONTENTS, strict=True) if name != "pkg")


# Without shrinking: a failing example costs seconds, and is small as it is.
@settings(max_examples=5, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.lists(st.lists(edit, min_size=1, max_size=6), min_size=2, max_size=4))
@example([[("write", "a.py", CONTENTS[5])], [("delete", "a.py", None)], [("ignore", ".gitignore", "src/\n")]])
@example([[("write", "pkg", CONTENTS[0])], [("touch", "pkg", None), ("write", "a.py", CONTENTS[6])]])
@example([[("ignore", "src/.gitignore", "deep\n")], [("ignore", "src/.gitignore", "")]])
def test_updates_and_a_rebuild_hold_the_same(rounds: list[list[tuple[str, str, object]]]) -> None:
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        root = Path(place) / "project"
        root.mkdir()
        patch.setenv("FINDSPOT_HOME", str(Path(place) / "home"))
        tree, project = Tree(root), Project(root)
        try:
            for steps in (START, *rounds):
                for step in steps:
                    apply(tree, project, step)
                project.update()
            assert project.status().pending_changes == 0
            assert contents(project.store) == fresh_contents(project, Path(place) / "fresh")
        finally:
            project.close()
