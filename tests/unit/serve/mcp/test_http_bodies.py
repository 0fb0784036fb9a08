"""Bodies of requests over HTTP that are too large."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from findspot.serve.mcp import http_server
from findspot.serve.mcp.http_server import Bodies


def dropped(monkeypatch: pytest.MonkeyPatch, parts: int) -> int:
    """The parts of a body of a thousand bytes each that nobody has read when a request is handed on."""
    monkeypatch.setattr(http_server, "_MOST_DROPPED_BYTES", 8_000)
    waiting = [{"type": "http.request", "body": b"x" * 1_000, "more_body": n > 0} for n in range(parts)]
    left: list[int] = []

    async def receive() -> Any:
        return waiting.pop()

    async def app(*_: Any) -> None:
        left.append(len(waiting))

    scope = {"type": "http", "method": "POST", "path": "/other", "headers": []}
    anyio.run(Bodies(app, 2_000), scope, receive, app)
    return left[0]


def test_a_body_that_is_too_large_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is closed before that takes the refusal along."""
    assert dropped(monkeypatch, 2) == 0
    assert dropped(monkeypatch, 7) == 0


def test_a_body_without_an_end_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dropped(monkeypatch, 100) == 91
