"""What a reader with grep would have read around the places of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.model import Hit, Span
from findspot.core.roots import Roots
from findspot.serve import usage


def _hit(path: str, line: int, text: str) -> Hit:
    return Hit(path, Span(line, line + text.count("\n")), text, 0.9, "function", "python", focus=line)


@pytest.mark.parametrize(
    ("lines", "found", "chars"),
    [
        (200, [_hit("a.py", 100, "0123456789\n0123")], 40 * 7),
        (200, [_hit("a.py", 100, "0123456789"), _hit("a.py", 110, "0123456789")], 50 * 10),
        (200, [_hit("a.py", 1, "0123456789")], 20 * 10),
        (3, [_hit("a.py", 2, "0123456789")], 3 * 11),
        (0, [_hit("gone.py", 2, "0123456789")], 0),
        (0, [_hit("dep://pypi/a@1/a.py", 100, "0123456789")], 40 * 10),
    ],
)
def test_forty_lines_around_each_place_are_counted_once_and_at_most_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, found: list[Hit], chars: int
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    (tmp_path / "a.py").write_text("0123456789\n" * lines)
    usage.note("assistant", Roots(tmp_path), found, 8)
    assert usage.usage() == [usage.Usage("assistant", 1, 1, 2, chars // usage.CHARS_PER_TOKEN)]
