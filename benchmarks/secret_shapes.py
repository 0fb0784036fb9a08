"""Draw secrets of many kinds: the shapes are in `secret_shapes.toml`, the values are new in every run."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_SHAPES = Path(__file__).with_name("secret_shapes.toml")
_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": _ALNUM,
    "A": string.ascii_uppercase + string.digits,
    "z": string.ascii_lowercase + string.digits,
    "l": string.ascii_letters,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "32": string.ascii_uppercase + "234567",
    "u": _ALNUM + "-_",
    "b": _ALNUM + "+/",
    "w": _ALNUM,
    "p": _ALNUM + "!@#$%^&*(-_=+)",
    "age": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
_FIELD = re.compile(r"\{(?:(\w+):(\d+)|(uuid|key|pem|jwt))\}")


@dataclass(frozen=True, slots=True)
class Example:
    """A file that holds one secret."""

    kind: str
    path: str
    text: str
    values: tuple[str, ...]
    """What was drawn: none of it may be seen by anybody."""


def draw(chance: random.Random) -> list[Example]:
    """Return one example of every kind."""
    kinds = tomllib.loads(_SHAPES.read_text(encoding="utf-8"))["kinds"]
    return [_example(chance, *row) for row in kinds]


def _example(chance: random.Random, kind: str, path: str, template: str) -> Example:
    values: list[str] = []

    def drawn(field: re.Match[str]) -> str:
        alphabet, size, name = field.groups()
        value = _NAMED[name](chance) if name else _random(chance, _ALPHABETS[alphabet], int(size))
        values.append(value)
        return value

    return Example(kind, path, _FIELD.sub(drawn, template), tuple(values))


def _random(chance: random.Random, alphabet: str, size: int) -> str:
    return "".join(chance.choices(alphabet, k=size))


def _uuid(chance: random.Random) -> str:
    return "-".join(_random(chance, _ALPHABETS["h"], size) for size in (8, 4, 4, 4, 12))


def _key_line(chance: random.Random) -> str:
    return _random(chance, _ALPHABETS["b"], 64)


def _key_lines(chance: random.Random) -> str:
    return "\n".join(_key_line(chance) for _ in range(12))


def _jwt(chance: random.Random) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": _random(chance, _ALNUM, 8), "iat": chance.randrange(1_700_000_000, 1_800_000_000)}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body)
    ]
    return ".".join([*parts, _random(chance, _ALPHABETS["u"], 43)])


_NAMED: dict[str, Callable[[random.Random], str]] = {
    "uuid": _uuid,
    "key": _key_line,
    "pem": _key_lines,
    "jwt": _jwt,
}
