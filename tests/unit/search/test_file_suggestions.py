"""Files that usually change with the first results, suggested where a whole report asks."""

from __future__ import annotations

from contents import MakeProject
from findspot import Query, Suggestion
from findspot.search.related import suggest_files
from trust.conftest import run_git

KNOWN = {"a.py", "b.py", "c.py", "d.py", "docs/CHANGELOG.md", "src/pump.c", "include/pump.h"}


def test_a_file_in_half_of_the_commits_of_a_result() -> None:
    history = (("a.py", "b.py"),) * 3 + (("a.py", "c.py"),) * 2 + (("a.py",),)
    assert suggest_files(["a.py"], history, KNOWN) == (
        Suggestion("b.py", "often changes with a.py: 3 of 6 commits"),
    )


def test_what_is_not_clear_is_not_suggested() -> None:
    twice = (("a.py", "b.py"),) * 2
    rarely = (("a.py", "b.py"),) * 3 + (("a.py",),) * 4
    large = (("a.py", "b.py", *(f"{n}.py" for n in range(20))),) * 5
    unknown = (("a.py", "gone.py", "docs/CHANGELOG.md"),) * 5
    for history in (twice, rarely, large, unknown, ()):
        assert suggest_files(["a.py"], history, KNOWN) == ()
    assert suggest_files(["a.py", "b.py"], (("a.py", "b.py"),) * 5, KNOWN) == ()


def test_header_and_source_belong_together() -> None:
    assert suggest_files(["src/pump.c"], (), KNOWN) == (
        Suggestion("include/pump.h", "has the same name as src/pump.c"),
    )
    assert suggest_files(["include/pump.h"], (), KNOWN) == (
        Suggestion("src/pump.c", "has the same name as include/pump.h"),
    )
    beside = {"a/pump.c", "a/pump.h", "b/pump.h"}
    assert [each.path for each in suggest_files(["a/pump.c"], (), beside)] == ["a/pump.h"]
    assert suggest_files(["c/pump.c"], (), beside) == ()


def test_declarations_belong_to_what_they_declare() -> None:
    known = {"shop/cart.py", "shop/cart.pyi", "web/index.js", "web/index.d.ts", "web/cart.ts"}
    for path, declared in (("shop/cart.py", "shop/cart.pyi"), ("web/index.js", "web/index.d.ts")):
        assert suggest_files([path], (), known) == (Suggestion(declared, f"has the same name as {path}"),)


def test_the_same_name_alone_says_nothing() -> None:
    known = {"admin/filters.py", "static/js/filters.js", "db/options.py", "admin/options.py"}
    for path in known:
        assert suggest_files([path], (), known) == ()


def test_at_most_three_are_suggested_the_most_regular_first() -> None:
    history = (("a.py", *(f"{n}.py" for n in range(5))),) * 3 + (("a.py", "4.py"),)
    found = suggest_files(["a.py"], history, {f"{n}.py" for n in range(5)})
    assert [each.path for each in found] == ["4.py", "0.py", "1.py"]


def test_reports_alone_come_with_suggestions(make_project: MakeProject) -> None:
    project = make_project(
        {"pump.py": "def start_pump():\n    return 1\n", "valve.py": "def colour():\n    return 1\n"}
    )
    root = project.root
    run_git(root, "init", "-q")
    for value in range(5):
        (root / "pump.py").write_text(f"def start_pump():\n    return {value}\n")
        (root / "valve.py").write_text(f"def colour():\n    return {value}\n")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "-m", "both")
    project.update()
    report = "start_pump fails at night\n" + "The pump in the cellar does not start. " * 12
    assert project.search(Query(report, related=True, limit=1)).suggestions == (
        Suggestion("valve.py", "often changes with pump.py: 4 of 4 commits"),
    )
    for query in (
        Query("start_pump", related=True, limit=1),
        Query(report, limit=1),
        Query(report, related=True, limit=1, path_filter="pump.py"),
    ):
        assert project.search(query).suggestions == ()
