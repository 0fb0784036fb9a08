"""What a setting's value may be: one function per kind, from a value in a file to what it means.

A file is taken at its word: `"yes"` is not `true`, and `"src/**"` is not a list. The environment, options and
`config set` have only text, which `from_text` turns into the value that a file would hold.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import compile_glob


class InvalidValueError(Exception):
    """A value that its key cannot take.

    The message says what the key can take; `detail` says what is wrong with this value, and may quote it.
    """

    def __init__(self, wanted: str, detail: str = "") -> None:
        super().__init__(wanted)
        self.detail = detail


Parse = Callable[[Any], Any]


def strings(value: Any) -> tuple[str, ...]:
    """Parse an array of strings."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InvalidValueError("an array of strings")
    return tuple(value)


MAX_GLOBS = 200
"""Each is compiled once and tried on every file; ignore files are the place for long lists."""


def globs(value: Any) -> tuple[str, ...]:
    """Parse an array of glob patterns."""
    patterns = strings(value)
    if len(patterns) > MAX_GLOBS:
        raise InvalidValueError(f"an array of at most {MAX_GLOBS} glob patterns")
    try:
        for pattern in patterns:
            _check_glob(pattern)
    except InvalidPatternError as error:
        raise InvalidValueError("an array of valid glob patterns", error.user_message) from None
    return patterns


@lru_cache(maxsize=1_024)
def _check_glob(pattern: str) -> None:
    compile_glob(pattern)


def boolean(value: Any) -> bool:
    """Parse `true` or `false`."""
    if isinstance(value, bool):
        return value
    raise InvalidValueError("true or false")


def positive(value: Any) -> int:
    """Parse a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidValueError("a positive integer")
    return value


_SIZE = re.compile(r"(\d{1,12})(KB|MB)")


def size(value: Any) -> int:
    """Parse a size in bytes."""
    parts = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not parts or int(parts[1]) == 0:
        raise InvalidValueError("a size such as '500KB' or '2MB'")
    return int(parts[1]) << (10 if parts[2] == "KB" else 20)


def text(value: Any) -> str:
    """Parse a string that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise InvalidValueError("a non-empty string")


def one_of(*choices: str) -> Parse:
    """Parse one of a few strings."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidValueError("one of " + ", ".join(f"'{choice}'" for choice in choices))
        return value

    return parse


def some_of(*choices: str) -> Parse:
    """Parse an array of at least one of a few strings."""

    def parse(value: Any) -> tuple[str, ...]:
        if isinstance(value, list | tuple) and value and all(one in choices for one in value):
            return tuple(value)
        raise InvalidValueError("an array of: " + ", ".join(choices))

    return parse


def optional(parse: Parse) -> Parse:
    """Parse what `parse` does, or nothing."""
    return lambda value: None if value is None else parse(value)


_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_COMMA = re.compile(r",(?![^{]*\})")
"""A comma that separates: one in `{a,b}` belongs to a glob."""


def from_text(written: str, parse: Parse) -> Any:
    """Return the value that a file would hold for a text; InvalidValueError where there is none."""
    refused = InvalidValueError("another value")
    for value in _readings(written):
        try:
            parse(value)
        except InvalidValueError as error:
            refused = error if error.detail or not refused.detail else refused
        else:
            return value
    raise refused


def _readings(written: str) -> Iterator[Any]:
    """Yield what a text may stand for: JSON, a switch, a list with commas, or itself."""
    with contextlib.suppress(ValueError, RecursionError):
        yield json.loads(written)
    if written.lower() in _WORDS:
        yield _WORDS[written.lower()]
    yield [part.strip() for part in _COMMA.split(written) if part.strip()]
    yield written
