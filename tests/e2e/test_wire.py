"""The check of all other messages here: that it knows the official schemas, and refuses what they do."""

from __future__ import annotations

import hashlib
import importlib
import re

import pytest
from jsonschema import ValidationError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from e2e.wire import SCHEMAS, VERSIONS, WITHOUT_SCHEMA, Wire


def test_there_is_a_schema_of_every_version_but_the_first() -> None:
    spoken = {*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}
    assert spoken - set(VERSIONS) == {WITHOUT_SCHEMA}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_they_are_the_files_that_the_sdk_was_made_from(version: str) -> None:
    told = importlib.import_module(f"mcp_types._v{version.replace('-', '_')}").__doc__
    assert told is not None
    (expected,) = re.findall(r"[0-9a-f]{64}", told)
    assert hashlib.sha256((SCHEMAS / f"{version}.json").read_bytes()).hexdigest() == expected


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "smell", "text": "x"}]}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "no number"}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}},
        {"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {}},
    ],
    ids=str,
)
def test_what_a_schema_refuses_is_refused(message: dict[str, object]) -> None:
    wire = Wire()
    wire.sent({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_code"}})
    wire.received({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "right"}]}})
    with pytest.raises(ValidationError):
        wire.received(message)
