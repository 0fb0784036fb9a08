"""Files that usually change with others."""

from __future__ import annotations

from findspot.search.related import suggest_files

KNOWN = {"a.py", "b.py", "c.py", "d.py", "docs/CHANGELOG.md"}


def test_a_file_in_half_of_the_commits_of_a_result() -> None:
    history = (("a.py", "b.py"),) * 5 + (("a.py", "c.py"),) * 4 + (("a.py",),)
    assert suggest_files(["a.py"], history, KNOWN) == [("b.py", "often changes with a.py: 5 of 10 commits")]


def test_what_is_not_clear_is_not_suggested() -> None:
    twice = (("a.py", "b.py"),) * 4
    rarely = (("a.py", "b.py"),) * 5 + (("a.py",),) * 6
    large = (("a.py", "b.py", *(f"{n}.py" for n in range(20))),) * 5
    unknown = (("a.py", "gone.py", "docs/CHANGELOG.md"),) * 5
    for history in (twice, rarely, large, unknown, ()):
        assert suggest_files(["a.py"], history, KNOWN) == []
    assert suggest_files(["a.py", "b.py"], (("a.py", "b.py"),) * 5, KNOWN) == []


def test_at_most_three_are_suggested_the_most_regular_first() -> None:
    history = (("a.py", *(f"{n}.py" for n in range(5))),) * 5 + (("a.py", "4.py"),)
    found = suggest_files(["a.py"], history, {f"{n}.py" for n in range(5)})
    assert [path for path, _ in found] == ["4.py", "0.py", "1.py"]
