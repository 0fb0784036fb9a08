"""Tell values that are secret from placeholders, references and ordinary words."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

WORDS = re.compile(r"(?:[_/+~-]++|[A-Z]*+[a-z]{2,}+|[A-Z]{2,15}+(?![A-Z]))*+")
"""Identifiers, paths and rules of dashes: whole words without digits. Possessive, so linear."""

_WORDS_AND_NUMBERS = re.compile(
    r"(?:[^A-Za-z0-9]++|[A-Z]*+[a-z]{2,}+|[A-Z]{2,15}+(?![A-Z])|(?<!\d)\d{1,4}+(?!\d))*+"
)
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|redacted|your[_-]|change_?me|insecure|x{6}|\*{4}|\.{3}|0{8}",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^\$\w+$|[$%#]\{|\$\(|\{\{|^\{[^}]*\}$|^%\w+%$|^%[sdr]|^<|^@\w+@$|://")
"""`${TOKEN}`, `{{ token }}`, `%TOKEN%`, `<token>`: the name of a value that stands elsewhere."""
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
# fmt: off
_EXAMPLE_PASSWORDS = frozenset({
    "pass", "pw", "pwd", "user", "username", "login", "name", "token", "auth", "admin", "root", "test",
    "tester", "testing", "guest", "default", "mypass", "userpass", "somepass", "dbpass", "postgres", "mysql",
    "mongo", "redis", "rabbitmq", "letmein", "qwerty", "abc", "foo", "bar", "baz", "xyz", "port",
})
_WORDS_IN_EXAMPLE_PASSWORDS = ("password", "passwd", "passwort", "secret")
_CLAIMS = frozenset({
    "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "sid", "scope", "scp", "role", "roles", "email", "user",
    "user_id", "userId", "uid", "oid", "tid", "client_id", "azp",
})
# fmt: on
_KNOWN_EXAMPLES = (
    "eyJzdWIiOiIxMjM0NTY3ODkwIi",  # the JWT of jwt.io
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSR",  # the key of Azure's storage emulator
)
"""Values that documentation publishes for everybody."""

_MIN_DISTINCT = 9
"""A token of fewer different characters is not random: `ghp_aaaa…`, `AKIA0000…`."""
_MAX_IN_SEQUENCE = 0.6
"""How many neighbours may follow on each other, as in `abcdef` or `1a2b3c`."""
_MIN_CHANGES = 0.22
"""How many neighbours must be of two kinds (small letter, capital, digit). Random text has 0.4 to 0.6."""
_MIN_CHANGES_WITHOUT_DIGITS = 0.35
_MAX_CHANGES_OF_WORDS = 0.45
_MIN_ENTROPY = 3.0
_MIN_PASSWORD_DISTINCT = 5


def is_token(value: str) -> bool:
    """Tell whether a value that has a token's shape is none of a documentation's placeholders."""
    if len(set(value)) < _MIN_DISTINCT or _PLACEHOLDER.search(value):
        return False
    if any(example in value for example in _KNOWN_EXAMPLES):
        return False
    return max(_in_sequence(value, 1), _in_sequence(value, 2)) < _MAX_IN_SEQUENCE


def is_random(value: str) -> bool:
    """Tell whether a value of no certain shape was drawn at random, rather than written by a person."""
    if not is_token(value) or _REFERENCE.search(value) or _entropy(value) < _MIN_ENTROPY:
        return False
    kinds = [_kind(char) for char in value.rstrip("=")]
    pairs = [pair for pair in pairwise(kinds) if "" not in pair]
    changes = sum(one != other for one, other in pairs) / max(1, len(pairs))
    if changes < _MAX_CHANGES_OF_WORDS and _WORDS_AND_NUMBERS.fullmatch(value):
        return False
    return changes >= (_MIN_CHANGES if kinds.count("digit") >= 2 else _MIN_CHANGES_WITHOUT_DIGITS)


def is_password(value: str) -> bool:
    """Tell whether a value where a password stands is one, and not the word that an example puts there."""
    value = _PERCENT.sub("", value)
    if _REFERENCE.search(value) or _PLACEHOLDER.search(value) or len(set(value)) < _MIN_PASSWORD_DISTINCT:
        return False
    letters = "".join(char for char in value.lower() if char.isalpha())
    if letters in _EXAMPLE_PASSWORDS or any(word in letters for word in _WORDS_IN_EXAMPLE_PASSWORDS):
        return False
    return len({_kind(char) for char in value}) > 1


def is_jwt(value: str) -> bool:
    """Tell whether a JWT makes a claim about somebody; `{"some": "payload"}` is an example."""
    payload = value.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return is_token(value)
    return is_token(value) and isinstance(claims, dict) and not _CLAIMS.isdisjoint(claims)


CHECKS: dict[str, Callable[[str], bool]] = {
    "token": is_token,
    "random": is_random,
    "password": is_password,
    "jwt": is_jwt,
    "block": bool,
}
"""The names that the table uses."""


def _in_sequence(value: Sequence[str], step: int) -> float:
    follows = sum(ord(after) - ord(before) == 1 for before, after in zip(value, value[step:], strict=False))
    return follows / max(1, len(value))


def _kind(char: str) -> str:
    if char.isdigit():
        return "digit"
    if not char.isalpha():
        return ""
    return "capital" if char.isupper() else "small"


def _entropy(value: str) -> float:
    """Return Shannon's entropy in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
