"""Regular expressions over indexed files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import indexed_project
from findspot import Project, Query
from findspot.core.errors import InvalidPatternError
from findspot.core.model import Corpus, Mode, Results, Span
from findspot.search import regex
from findspot.search.ripgrep import ripgrep_binary
from shop_project import hits

MakeProject = Callable[..., Project]


def look(project: Project, pattern: str, **options: object) -> Results:
    return project.search(Query(pattern, mode=Mode.REGEX, **options))  # type: ignore[arg-type]


def places(project: Project, pattern: str, **options: object) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.span.start, hit.span.end) for hit in look(project, pattern, **options).hits]


ODD = {
    "a file with spaces.py": "def spaced():\n    return 'needle one'\n",
    "-leading.py": "def dashed():\n    return 'needle two'\n",
    "--help": "needle three\n",
    "dir:colon/x:1:y.py": "needle = 4\n",
    "größe/naïve.py": "needle = 5\n",
    "crlf.py": "def one():\r\n    return 1  # needle six\r\n\r\n\r\ndef other():\r\n    return 2\r\n",
    "latin.py": "# caf\xe9 needle sept\nx = 1\n".encode("latin-1"),
    "utf16.txt.py": "needle = 'acht'\n".encode("utf-16"),
    "bom.py": b"\xef\xbb\xbfneedle = 9\n",
    "many.py": "def many():\n    needle = 1\n    needle = 2\n    return needle\n",
    "hay.py": "a" * 3_000 + "!\n" + "x" * 3_000 + "\n",
    "notes.md": "# Notes\n\nA needle in prose.\n",
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Files that are awkward to hand to another program; tests only look at them."""
    with indexed_project(tmp_path_factory.mktemp("odd"), ODD) as project:
        yield project


@pytest.fixture
def changing(make_project: MakeProject) -> Project:
    """Two files, indexed, that a test may change."""
    project = make_project({path: ODD[path] for path in ("many.py", "größe/naïve.py")})
    project.update()
    return project


def test_a_hit_names_every_line_that_matches(odd: Project, changing: Project) -> None:
    (hit,) = look(odd, "needle", path_filter="many.py").hits
    assert hit.lines == (2, 3, 4)
    assert [hit.text.split("\n")[line - hit.span.start] for line in hit.lines] == [
        "    needle = 1",
        "    needle = 2",
        "    return needle",
    ]
    (changing.root / "many.py").write_text("x = 1\n\n\nneedle = 7\n")
    (changed,) = look(changing, "needle = 7").hits
    assert changed.lines == (4,)


def test_chunks_with_a_match_come_in_order_of_path_and_line() -> None:
    found = [(hit.path, hit.span.start) for hit in hits(r"def \w+", mode=Mode.REGEX, limit=100)]
    assert found == sorted(found)
    assert len(found) == len(set(found))
    assert all(hit.score == 1.0 for hit in hits(r"def \w+", mode=Mode.REGEX))


def test_odd_names_and_encodings_are_searched(odd: Project) -> None:
    found = {path for path, _, _ in places(odd, "needle", limit=100)}
    assert found == {
        "a file with spaces.py", "-leading.py", "--help", "dir:colon/x:1:y.py", "größe/naïve.py", "crlf.py",
        "latin.py", "utf16.txt.py", "bom.py", "many.py",
    }  # fmt: skip


def test_lines_end_before_a_carriage_return(odd: Project) -> None:
    (hit,) = look(odd, "six$").hits
    assert (hit.path, hit.kind, hit.focus) == ("crlf.py", "function", 2)
    (hit,) = look(odd, r"return 2$").hits
    assert hit.focus == 6


def test_text_in_other_encodings_is_the_indexed_chunk(odd: Project) -> None:
    (hit,) = look(odd, "needle sept").hits
    assert "café" in hit.text
    assert hit.kind != "line"


def test_documents_are_searched_as_documents(odd: Project) -> None:
    assert [path for path, _, _ in places(odd, "needle", corpus=Corpus.DOCS)] == ["notes.md"]


def test_a_file_changed_since_shows_the_line_as_it_is(changing: Project) -> None:
    (changing.root / "many.py").write_text("# new first line\nhaystack = 'fresh needle'\n")
    (hit,) = look(changing, "fresh").hits
    assert (hit.path, hit.span, hit.text, hit.kind) == (
        "many.py",
        Span(2, 2),
        "haystack = 'fresh needle'",
        "line",
    )


def test_nothing_outside_the_project_is_shown(
    changing: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "naïve.py").write_text("needle = 'secret'\n")
    (changing.root / "many.py").unlink()
    (changing.root / "many.py").symlink_to(outside / "naïve.py")
    (changing.root / "größe" / "naïve.py").unlink()
    (changing.root / "größe").rmdir()
    (changing.root / "größe").symlink_to(outside)
    assert look(changing, "secret").hits == ()


@pytest.mark.parametrize("pattern", ["-v", "--files", "--", "-e def", "--pre=/bin/true"])
def test_a_pattern_is_never_an_option(pattern: str, odd: Project) -> None:
    assert places(odd, pattern) == []


@pytest.mark.parametrize("pattern", ["(a+)+#$", "(a|aa)*b#", "(.*)*x#", "(x+x+)+y#", r"^(\w+\s?)*#$"])
def test_no_pattern_hangs(odd: Project, pattern: str) -> None:
    assert places(odd, pattern) == []


def test_a_pattern_too_large_to_compile_is_refused(odd: Project) -> None:
    with pytest.raises(InvalidPatternError):
        places(odd, r"((\w{1000}){1000}){1000}")


def test_no_match_is_an_empty_answer_without_a_warning(odd: Project) -> None:
    results = look(odd, "nowhere_to_be_found")
    assert (results.hits, results.total, results.warning) == ((), 0, None)


def _swapping_ripgrep(folder: Path, file: Path, outside: Path) -> str:
    """Write a ripgrep that finds a link in the place of a file, which is back before anybody looks."""
    script = folder / "rg"
    lines = [
        "#!/bin/sh",
        f"mv '{file}' '{file}.aside'",
        f"ln -s '{outside}' '{file}'",
        f"'{ripgrep_binary()}' \"$@\"",
        f"rm '{file}'",
        f"mv '{file}.aside' '{file}'",
    ]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.skipif(os.name == "nt", reason="needs links and a shell")
def test_no_line_of_a_file_outside_is_answered_whatever_the_moment(
    make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """security 5: a link made while ripgrep ran led outside, and both checks saw the file."""
    project = make_project({"a.py": "password = inside\n"})
    project.update()
    outside = tmp_path / "outside.txt"
    outside.write_text("password = canary\nsecond canary\n")
    script = _swapping_ripgrep(tmp_path, project.root / "a.py", outside)
    monkeypatch.setattr(regex, "ripgrep_binary", lambda: script)
    for pattern in ("canary", "password"):
        results = look(project, pattern)
        assert not any("canary" in hit.text for hit in results.hits)
        assert results.total == 0


def test_a_pattern_does_not_see_what_is_masked(make_project: MakeProject) -> None:
    """security 9, search-mcp B5: patterns found out a masked token character by character."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    files = {"login.py": f"token = '{token}'\nuser = 'me'\n", "other.py": "token = 1\n"}
    project = make_project(files)
    project.update()
    for guess in ("ghp_", "ghp_a1", r"token = '(ghp_a.*|\*+)' never", "J0'"):
        assert look(project, guess).total == 0, guess
    assert places(project, "^token") == [("login.py", 1, 2), ("other.py", 1, 1)]
    assert places(project, r"'\*{44}'") == [("login.py", 1, 2)]
    (project.root / "other.py").write_text(f"x = 1\ntoken = '{token}'\n")
    (hit,) = look(project, r"token = '\*", path_filter="other.py").hits
    assert hit.span == Span(2, 2)
    assert token not in hit.text


def test_a_minified_file_is_searched_whole_and_never_floods_an_answer(make_project: MakeProject) -> None:
    code = "".join(f"function f{n}(t){{return needle{n}(t)}}" for n in range(5_000))
    project = make_project({"web/app.js": f"/*! Widgets 1.2, MIT licence */\n{code}\n"})
    project.update()
    (hit,) = look(project, "needle4900").hits
    assert (hit.path, hit.span, len(hit.text)) == ("web/app.js", Span(2, 2), 2_000)
    assert hit.focus_column is not None
    assert hit.text[hit.focus_column :].startswith("needle4900")
    assert places(project, "Widgets 1") == [("web/app.js", 1, 1)]


def test_a_file_that_came_to_hold_a_secret_is_not_answered(make_project: MakeProject) -> None:
    project = make_project({"login.py": "token = 1\n"}, secretScan="skip")
    project.update()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (project.root / "login.py").write_text(f"token = '{token}'\n")
    assert look(project, "ghp_|token").total == 0
