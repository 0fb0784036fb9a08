"""How benchmarks count ranks."""

from __future__ import annotations

from benchmarks.metrics import all_within, any_within, ranks


def test_strict_accuracy_wants_every_file() -> None:
    found = ranks(["a.py", "b.py", "c.py"], ["c.py", "a.py", "gone.py"])
    assert found == [3, 1, None]
    assert [all_within(found[:2], k) for k in (1, 3)] == [0.0, 1.0]
    assert all_within(found, 10) == 0.0
    assert any_within(found, 1) == 1.0
    assert any_within(found[2:], 10) == 0.0
