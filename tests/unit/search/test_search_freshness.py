"""Hits compared with the disk: where their lines are now, and what is told of files that changed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from contents import write_files
from findspot.core.model import Hit, Skip, SkipReason, Span, Stamp
from findspot.search.freshness import Disk, changed_since_indexed, check, located
from findspot.store.records import StoredFile

LINES = ["import os", "", "def total(cart):", "    # every line of it", "    return sum(cart)", "", "END = 1"]


def hit(start: int, end: int, focus: int | None = None, lines: list[str] = LINES, path: str = "a.py") -> Hit:
    text = "\n".join(lines[start - 1 : end])
    return Hit(path, Span(start, end), text, 0.5, "function", "python", focus=focus)


def place(found: Hit | None) -> tuple[int, int, int | None] | None:
    return None if found is None else (found.span.start, found.span.end, found.focus)


class TestWhereLinesAreNow:
    def test_lines_that_did_not_move(self) -> None:
        assert located(hit(3, 5, 4), LINES) == hit(3, 5, 4)
        assert located(hit(1, 1), LINES) == hit(1, 1)
        assert located(hit(7, 7, 7), LINES) == hit(7, 7, 7)

    @pytest.mark.parametrize("by", [1, 2, 40])
    def test_lines_that_moved_down(self, by: int) -> None:
        found = located(hit(3, 5, 4), ["# new"] * by + LINES)
        assert place(found) == (3 + by, 5 + by, 4 + by)
        assert found is not None
        assert found.text == hit(3, 5).text

    def test_the_definition_moves_with_its_lines(self) -> None:
        own = replace(hit(1, 5, 3), definition=Span(3, 5))
        found = located(own, ["# new", *LINES])
        assert found is not None
        assert (found.span, found.definition) == (Span(2, 6), Span(4, 6))
        shorter = located(own, ["# new", *LINES[:4]])
        assert shorter is not None
        assert (shorter.span, shorter.definition) == (Span(2, 5), Span(4, 5))

    def test_lines_that_moved_up(self) -> None:
        assert place(located(hit(3, 5, 5), LINES[2:])) == (1, 3, 3)
        assert place(located(hit(3, 5), LINES[2:])) == (1, 3, None)

    def test_of_several_places_the_nearest_counts(self) -> None:
        copied = LINES[2:5]
        assert place(located(hit(3, 5), [*copied, "", "", "", *copied])) == (1, 3, None)
        assert place(located(hit(6, 8, lines=[""] * 5 + copied), [*copied, "", "", "", *copied])) == (
            7,
            9,
            None,
        )

    def test_the_best_line_leads_when_others_changed(self) -> None:
        now = [
            "# new",
            "import os",
            "",
            "def total(cart, tax):",
            "    # every line of it",
            "    return 0",
            "",
        ]
        found = located(hit(3, 5, 4), now)
        assert place(found) == (4, 6, 5)
        assert found is not None
        assert found.text == "def total(cart, tax):\n    # every line of it\n    return 0"

    def test_the_nearest_of_several_best_lines_counts(self) -> None:
        now = ["    # every line of it", *["x"] * 4, "    # every line of it", "y"]
        assert place(located(hit(3, 5, 4), now)) == (5, 7, 6)
        assert place(located(hit(1, 5, 4), now)) == (3, 7, 6)

    def test_a_short_line_tells_no_place_so_the_longest_does(self) -> None:
        lines = ["open(door)", "x", ")", "finally close it"]
        now = ["", "", ")", "", "", "finally close it", ""]
        assert place(located(hit(1, 4, 3, lines), now)) == (3, 6, 5)
        four = ["open(door)", "x", "end!", "finally close it"]
        assert place(located(hit(1, 4, 3, four), ["end!", "", "finally close it"])) == (1, 3, 3)

    def test_lines_near_the_top_do_not_start_before_it(self) -> None:
        assert place(located(hit(3, 5, 5), ["    return sum(cart)", "x"])) == (1, 2, 2)

    def test_lines_that_are_gone(self) -> None:
        assert located(hit(3, 5, 4), ["nothing", "of", "it"]) is None
        assert located(hit(3, 5, 4), []) is None
        assert located(hit(2, 2, lines=["", "", ""]), ["x"]) is None

    def test_a_piece_of_a_long_line(self) -> None:
        piece = "needle" * 50
        long = "x" * 1_000 + piece + "y" * 1_500
        own = Hit("a.js", Span(2, 2), piece, 0.5, "block", "javascript", focus=2)
        found = located(own, ["", "", long])
        assert found is not None
        assert (place(found), found.text) == ((3, 3, 3), piece)
        assert located(own, ["", "", long[:1_900]]) is None, "a line of 2,000 characters is never cut"


class TestDisk:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        write_files(tmp_path, {f"{name}.py": "\n".join(LINES) for name in "abcde"} | {".env": "KEY=1"})
        return tmp_path

    def stored(self, root: Path, path: str = "a.py") -> StoredFile:
        data, info = (root / path).read_bytes(), (root / path).stat()
        sha256 = hashlib.sha256(data).hexdigest()
        stamp = Stamp.of(info)
        return StoredFile(1, path, "code", "python", stamp.size, stamp.mtime_ns, sha256, 1, stamp.ctime_ns,
                          stamp.inode)  # fmt: skip

    def test_a_file_as_it_was_indexed(self, root: Path) -> None:
        disk, file = Disk(root, 10_000, "skip"), self.stored(root)
        assert disk.lines_if_changed(file) is None
        assert disk.lines(file) == LINES
        os.utime(root / "a.py", ns=(1, 1))
        assert disk.lines_if_changed(file) is None, "the same content at another time"

    def test_a_changed_a_large_and_a_missing_file(self, root: Path) -> None:
        file = self.stored(root)
        (root / "a.py").write_text("other\nlines")
        assert Disk(root, 10_000, "skip").lines_if_changed(file) == ["other", "lines"]
        assert Disk(root, 11, "skip").lines_if_changed(file) == ["other", "lines"]
        large = Disk(root, 10, "skip").lines_if_changed(file)
        assert isinstance(large, Skip)
        assert large.reason is SkipReason.TOO_LARGE
        (root / "a.py").unlink()
        assert isinstance(Disk(root, 10_000, "skip").lines_if_changed(file), Skip)
        assert isinstance(Disk(root, 10_000, "skip").lines(file), Skip)

    def test_a_secret_file_is_never_read(self, root: Path) -> None:
        skip = Disk(root, 10_000, "off").lines(self.stored(root, ".env"))
        assert isinstance(skip, Skip)
        assert skip.reason is SkipReason.DENIED

    def test_a_folder_or_link_in_the_place_of_a_file(self, root: Path) -> None:
        file = self.stored(root)
        (root / "a.py").rename(root / "moved.py")
        (root / "a.py").symlink_to(root / "moved.py")
        assert isinstance(Disk(root, 10_000, "skip").lines_if_changed(file), Skip)

    def test_hits_are_checked_file_by_file(self, root: Path) -> None:
        files = {f"{name}.py": self.stored(root, f"{name}.py") for name in "abcde"}
        (root / "b.py").write_text("\n".join(["# new", *LINES]))
        (root / "c.py").unlink()
        places = (("a", 3, 5), ("b", 3, 5), ("c", 1, 1), ("b", 7, 7), ("unknown", 1, 1))
        hits = [hit(start, end, path=f"{name}.py") for name, start, end in places]
        checked = check(hits, files.get, Disk(root, 10_000, "skip"))
        assert [(h.path, h.span.start) for h in checked.hits] == [
            ("a.py", 3), ("b.py", 4), ("b.py", 8), ("unknown.py", 1),
        ]  # fmt: skip
        assert [(h.path, h.span.start) for h in checked.indexed] == [
            ("a.py", 3), ("b.py", 3), ("b.py", 7), ("unknown.py", 1),
        ]  # fmt: skip
        assert checked.dropped == 1
        assert checked.stale == {"b.py", "c.py"}
        assert checked.warning == "Changed since indexed, so shown as they are now: b.py."
        assert check(hits[:1], files.get, Disk(root, 10_000, "skip")).warning is None

    def test_three_changed_files_are_named(self, root: Path) -> None:
        files = [self.stored(root, f"{name}.py") for name in "abcde"]
        disk = Disk(root, 10_000, "skip")
        assert changed_since_indexed(files, disk) is None
        said = "Changed since indexed; lines may have moved: "
        for count, named in ((1, "a.py"), (3, "a.py, b.py, c.py"), (5, "a.py, b.py, c.py and 2 more")):
            for file in files[:count]:
                (root / file.path).write_text("changed")
            assert changed_since_indexed(files, disk) == f"{said}{named}."
