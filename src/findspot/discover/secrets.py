"""Find secrets in the text of files: private keys, tokens of services, passwords in addresses.

The rules are data, in `secret_rules.toml`. Most of them describe tokens, and every token contains a long
run of mixed characters. So the text is first reduced to what stands around such runs, which is little of an
ordinary file; then plain searches for the rules' keywords decide which patterns are tried at all.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from findspot.discover.privatekeys import private_keys
from findspot.discover.secretchecks import CHECKS, WORDS
from findspot.discover.secrettable import Rule, rules

MIN_RUN = 20
"""Characters in a run: an AWS access key is the shortest token that is recognised by its run."""

_BEFORE, _AFTER = 80, 48
"""How much of the text around a run the rules see: a name and a prefix before it, a suffix after it."""

_RUN_CHARS = (string.ascii_letters + string.digits + "_-+/~").encode()
_RUN_TABLE = bytes(ord("x") if byte in _RUN_CHARS else ord(" ") for byte in range(256))
_RUN = b"x" * MIN_RUN

MASK = "*"
_VISIBLE = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, and what it is, with its article: `an AWS access key`."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text, in order and apart from each other."""
    hits = [Secret(start, end, "a private key") for start, end in private_keys(text)]
    hits += _matches(text)
    hits.sort(key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in hits:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def masked(text: str) -> str:
    """Return the text with its secrets struck out; line and column numbers stay the same."""
    parts: list[str] = []
    last = 0
    for secret in find_secrets(text):
        parts += text[last : secret.start], _VISIBLE.sub(MASK, text[secret.start : secret.end])
        last = secret.end
    return "".join((*parts, text[last:]))


def _matches(text: str) -> Iterator[Secret]:
    """Yield what the rules of the table find."""
    windows = _windows(text)
    near = "\n".join([text[start:end] for start, end in windows]).lower()
    whole = [(0, len(text))]
    fired: set[str] = set()
    for rule in rules():
        searched, parts = (text, whole) if rule.anywhere else (near, windows)
        if not any(keyword in searched for keyword in rule.keywords):
            continue
        if rule.beside and rule.beside not in fired:
            continue
        for start, end in parts:
            for secret in _matches_of(rule, text, start, end):
                fired.add(rule.id)
                yield secret


def _matches_of(rule: Rule, text: str, start: int, end: int) -> Iterator[Secret]:
    for match in rule.pattern.finditer(text, start, end):
        if not rule.joined and _inside_word(text, match.start()):
            continue
        value = match[rule.group]
        if CHECKS[rule.check](value):
            yield Secret(match.start(rule.group), match.end(rule.group), rule.kind)


def _windows(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text around long runs of mixed characters, apart from each other."""
    runs = text.encode("latin-1", "replace").translate(_RUN_TABLE)
    windows: list[tuple[int, int]] = []
    at = runs.find(_RUN)
    while at >= 0:
        end = runs.find(b" ", at + MIN_RUN)
        if end < 0:
            end = len(text)
        run = text[at:end]
        if not WORDS.fullmatch(run):
            start = max(0, at - _BEFORE)
            if windows and start <= windows[-1][1]:
                windows[-1] = (windows[-1][0], end + _AFTER)
            else:
                windows.append((start, end + _AFTER))
        at = runs.find(_RUN, end)
    return windows


def _inside_word(text: str, at: int) -> bool:
    """Tell whether a match is the tail of a longer word; `\\n` and `%3D` before it are not its head."""
    before = text[max(0, at - 3) : at]
    if not before or not (_is_word(before[-1]) and _is_word(text[at])):
        return False
    escaped = before[-2:-1] == "\\" and before[-1] in "nrtu"
    encoded = len(before) == 3 and before[0] == "%"
    return not (escaped or encoded)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
