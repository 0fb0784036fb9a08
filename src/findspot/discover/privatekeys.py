"""Find private keys in PEM and PGP armour, wherever they stand: in files of their own, in JSON, in code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

_MARK = "PRIVATE KEY"
_MARKS = re.compile(r"-----(?:(?P<begin>BEGIN)|END) (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_LINE = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")

_MAX_CHARS = 20_000
_MAX_HEAD = 400
"""Between the mark and the key: headers such as `Proc-Type` and comments."""
_MAX_BETWEEN = 24
"""Between two lines of a key: a line break, an indentation, the quotes of a string in code."""
_MIN_CHARS = 60
"""The smallest key, Ed25519, has 64 characters."""
_MIN_CHARS_WITH_DOTS = 192
"""Documentation shows a line of a key and then dots; a whole key may hold dots too."""
_MIN_DISTINCT = 20


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where private keys begin and end. The mark alone is no key: code speaks of it."""
    if _MARK not in text:
        return
    marks = list(_MARKS.finditer(text))
    for mark, after in zip_longest(marks, marks[1:]):
        if not mark["begin"]:
            continue
        stop = min(after.start() if after else len(text), mark.end() + _MAX_CHARS)
        lines = _lines(text, mark.end(), stop)
        if lines and _is_key(text, lines):
            ended = after is not None and not after["begin"] and stop == after.start()
            yield mark.start(), after.end() if after and ended else lines[-1][1]


def _lines(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the lines of base64 that follow on the mark and on each other."""
    lines: list[tuple[int, int]] = []
    for match in _LINE.finditer(text, start, stop):
        gap = match.start() - (lines[-1][1] if lines else start)
        if gap > (_MAX_BETWEEN if lines else _MAX_HEAD):
            break
        lines.append(match.span())
    return lines


def _is_key(text: str, lines: list[tuple[int, int]]) -> bool:
    body = "".join(text[start:end] for start, end in lines)
    between = text[lines[0][0] : lines[-1][1] + _MAX_BETWEEN]
    needed = _MIN_CHARS_WITH_DOTS if "..." in between else _MIN_CHARS
    return len(body) >= needed and len(set(body)) >= _MIN_DISTINCT
