"""Another server's result in the versions of the protocol."""

from __future__ import annotations

from typing import Any

from findspot.serve.mcp.tool import Answer
from findspot.serve.mcp.tool_results import wire_result

LINK = {"type": "resource_link", "uri": "note://1", "name": "one"}
SOUND = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}


def passed(version: str, **result: Any) -> dict[str, Any]:
    whole = {"content": [SOUND, LINK], "isError": True, "_meta": {"a/b": 1}, **result}
    return wire_result(Answer({}, passed_on=whole, hint="A hint."), version)


def test_what_a_version_cannot_carry_is_named() -> None:
    new = passed("2025-11-25", structuredContent=[1, None])
    assert new["content"][:2] == [SOUND, LINK]
    assert (new["isError"], new["_meta"], new["structuredContent"]) == (True, {"a/b": 1}, [1, None])
    assert new["content"][2]["text"] == "A hint."
    named = [part["text"] for part in passed("2024-11-05")["content"]]
    assert named[:2] == [
        "[audio audio/wav, which this version of the protocol cannot carry]",
        "[resource_link note://1, which this version of the protocol cannot carry]",
    ]
    assert passed("2025-03-26")["content"][0] == SOUND


def test_half_a_surrogate_pair_does_not_break_the_answer() -> None:
    shown = passed(
        "2025-11-25", content=[{"type": "text", "text": "\ud83d"}], structuredContent={"x": "\ud83d"}
    )
    assert (shown["content"][0]["text"], shown["structuredContent"]) == ("?", {"x": "?"})
