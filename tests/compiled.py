"""The compiled part, for tests that compare it with Python."""

from __future__ import annotations

from types import ModuleType

import pytest

from findspot.core.platforms import native


def compiled_part() -> ModuleType:
    """Return the compiled part; without a compiler there is none, and a module that compares it is skipped.

    With one, `test_the_compiled_part_is_used` fails instead, and CI requires it.
    """
    part = native()
    if part is None:
        pytest.skip("the compiled part is not installed", allow_module_level=True)
    return part
