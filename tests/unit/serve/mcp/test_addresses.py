"""Where `serve --http` listens."""

from __future__ import annotations

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.serve.mcp.http_server import parse_address


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("", ("127.0.0.1", 8765)),
        ("9000", ("127.0.0.1", 9000)),
        ("localhost", ("localhost", 8765)),
        ("localhost:0", ("localhost", 0)),
        (":9000", ("127.0.0.1", 9000)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8765)),
        ("::1", ("::1", 8765)),
    ],
)
def test_an_address(given: str, meant: tuple[str, int]) -> None:
    assert parse_address(given) == meant


@pytest.mark.parametrize("given", ["host:port", "host:99999", "host:-1", "/proc/none/x", "localhost?x"])
def test_no_address(given: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_address(given)
