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


COPIED = LINES[2:5]
LONGEST = "    # every line of it"


class TestWhereLinesAreNow:
    @pytest.mark.parametrize("own", [hit(3, 5, 4), hit(1, 1), hit(7, 7, 7)])
    def test_lines_that_did_not_move(self, own: Hit) -> None:
        assert located(own, LINES) == own

    @pytest.mark.parametrize(
        ("own", "now", "found"),
        [
            *((hit(3, 5, 4), ["# new"] * by + LINES, (3 + by, 5 + by, 4 + by)) for by in (1, 2, 40)),
            (hit(3, 5, 5), LINES[2:], (1, 3, 3)),
            (hit(3, 5), LINES[2:], (1, 3, None)),
            # Of several places the nearest counts.
            (hit(3, 5), [*COPIED, "", "", "", *COPIED], (1, 3, None)),
            (hit(6, 8, lines=[""] * 5 + COPIED), [*COPIED, "", "", "", *COPIED], (7, 9, None)),
            # The best line leads when others changed, the nearest of several.
            (
                hit(3, 5, 4),
                ["# new", *LINES[:2], "def total(cart, tax):", LONGEST, "    return 0", ""],
                (4, 6, 5),
            ),
            (hit(3, 5, 4), [LONGEST, *["x"] * 4, LONGEST, "y"], (5, 7, 6)),
            (hit(1, 5, 4), [LONGEST, *["x"] * 4, LONGEST, "y"], (3, 7, 6)),
            # A short line tells no place, so the longest does.
            (
                hit(1, 4, 3, ["open(door)", "x", ")", "finally close it"]),
                ["", "", ")", "", "", "finally close it", ""],
                (3, 6, 5),
            ),
            (
                hit(1, 4, 3, ["open(door)", "x", "end!", "finally close it"]),
                ["end!", "", "finally close it"],
                (1, 3, 3),
            ),
            # Lines near the top do not start before it.
            (hit(3, 5, 5), ["    return sum(cart)", "x"], (1, 2, 2)),
            # Lines that are gone.
            (hit(3, 5, 4), ["nothing", "of", "it"], None),
            (hit(3, 5, 4), [], None),
            (hit(2, 2, lines=["", "", ""]), ["x"], None),
        ],
    )
    def test_lines_that_moved(
        self, own: Hit, now: list[str], found: tuple[int, int, int | None] | None
    ) -> None:
        shown = located(own, now)
        assert place(shown) == found
        assert shown is None or shown.text == "\n".join(now[shown.span.start - 1 : shown.span.end])

    def test_the_definition_moves_with_its_lines(self) -> None:
        own = replace(hit(1, 5, 3), definition=Span(3, 5))
        found = located(own, ["# new", *LINES])
        assert found is not None
        assert (found.span, found.definition) == (Span(2, 6), Span(4, 6))
        shorter = located(own, ["# new", *LINES[:4]])
        assert shorter is not None
        assert (shorter.span, shorter.definition) == (Span(2, 5), Span(4, 5))

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
