"""Searching, whatever is asked: pages agree, filters hold, answers are the files' own lines."""

from __future__ import annotations

import fnmatch
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from findspot import Query
from findspot.core.model import Corpus, IncludeTests, Mode, Results
from shop_project import FILES, shop

WORDS = (
    "password", "hash", "session", "order", "cart", "refund", "verify_password", "CartStore", "retry", "the",
    "how", "connection", "pool", "charge", "country", "Backoff", "test", "example", "zzz", "?", "backup.sh",
)  # fmt: skip

queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
filters = st.fixed_dictionaries(
    {},
    optional={
        "extensions": st.sampled_from([("py",), ("ts", "tsx"), ("go", ".kt")]),
        "languages": st.sampled_from([("python",), ("go", "java")]),
        "path_filter": st.sampled_from(["service/**", "*.py", "web", "**/*t*"]),
        "exclude": st.sampled_from(["service/orders/**", "*.go", "docs"]),
        "under": st.sampled_from(["service", "worker", "docs"]),
        "include_tests": st.sampled_from(IncludeTests),
        "semantic_weight": st.floats(0, 1),
    },
)
asked = st.fixed_dictionaries(
    {
        "text": queries,
        "corpus": st.sampled_from(Corpus),
        "mode": st.sampled_from([Mode.HYBRID, Mode.SEMANTIC, Mode.KEYWORD]),
        "filters": filters,
    }
)
brief = settings(max_examples=50)


def answer(asked: dict[str, Any], **more: Any) -> Results:
    plain = {name: value for name, value in asked.items() if name != "filters"}
    return shop().search(Query(**plain, **asked["filters"], **more))


@brief
@given(asked, st.integers(1, 12), st.integers(0, 30))
def test_a_page_is_a_part_of_the_whole(asked: dict[str, Any], limit: int, offset: int) -> None:
    whole = answer(asked, limit=1_000)
    page = answer(asked, limit=limit, offset=offset)
    assert page.hits == whole.hits[offset : offset + limit]
    assert page.total == whole.total == len(whole.hits)


@brief
@given(asked)
def test_hits_are_lines_of_files_and_never_overlap(asked: dict[str, Any]) -> None:
    results = answer(asked, limit=1_000)
    seen: dict[str, set[int]] = {}
    for hit in results.hits:
        lines = (FILES / hit.path).read_text().split("\n")
        assert hit.text == "\n".join(lines[hit.span.start - 1 : hit.span.end])
        numbers = set(range(hit.span.start, hit.span.end + 1))
        assert not numbers & seen.setdefault(hit.path, set())
        seen[hit.path] |= numbers
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@brief
@given(asked)
def test_filters_hold_for_every_hit(asked: dict[str, Any]) -> None:
    wanted = asked["filters"]
    for hit in answer(asked, limit=1_000).hits:
        assert hit.path.endswith(".md") == (asked["corpus"] is Corpus.DOCS)
        if "under" in wanted:
            assert hit.path.startswith(wanted["under"] + "/")
        if "extensions" in wanted:
            assert hit.path.rpartition(".")[2] in [ending.strip(".") for ending in wanted["extensions"]]
        if "languages" in wanted:
            assert hit.language in wanted["languages"]
        if wanted.get("path_filter", "").startswith("*."):
            assert fnmatch.fnmatch(hit.path, wanted["path_filter"])
        if wanted.get("exclude") == "*.go":
            assert not hit.path.endswith(".go")


@brief
@given(asked)
def test_filtering_answers_what_the_whole_answer_has_of_those_files(asked: dict[str, Any]) -> None:
    """The pool covers the small fixture whole, so a filter may change the order but lose nothing."""
    free = {hit.path for hit in answer(asked | {"filters": {}}, limit=1_000).hits}
    held = {hit.path for hit in answer(asked, limit=1_000).hits}
    assert held <= free | {"legacy/payment_gateway.py", "service/payment/gateway.py"}
