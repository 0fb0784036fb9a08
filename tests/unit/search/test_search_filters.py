"""Filters decide before anything is scored, so that what passes them is found however deep it ranks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from findspot import Project, Query
from findspot.core.errors import InvalidPatternError
from findspot.core.model import Corpus, IncludeTests, Mode
from findspot.search.retrieve import POOL
from shop_project import paths, shop

MODES = [Mode.HYBRID, Mode.KEYWORD, Mode.SEMANTIC, Mode.REGEX]


def found(**filters: object) -> set[str]:
    return set(paths("order", limit=100, **filters))


def test_extensions() -> None:
    assert found(extensions=("go",)) == {
        "worker/queue.go", "worker/shipping.go", "worker/shipping_test.go", "worker/backoff.go",
    }  # fmt: skip
    assert found(extensions=("GO", "kt")) == found(extensions=(".go", "*.kt"))


def test_languages() -> None:
    assert {path.rpartition(".")[2] for path in found(languages=("Java", "kotlin"))} == {"java", "kt"}


@pytest.mark.parametrize(
    "glob",
    ["service/orders/*.py", "service/orders/**", "service/orders", "service/orders/", "./service/orders/*"],
)
def test_path_filter_takes_a_folder_for_what_is_in_it(glob: str) -> None:
    assert found(path_filter=glob) == {
        f"service/orders/{name}.py" for name in ("__init__", "cart", "checkout", "pricing", "refunds")
    }


@pytest.mark.parametrize("glob", ["service", "service/**", "/service/"])
def test_exclude(glob: str) -> None:
    assert found() - found(exclude=glob) == {path for path in found() if path.startswith("service/")}


def test_exclude_wins_over_path_filter() -> None:
    assert found(path_filter="**/*.go", exclude="worker") == set()


def test_under_is_a_folder_not_a_prefix() -> None:
    assert all(path.startswith("web/src/cart/") for path in found(under="web/src/cart"))
    assert found(under="web/src/car") == set()
    assert found(under="web/src/cart/") == found(under="web/src/cart")


def test_include_tests() -> None:
    tests = {"service/tests/test_checkout.py", "worker/shipping_test.go"}
    assert tests <= found(include_tests=IncludeTests.YES)
    assert tests <= found(include_tests=IncludeTests.AUTO)
    assert not [path for path in found(include_tests=IncludeTests.NO) if "test" in path.lower()]


def test_tests_rank_like_other_files_when_asked_for() -> None:
    query = "a password is verified against its hash"
    place = {choice: paths(query, include_tests=choice) for choice in (IncludeTests.YES, IncludeTests.AUTO)}
    test = "service/tests/test_passwords.py"
    assert place[IncludeTests.YES].index(test) <= place[IncludeTests.AUTO].index(test)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_filters(mode: Mode) -> None:
    """Two files of Go hold the word; meaning finds the third as well."""
    with_the_word = {"worker/queue.go", "worker/shipping.go"}
    every = with_the_word | {"worker/backoff.go"}
    expected = every if mode in (Mode.HYBRID, Mode.SEMANTIC) else with_the_word
    filters = {"languages": ("go",), "exclude": "**/*_test.go"}
    assert set(paths("order", mode=mode, limit=100, **filters)) == expected
    assert set(paths("order", mode=mode, limit=100)) - expected, "without filters there is more"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "corpus"),
    [
        ({"languages": ("haskell",)}, Corpus.CODE),
        ({"extensions": ("docx",)}, Corpus.CODE),
        ({"path_filter": "nowhere/**"}, Corpus.DOCS),
        ({"under": "no/such/folder"}, Corpus.DOCS),
    ],
)
def test_filters_that_leave_nothing_say_so(mode: Mode, filters: dict[str, object], corpus: Corpus) -> None:
    results = shop().search(Query("order", corpus=corpus, mode=mode, **filters))  # type: ignore[arg-type]
    assert results.hits == ()
    assert results.total == 0
    assert results.warning == "No indexed file passes the filters."


@pytest.mark.parametrize("glob", ["[", "{a", "../x", "!x"])
def test_a_glob_that_cannot_be_read_is_refused(glob: str) -> None:
    for name in ("path_filter", "exclude"):
        with pytest.raises(InvalidPatternError):
            paths("order", **{name: glob})


def test_a_rare_match_deep_in_the_ranking_is_found(make_project: Callable[..., Project]) -> None:
    crowd = {
        f"crowd/part_{n}.py": f"def invoice_{n}():\n    return 'invoice invoice payment {n}'\n"
        for n in range(POOL + 20)
    }
    rare = {
        "far/away.py": "def unrelated():\n    # one invoice among many other words\n    return 'tulips'\n"
    }
    project = make_project(crowd | rare)
    project.update()
    for mode in (Mode.HYBRID, Mode.KEYWORD, Mode.SEMANTIC):
        whole = project.search(Query("invoice payment", mode=mode, limit=1_000)).hits
        assert "far/away.py" not in [hit.path for hit in whole]
        for filters in ({"path_filter": "far/**"}, {"exclude": "crowd"}, {"under": "far"}):
            hits = project.search(Query("invoice payment", mode=mode, **filters)).hits
            assert [hit.path for hit in hits] == ["far/away.py"]
