"""The arguments of a call, checked and made plain in one place.

Lenient where the meaning is clear (a number sent as a string, one string for a list, `null` for
nothing), clear where it is not: every refusal names the argument and what it takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from findspot.core.errors import InvalidArgumentError

_SHOWN_CHARS = 60
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


class _WrongTypeError(Exception):
    """A value that cannot be read as what the schema asks for."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Values by name, defaults filled in; what was adjusted is told in the warnings."""

    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return the value, or None for an optional argument that was not given."""
        return self.values.get(name)


def read_arguments(
    schema: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    clamped: Collection[str] = (),
    instead: Mapping[str, str] | None = None,
) -> Arguments:
    """Check what a client sent against a tool's input schema."""
    known = schema["properties"]
    _refuse_unknown(given, known)
    sent = {name: value for name, value in given.items() if value is not None}
    warnings: list[str] = []
    for name, other in (instead or {}).items():
        if other in sent and sent.pop(name, ""):
            warnings.append(f"{name} was ignored, since {other} was given.")
    for name in (*schema.get("required", ()), *(instead or ())):
        if name not in sent and not _stands_in(name, sent, instead):
            raise InvalidArgumentError(f"Missing required argument: {name}")
    values = {name: part["default"] for name, part in known.items() if "default" in part}
    for name, value in sent.items():
        values[name] = _checked(name, value, known[name], name in clamped, warnings)
    return Arguments(values, tuple(warnings))


def _stands_in(name: str, sent: Mapping[str, Any], instead: Mapping[str, str] | None) -> bool:
    return (instead or {}).get(name) in sent


def _refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        named = ", ".join(f"'{_short(name)}'" for name in unknown[:5])
        takes = ", ".join(known) or "none"
        raise InvalidArgumentError(
            f"Unknown argument{'s' if len(unknown) > 1 else ''}: {named}. Known arguments: {takes}."
        )


def _checked(name: str, value: Any, schema: Mapping[str, Any], clamp: bool, warnings: list[str]) -> Any:
    try:
        value = _READERS[schema["type"]](value)
    except _WrongTypeError:
        raise _refusal(name, value, schema) from None
    if isinstance(value, str) and schema.get("minLength") and not value.strip():
        raise InvalidArgumentError(f"{name.capitalize()} cannot be empty")
    if isinstance(value, str) and "enum" in schema and value not in schema["enum"]:
        raise _refusal(name, value, schema)
    if isinstance(value, int | float) and not isinstance(value, bool):
        most = schema.get("maximum", math.inf)
        if value < schema.get("minimum", -math.inf) or (value > most and not clamp):
            raise _refusal(name, value, schema)
        if value > most:
            warnings.append(f"{name} was lowered from {value} to its maximum of {most}.")
            return most
    return value


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _WrongTypeError


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _WrongTypeError


def _number(value: Any) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise _WrongTypeError from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _WrongTypeError
    return value


def _integer(value: Any) -> int:
    number = _number(value)
    if number != int(number):
        raise _WrongTypeError
    return int(number)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise _WrongTypeError


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise _WrongTypeError


_READERS = {
    "string": _string,
    "boolean": _boolean,
    "number": _number,
    "integer": _integer,
    "array": _strings,
    "object": _object,
}


def _refusal(name: str, value: Any, schema: Mapping[str, Any]) -> InvalidArgumentError:
    return InvalidArgumentError(f"'{name}' must be {_wanted(schema)}, not {_short(repr(value))}.")


def _wanted(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f"'{choice}'" for choice in schema["enum"])
    kind = {
        "string": "a string",
        "boolean": "true or false",
        "number": "a number",
        "integer": "a whole number",
        "array": "a list of strings",
        "object": "an object",
    }[schema["type"]]
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{kind} from {low} to {high}"
    return kind if low is None else f"{kind} of at least {low}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
