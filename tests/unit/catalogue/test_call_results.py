"""Long results: what fits, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from findspot.catalogue.call_results import fit_result, written_chars

BLOB = "A" * 4_000


def texts(result: dict[str, Any]) -> list[str]:
    return [part["text"] for part in result["content"] if part["type"] == "text"]


def test_what_fits_stays_as_it_is() -> None:
    result = {"content": [{"type": "text", "text": "x" * 800}], "structuredContent": {"a": None}}
    assert fit_result(result, 200) == result


def test_several_texts_become_one_and_pictures_stay() -> None:
    picture = {"type": "image", "data": BLOB, "mimeType": "image/png"}
    note = {"type": "resource", "resource": {"uri": "note://1", "text": "b" * 900}}
    content = [{"type": "text", "text": "a" * 500}, picture, note]
    fitted = fit_result({"content": content, "isError": True}, 200)
    assert fitted["isError"] is True
    assert fitted["content"][1] == picture
    shown, told = texts(fitted)
    assert shown == "a" * 500 + "\nnote://1\n", "it ends after a line"
    assert told == "Shortened to 510 of 1,410 characters. Ask for less at a time."
    assert texts(fit_result({"content": [{"type": "text", "text": "a" * 2_000}]}, 200))[0] == "a" * 800


def test_structured_content_alone_is_shown_as_text() -> None:
    fitted = fit_result({"content": [], "structuredContent": {"long": "é" * 2_000}}, 200)
    assert "structuredContent" not in fitted
    assert texts(fitted)[0].startswith('{"long": "éé')
    text = '{"long": "' + "é" * 2_000 + '"}'
    same = {"content": [{"type": "text", "text": text}], "structuredContent": {"long": "é" * 2_000}}
    assert "of 2,012 characters" in texts(fit_result(same, 200))[-1], "it is not there twice"
    short = {"content": [{"type": "text", "text": "One."}], "structuredContent": {"long": "é" * 2_000}}
    assert texts(fit_result(short, 200))[0].startswith('One.\n{"long": "éé')
    other = {"content": [{"type": "text", "text": "x" * 700}], "structuredContent": {"long": "é" * 1_000}}
    assert "of 1,713 characters" in texts(fit_result(other, 200))[-1], "it says something else"


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
    fitted = fit_result(result, 8_000)
    assert written_chars(fitted) < 4 * 32_000
    assert texts(fitted), "what is missing is said"


def test_what_is_too_large_is_named() -> None:
    picture = {"type": "image", "data": "A" * 4_000_000, "mimeType": "image/png"}
    part = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": BLOB * 10}}
    fitted = fit_result({"content": [picture, part, picture, TINY]}, 8_000)
    assert fitted["content"][:2] == [picture, TINY]
    (note,) = texts(fitted)
    assert note.endswith(" cannot hold it: file:///a.bin 30,000 bytes, image image/png 3,000,000 bytes.")
