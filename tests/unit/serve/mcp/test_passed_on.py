"""Another server's result as it is sent on."""

from __future__ import annotations

from findspot.serve.mcp.tool import Answer, wire_result


def test_it_passes_whole() -> None:
    content = [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]
    whole = {"content": content, "isError": True, "_meta": {"a/b": 1}, "structuredContent": [1, None]}
    sent = wire_result(Answer({}, passed_on=whole, hint="A hint."), "2025-11-25")
    assert (sent["content"][0], sent["content"][1]["text"]) == (content[0], "A hint.")
    assert {name: sent[name] for name in whole if name != "content"} == {
        name: value for name, value in whole.items() if name != "content"
    }


def test_half_a_surrogate_pair_does_not_break_the_answer() -> None:
    whole = {"content": [{"type": "text", "text": "\ud83d"}], "structuredContent": {"x": "\ud83d"}}
    shown = wire_result(Answer({}, passed_on=whole), "2025-11-25")
    assert (shown["content"][0]["text"], shown["structuredContent"]) == ("?", {"x": "?"})
