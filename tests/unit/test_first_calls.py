"""What the program leaves out of its start: methods of dataclasses, and the types of numpy."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
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


_WITHOUT_TYPES = """
import sys
from findspot.__main__ import leave_out_types_of_numpy

leave_out_types_of_numpy()
import numpy
from numpy.typing import NDArray

assert "numpy._typing._array_like" not in sys.modules, "numpy has another use for its types now"
assert numpy.linalg.eigh(numpy.eye(2)).eigenvalues.tolist() == [1.0, 1.0]
assert NDArray[numpy.int8] | None
"""

_WITH_TYPES = """
from findspot.__main__ import leave_out_types_of_numpy

leave_out_types_of_numpy()
import numpy.typing
from numpy.typing import ArrayLike, NDArray

assert NDArray[numpy.int8].__origin__ is numpy.ndarray
assert numpy.typing.ArrayLike is ArrayLike
import numpy._typing

assert numpy._typing.ArrayLike is ArrayLike
assert numpy.typing.NDArray is numpy._typing.NDArray
"""


@pytest.mark.parametrize("code", [_WITHOUT_TYPES, _WITH_TYPES])
def test_numpy_is_imported_without_its_types_until_they_are_used(code: str) -> None:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
