"""Golden files: reviewed results that a test compares with, and rewrites only when asked to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def compare(golden: Path, result: str) -> None:
    """Fail where a result is not that of its golden file.

    With `UPDATE_GOLDEN=1` the file is rewritten, and the test fails all the same: a person has to look at
    the difference, so a run that rewrites anything must never pass.
    """
    known = golden.read_text("utf-8") if golden.exists() else None
    if os.environ.get("UPDATE_GOLDEN") and result != known:
        golden.write_text(result, "utf-8")
        pytest.fail(f"{golden.name} was rewritten: review the difference, then run again.", pytrace=False)
    assert result == known
