"""What the program leaves out of its start: methods of dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from findspot.__main__ import build_methods_on_first_call

_METHODS = ("__eq__", "__hash__", "__setattr__", "__delattr__", "__lt__", "__ge__")


@pytest.fixture
def on_first_call(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    maker = getattr(dataclasses, "_create_fn", None)
    if maker is None:
        pytest.skip("this Python compiles all methods of a class at once")
    build_methods_on_first_call()
    yield
    monkeypatch.setattr(dataclasses, "_create_fn", maker)


def made(*, slots: bool) -> tuple[type[Any], type[Any]]:
    value: Any = dataclasses.dataclass(frozen=True, order=True, slots=slots)
    seen: Any = dataclasses.field(default_factory=list, compare=False, repr=False)
    first = {"__annotations__": {"first": int, "second": str, "seen": list}, "second": "x", "seen": seen}
    base = value(type("Base", (), first))
    return base, value(type("Derived", (base,), {"__annotations__": {"third": float}, "third": 0.5}))


def behaviour(value: Any, other: Any) -> list[object]:
    """Return what the methods of two values do, twice: as compiled then, and as compiled before."""
    seen: list[object] = []
    for _ in range(2):
        seen += [repr(value), value == other, value != other, value == 3, hash(value) == hash(other)]
        seen += [value < other, value >= other]
        with pytest.raises(dataclasses.FrozenInstanceError) as refused:
            value.first = 5
        seen.append(str(refused.value))
        with pytest.raises(dataclasses.FrozenInstanceError) as refused:
            del value.second
        seen.append(str(refused.value))
        seen.append(dataclasses.replace(value, first=7).first)
    return seen


@pytest.mark.parametrize("slots", [True, False])
def test_they_do_the_same(slots: bool, request: pytest.FixtureRequest) -> None:
    eager = made(slots=slots)
    request.getfixturevalue("on_first_call")
    lazy = made(slots=slots)
    for its, ours in zip(eager, lazy, strict=True):
        for first in (1, 2):
            assert behaviour(its(1), its(first)) == behaviour(ours(1), ours(first))
        assert [getattr(its, name).__qualname__ for name in _METHODS] == [
            getattr(ours, name).__qualname__ for name in _METHODS
        ]


@pytest.mark.usefixtures("on_first_call")
def test_a_method_is_compiled_once() -> None:
    base, derived = made(slots=True)
    before = {cls: vars(cls)["__eq__"] for cls in (base, derived)}
    assert derived(1) == derived(1)
    assert vars(base)["__eq__"] is before[base]
    compiled = vars(derived)["__eq__"]
    assert compiled is not before[derived]
    assert derived(1) == derived(1)
    assert vars(derived)["__eq__"] is compiled
