"""Which of the two forms of an answer a client gets in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.config import load_settings
from findspot.serve.mcp.client import structured_results


@pytest.mark.parametrize("shape", ["full", "slim", "only"])
def test_a_client_that_forwards_both_forms_gets_one(shape: str, tmp_path: Path) -> None:
    environ = {"FINDSPOT_STRUCTURED_RESULTS": shape, "FINDSPOT_HOME": str(tmp_path)}
    serve = load_settings(environ=environ).serve
    assert structured_results(None, serve) == shape
    assert structured_results("some-client", serve) == shape
    assert structured_results("github-copilot-developer", serve) == "only"
