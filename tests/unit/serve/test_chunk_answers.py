"""Context chunks within a number of tokens."""

from __future__ import annotations

import json
from typing import Any

from findspot.chunkfiles.context_chunk import ContextChunk, SearchResult
from findspot.search.token_budget import token_count
from findspot.serve.chunk_answers import fitted_chunks

FILLER = "nothing of interest stands here\n"


def result(number: int) -> SearchResult:
    text = FILLER * 30 + f"the password of user {number}\n" + FILLER * 30
    return SearchResult(ContextChunk(f"c{number}", "data", f"title {number}", text), 1 - number / 100)


def around(shown: list[Any], note: str | None) -> dict[str, Any]:
    return {"results": shown, "total": 15} | ({"warning": note} if note else {})


def test_all_of_it_where_it_fits() -> None:
    found = [result(n) for n in range(3)]
    shown, note = fitted_chunks(found, "password", 8_000, around)
    assert note is None
    assert [item["chunk"]["text"] for item in shown] == [each.chunk.text for each in found]


def test_texts_become_their_best_passage_and_then_the_last_are_left_out() -> None:
    """documents B4: an answer had no limit."""
    found = [result(n) for n in range(15)]
    for most in (4_000, 1_200, 400, 200):
        shown, note = fitted_chunks(found, "password", most, around)
        assert note is not None
        assert token_count(json.dumps(around(shown, note))) <= most
        assert [item["chunk"]["id"] for item in shown] == [each.chunk.id for each in found[: len(shown)]]
        assert all("the password of user" in item["chunk"]["text"] for item in shown)
        assert note.endswith("of 15 results.")
    assert len(shown) == 2
