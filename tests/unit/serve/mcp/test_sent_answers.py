"""What of an answer is sent: both forms or one, and another server's result as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.config import load_settings
from findspot.serve.mcp.client import structured_results
from findspot.serve.mcp.tool import Answer, wire_result


@pytest.mark.parametrize("shape", ["full", "slim", "only"])
def test_a_client_that_forwards_both_forms_gets_one(shape: str, tmp_path: Path) -> None:
    environ = {"FINDSPOT_STRUCTURED_RESULTS": shape, "FINDSPOT_HOME": str(tmp_path)}
    serve = load_settings(environ=environ).serve
    assert structured_results(None, serve) == shape
    assert structured_results("some-client", serve) == shape
    assert structured_results("github-copilot-developer", serve) == "only"


def test_a_result_of_another_server_passes_whole() -> None:
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
