"""Long results: what fits, what is stored, and who can read it."""

from __future__ import annotations

from typing import Any

import pytest

from findspot.catalogue import call_results
from findspot.catalogue.call_results import StoredResults, fit_result, pages_of, written_chars

BLOB = "A" * 4_000


def joined(results: StoredResults, address: str, owner: str | None = "me") -> str:
    text, next_address = "", f"{address}/1"
    while next_address:
        page = results.read(next_address, owner)
        assert page is not None
        text, next_address = text + page[0], page[1].partition(" Next: ")[2]
    return text


def texts(result: dict[str, Any]) -> list[str]:
    return [part["text"] for part in result["content"] if part["type"] == "text"]


def test_pages_end_after_lines_and_together_are_the_text() -> None:
    text = "".join(f"{number}\n" for number in range(1_000)) + "x" * 500
    pages = pages_of(text, 100)
    assert "".join(pages) == text
    assert all(len(page) <= 100 for page in pages)
    assert all(page.endswith("\n") for page in pages[:-5])
    assert pages_of("short", 100) == ("short",)
    assert pages_of("", 100) == ("",)


def test_what_fits_stays_as_it_is() -> None:
    result = {"content": [{"type": "text", "text": "x" * 800}], "structuredContent": {"a": None}}
    assert fit_result(result, 200, StoredResults(), "me") == result


def test_several_texts_become_one_and_pictures_stay() -> None:
    results = StoredResults()
    picture = {"type": "image", "data": BLOB, "mimeType": "image/png"}
    note = {"type": "resource", "resource": {"uri": "note://1", "text": "b" * 900}}
    content = [{"type": "text", "text": "a" * 500}, picture, note]
    fitted = fit_result({"content": content, "isError": True}, 200, results, "me")
    assert fitted["isError"] is True
    assert fitted["content"][1] == picture
    shown, told = texts(fitted)
    assert shown == ("a" * 500 + "\nnote://1\n" + "b" * 900)[: len(shown)]
    address = told.rpartition(": ")[2].removesuffix("/2")
    assert joined(results, address) == "a" * 500 + "\nnote://1\n" + "b" * 900


def test_structured_content_alone_is_shown_as_text() -> None:
    results = StoredResults()
    fitted = fit_result({"content": [], "structuredContent": {"long": "é" * 2_000}}, 200, results, "me")
    assert "structuredContent" not in fitted
    assert texts(fitted)[0].startswith('{"long": "éé')
    text = '{"long": "' + "é" * 2_000 + '"}'
    same = {"content": [{"type": "text", "text": text}], "structuredContent": {"long": "é" * 2_000}}
    assert "page 1 of 3" in texts(fit_result(same, 200, results, "me"))[-1], "it is not there twice"


TINY = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "note://1", "name": "one"}
LONG = "x" * 5_000_000


@pytest.mark.parametrize(
    "result",
    [
        {"content": [LINK | {"name": LONG}]},
        {"content": [LINK | {"description": LONG, "_meta": {"a": LONG}, "annotations": {"a": LONG}}]},
        {"content": [{"type": "resource", "resource": {"uri": "note://1", "text": "a", "mimeType": LONG}}]},
        {"content": [TINY | {"mimeType": LONG}]},
        {"content": [TINY] * 20_000},
        {"content": [LINK] * 20_000},
        {"content": [{"type": "text", "text": ""}] * 20_000},
        {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": BLOB * 10}}] * 1_000},
        {"content": [], "_meta": {"a": LONG}},
        {"content": [{"type": "text", "text": "a", "_meta": {"b": LONG}}]},
    ],
)
def test_nothing_in_a_result_is_without_bounds(result: dict[str, Any]) -> None:
    fitted = fit_result(result, 8_000, StoredResults(), "me")
    assert written_chars(fitted) < 4 * 32_000
    assert texts(fitted), "what is missing is said"


def test_what_is_too_large_is_named() -> None:
    picture = {"type": "image", "data": "A" * 4_000_000, "mimeType": "image/png"}
    part = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": BLOB * 10}}
    fitted = fit_result({"content": [picture, part, picture, TINY]}, 8_000, StoredResults(), "me")
    assert fitted["content"][:2] == [picture, TINY]
    (note,) = texts(fitted)
    assert note.endswith(" cannot hold it: file:///a.bin 30,000 bytes, image image/png 3,000,000 bytes.")


def test_stored_results_are_bounded_and_belong_to_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in (("MAX_RESULTS", 3), ("MAX_CHARS", 100)):
        monkeypatch.setattr(call_results, name, limit)
    results = StoredResults()
    first = results.store(("a" * 10,), "me")
    assert first is not None
    assert joined(results, first) == "a" * 10
    for address, owner in ((f"{first}/1", "you"), (f"{first}/1", None), (f"{first}/2", "me"), (first, "me")):
        assert results.read(address, owner) is None
    assert results.store(("a" * 101,), "me") is None, "larger than all may be together"
    for _ in range(3):
        results.store(("b",), "me")
    assert results.read(f"{first}/1", "me") is None, "too many"
    second = results.store(("c" * 100,), "me")
    results.store(("d",), "me")
    assert results.read(f"{second}/1", "me") is None, "too large together"
    fourth = results.store(("e",), "me")
    results.forget("me")
    assert results.read(f"{fourth}/1", "me") is None
