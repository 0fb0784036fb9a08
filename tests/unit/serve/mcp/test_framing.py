"""Lines that are no messages get the protocol's answer; halves of surrogate pairs do not spoil a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from findspot.serve.mcp.client_stream import NoMessageError, read_message
from findspot.text.json_text import with_whole_characters

PARSE, REQUEST = -32700, -32600


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/ca', (None, PARSE)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}}}', (None, PARSE)),
        (b"\xff\xfe not even text", (None, PARSE)),
        (b"[" * 100_000, (None, PARSE)),
        (b'{"jsonrpc": "2.0", "method": "x", "id": 1' + b"0" * 5_000 + b"}", (None, PARSE)),
        (b"null", (None, REQUEST)),
        (b"[]", (None, REQUEST)),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', (None, REQUEST)),
        (b'{"id": 2, "method": "ping"}', (2, REQUEST)),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', ("a", REQUEST)),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', (None, REQUEST)),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', (None, REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', (None, REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 3, "method": 7}', (3, REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 4}', (4, REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": [1]}', (5, REQUEST)),
    ],
    ids=lambda value: value[:50].decode("latin-1") if isinstance(value, bytes) else str(value),
)
def test_what_is_no_message_is_answered(line: bytes, answer: tuple[Any, int]) -> None:
    """protocol B8."""
    with pytest.raises(NoMessageError) as refused:
        read_message(line)
    assert (refused.value.answer.id, refused.value.answer.error.code) == answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" \r",
        b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": 7}',
        b'{"jsonrpc": "2.0", "id": 6, "error": {"code": "x"}}',
        b'{"jsonrpc": "2.0", "id": 7, "result": 1}',
    ],
)
def test_blank_lines_notifications_and_responses_are_never_answered(line: bytes) -> None:
    assert read_message(line) is None


def test_a_call_may_be_nested_deeper_than_the_quick_parser_reads() -> None:
    nested = b"[" * 300 + b"]" * 300
    assert read_message(b'{"jsonrpc": "2.0", "id": 8, "method": "x", "params": {"a": ' + nested + b"}}")


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"cut \ud83d", "cut \ufffd"),
        (rb"\ude00 cut", "\ufffd cut"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\ud83d and \ud83d\ude00", "\\ud83d and \U0001f600"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"plain \u00e9", "plain \u00e9"),
    ],
)
def test_half_a_surrogate_pair_becomes_a_replacement_character(escaped: bytes, text: str) -> None:
    """protocol B8, documents A11, security 19."""
    whole = with_whole_characters(b'"' + escaped + b'"')
    assert json.loads(whole) == text
    assert len(whole) == len(escaped) + 2
    line = b'{"jsonrpc": "2.0", "id": 9, "method": "x", "params": {"query": "' + escaped + b'"}}'
    message = read_message(line)
    assert message.params == {"query": text}  # type: ignore[union-attr]
