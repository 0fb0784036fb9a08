"""Find secrets in the text of files: private keys, tokens of services, passwords in addresses.

The rules are data, in `secret_rules.toml`. Most of them describe tokens, and every token contains a long
run of mixed characters. So the text is first reduced to what stands around such runs, which is little of an
ordinary file; then plain searches for the rules' keywords decide which patterns are tried at all.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import string
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise, zip_longest

from findspot.core.files import content_hash

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
    """Where a secret is in a text, and its kind with an article: `an AWS access key`."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text in order, without overlaps."""
    hits = _hits(text, _MOST_ESCAPED)
    hits.sort(key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in hits:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def _hits(text: str, escaped: int) -> list[Secret]:
    """Return what is found in a text, and in the one that its escapes stand for, so many times over."""
    hits = [Secret(start, end, "a private key") for start, end in private_keys(text)]
    hits += _matches(text)
    if escaped and ('\\"' in text or "\\'" in text):
        plain, removed = _unescaped(text)

        def place(at: int) -> int:
            return at + bisect_left(removed, at)

        inside = _hits(plain, escaped - 1)
        hits += [Secret(place(secret.start), place(secret.end), secret.kind) for secret in inside]
    return hits


_MOST_ESCAPED = 2
"""Code is a string in a notebook, and a string in that code is escaped once more."""
_ESCAPE = re.compile(r"""\\(["'`/\\nrt])""")
_MEANT = {"n": "\n", "r": "\r", "t": "\t"}


def _unescaped(text: str) -> tuple[str, list[int]]:
    """Return what a string in JSON or code stands for, and the places in it where a backslash was removed."""
    parts: list[str] = []
    removed: list[int] = []
    last = 0
    for number, escape in enumerate(_ESCAPE.finditer(text)):
        removed.append(escape.start() - number)
        parts += text[last : escape.start()], _MEANT.get(escape[1], escape[1])
        last = escape.end()
    return "".join((*parts, text[last:])), removed


def _hidden(secret: str) -> str:
    return _VISIBLE.sub(MASK, secret)


def masked(text: str, hide: Callable[[str], str] = _hidden) -> str:
    """Return the text with its secrets masked; line and column numbers stay the same."""
    parts: list[str] = []
    last = 0
    for secret in find_secrets(text):
        parts += text[last : secret.start], hide(text[secret.start : secret.end])
        last = secret.end
    return "".join((*parts, text[last:]))


def _matches(text: str) -> Iterator[Secret]:
    windows = _windows(text)
    near = "\n".join([text[start:end] for start, end in windows]).lower()
    whole = [(0, len(text))]
    fired: set[str] = set()
    for rule in _rules_of_keywords(text, near):
        if rule.beside and rule.beside not in fired:
            continue
        for start, end in whole if rule.anywhere else windows:
            for secret in _matches_of(rule, text, start, end):
                fired.add(rule.id)
                yield secret


def _rules_of_keywords(text: str, near: str) -> list[Rule]:
    """Return the rules of which a keyword stands in a text or near its runs, in the order of the table."""
    found: set[int] = set()
    for looked_at, anywhere in ((text, True), (near, False)):
        found.update(*(places for word, places in _rules_by_keyword(anywhere=anywhere) if word in looked_at))
    table = rules()
    return [table[place] for place in sorted(found)]


def _matches_of(rule: Rule, text: str, start: int, end: int) -> Iterator[Secret]:
    for match in rule.pattern.finditer(text, start, end):
        if not rule.joined and _inside_word(text, match.start()):
            continue
        start, stop = match.span(rule.group)
        if rule.check == "block":
            yield from (Secret(*line.span(1), rule.kind) for line in _BLOCK_LINE.finditer(text, start, stop))
        elif CHECKS[rule.check](match[rule.group]):
            yield Secret(start, stop, rule.kind)


_BLOCK_LINE = re.compile(r"(?:^[ \t]+[\w.-]+:[ \t]*)?(\S[^\r\n]*)", re.MULTILINE)
"""A line of a block of secrets, or the value in it: the names of values are none."""


def _windows(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text around long runs of mixed characters, without overlaps."""
    windows: list[tuple[int, int]] = []
    for at, end in mixed_runs(text):
        start = max(0, at - _BEFORE)
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end + _AFTER)
        else:
            windows.append((start, end + _AFTER))
    return windows


def mixed_runs(text: str) -> list[tuple[int, int]]:
    """Return where runs of characters that tokens have start and end, without those that are only words."""
    runs = text.encode("latin-1", "replace").translate(_RUN_TABLE)
    mixed: list[tuple[int, int]] = []
    at = runs.find(_RUN)
    while at >= 0:
        end = runs.find(b" ", at + MIN_RUN)
        if end < 0:
            end = len(text)
        if not WORDS.fullmatch(text, at, end):
            mixed.append((at, end))
        at = runs.find(_RUN, end)
    return mixed


def _inside_word(text: str, at: int) -> bool:
    """Return whether a match is the end of a longer word; `\\n` and `%3D` before it do not count."""
    before = text[max(0, at - 3) : at]
    if not before or not (_is_word(before[-1]) and _is_word(text[at])):
        return False
    escaped = before[-2:-1] == "\\" and before[-1] in "nrtu"
    encoded = len(before) == 3 and before[0] == "%"
    return not (escaped or encoded)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_MARK = "PRIVATE KEY"
_MARKS = re.compile(r"-----(?:(?P<begin>BEGIN)|END) (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")

_BREAK = r"""(?:["'\s,+.]|\\[nr])"""
_LAST_LINE = re.compile(
    rf"{_BREAK}{{1,24}}([A-Za-z0-9+/]{{0,31}}={{0,2}}(?:{_BREAK}{{0,24}}=[A-Za-z0-9+/]{{4}})?){_BREAK}{{0,24}}\Z"
)
"""The last line is shorter; in PGP's form, a checksum follows."""

_MAX_CHARS = 20_000
_MAX_HEAD = 400
"""Between the mark and the key: headers such as `Proc-Type` and comments."""
_MAX_BETWEEN = 24
"""Between two lines of a key: a line break, an indentation, the quotes of a string in code."""
_MIN_CHARS = 60
"""The smallest key, Ed25519, has 64 characters."""
_MIN_CHARS_WITH_DOTS = 192
"""Documentation shows a line of a key and then dots; a whole key may hold dots too."""
_MIN_KEY_DISTINCT = 20


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of private keys begin and end. The header alone is no key: code mentions it.

    What stands between the lines is none either: in a command, it may be another command.
    """
    if _MARK not in text:
        return
    marks = list(_MARKS.finditer(text))
    for mark, after in zip_longest(marks, marks[1:]):
        if not mark["begin"]:
            continue
        stop = min(after.start() if after else len(text), mark.end() + _MAX_CHARS)
        lines = _key_lines(text, mark.end(), stop)
        if lines and _is_key(text, lines):
            yield from lines
            last = _LAST_LINE.match(text, lines[-1][1], stop)
            if last and last[1]:
                yield last.span(1)


def _key_lines(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the lines of base64 that follow on the mark and on each other."""
    lines: list[tuple[int, int]] = []
    for match in _KEY_LINE.finditer(text, start, stop):
        gap = match.start() - (lines[-1][1] if lines else start)
        if gap > (_MAX_BETWEEN if lines else _MAX_HEAD):
            break
        lines.append(match.span())
    return lines


def _is_key(text: str, lines: list[tuple[int, int]]) -> bool:
    body = "".join(text[start:end] for start, end in lines)
    between = text[lines[0][0] : lines[-1][1] + _MAX_BETWEEN]
    needed = _MIN_CHARS_WITH_DOTS if "..." in between else _MIN_CHARS
    return len(body) >= needed and len(set(body)) >= _MIN_KEY_DISTINCT


WORDS = re.compile(r"(?:[_/+~-]++|[A-Z]*+[a-z]{2,}+|[A-Z]{2,15}+(?![A-Z]))*+")
"""Identifiers, paths and rules of dashes: whole words without digits. Possessive, so linear."""

_WORDS_AND_NUMBERS = re.compile(
    r"(?:[^A-Za-z0-9]++|(?:As|At|By|Db|Id|In|Ip|Is|No|Of|On|Or|To|Up)(?![a-z])|"
    r"[A-Z]*+[a-z]{2,}+|[A-Z]{2,15}+(?![A-Z])|(?<!\d)\d{1,4}+(?!\d))*+"
)
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|redacted|your[_-]|change_?me|insecure|x{6}|\*{4}|\.{3}|0{8}",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^\$\w+$|[$%#]\{|\$\(|\{\{|^\{[^}]*\}$|^%\w+%$|^%[sdr]|^<|^@\w+@$|://")
"""`${TOKEN}`, `{{ token }}`, `%TOKEN%`, `<token>`: the name of a value that is defined elsewhere."""
_FILE_PATH = re.compile(r"(?:[\w.@-]+/)++[\w@-]+(?:\.\w{1,8})+")
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
    """Return whether a value with the shape of a token is no placeholder from documentation."""
    if len(set(value)) < _MIN_DISTINCT or _PLACEHOLDER.search(value):
        return False
    if any(example in value for example in _KNOWN_EXAMPLES):
        return False
    return max(_in_sequence(value, 1), _in_sequence(value, 2)) < _MAX_IN_SEQUENCE


def is_random(value: str) -> bool:
    """Return whether a value was generated at random rather than written by a person."""
    if not is_token(value) or _REFERENCE.search(value) or _entropy(value) < _MIN_ENTROPY:
        return False
    if _FILE_PATH.fullmatch(value):
        return False
    kinds = [_kind(char) for char in value.rstrip("=")]
    pairs = [pair for pair in pairwise(kinds) if "" not in pair]
    changes = sum(one != other for one, other in pairs) / max(1, len(pairs))
    if changes < _MAX_CHANGES_OF_WORDS and _WORDS_AND_NUMBERS.fullmatch(value):
        return False
    return changes >= (_MIN_CHANGES if kinds.count("digit") >= 2 else _MIN_CHANGES_WITHOUT_DIGITS)


def is_password(value: str) -> bool:
    """Return whether a value in the place of a password is one, and not the word of an example."""
    value = _PERCENT.sub("", value)
    if _REFERENCE.search(value) or _PLACEHOLDER.search(value) or len(set(value)) < _MIN_PASSWORD_DISTINCT:
        return False
    letters = "".join(char for char in value.lower() if char.isalpha())
    if letters in _EXAMPLE_PASSWORDS or any(word in letters for word in _WORDS_IN_EXAMPLE_PASSWORDS):
        return False
    return len({_kind(char) for char in value}) > 1


def is_jwt(value: str) -> bool:
    """Return whether a JWT makes a claim about somebody; `{"some": "payload"}` is an example."""
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
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


_TABLE = "secret_rules.toml"
_REVISION_CHARS = 8
_END = r"(?![\w-])"
"""A token ends where its service says; text that goes on is something else."""


@dataclass(frozen=True)
class Rule:
    """One kind of secret; the file's head explains the fields."""

    id: str
    kind: str
    keywords: tuple[str, ...]
    regex: str
    check: str = "token"
    where: str = "near"
    beside: str = ""
    joined: bool = False

    @property
    def anywhere(self) -> bool:
        return self.where == "anywhere"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; compiled on first use, since few files need it."""
        whole_token = self.group == 0 and self.check != "block"
        return re.compile(f"(?:{self.regex}){_END}" if whole_token else self.regex, re.ASCII)

    @property
    def group(self) -> str | int:
        return "secret" if "(?P<secret>" in self.regex else 0


@cache
def _text() -> str:
    return resources.files("findspot.discover").joinpath(_TABLE).read_text(encoding="utf-8")


@cache
def table_revision() -> str:
    """Return the version of the table: an index made with another one is scanned again."""
    return content_hash(_text().encode())[:_REVISION_CHARS]


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(
        Rule(**{**row, "keywords": tuple(row["keywords"])}) for row in tomllib.loads(_text())["rules"]
    )


@cache
def _rules_by_keyword(*, anywhere: bool) -> list[tuple[str, set[int]]]:
    """Return the places in the table of the rules that have a keyword."""
    rules_of: dict[str, set[int]] = {}
    for place, rule in enumerate(rules()):
        for keyword in rule.keywords if rule.anywhere == anywhere else ():
            rules_of.setdefault(keyword, set()).add(place)
    return list(rules_of.items())


REMOVED = "[removed]"

_QUOTED = re.compile(
    r"(?P<name>[\"']?[\w.-]*(?:auth|bearer|cookie|credential|key|passw|pwd|secret|token)[\w.-]*[\"']?"
    r"[ \t]*[:=][ \t]*)(?P<quote>[\"'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)",
    re.IGNORECASE,
)
"""A quoted value whose name says that it is a secret: headers and variables of programs hold all kinds."""
_NAMED = re.compile(
    r"(?P<name>\b[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]*"
    r"[\"']?\s{0,3}[:=]\s{0,3})(?P<quote>[\"']?)(?P<value>(?(quote)[^\"'\n]+|[^\s\"',;&{}\[\]]+))",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z-]+[ \t]+)?)"
    r"(?P<value>[^\s\"',]+)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<name>://[^/\s:@]*:)(?P<value>[^/\s@]+)(?=@)")
_OPTION = re.compile(
    r"(?P<name>--?(?:token|password|api-key|secret|auth)(?:[ =]|[\"']\s*,\s*)[\"']?)(?P<value>[^\s\"',\]]+)",
    re.IGNORECASE,
)
_WORDS_THAT_TELL = frozenset({"true", "false", "null", "none", "0", "1", ""})


def redacted(text: str, mark: str = REMOVED) -> str:
    text = masked(text, lambda _: mark)
    for pattern in (_QUOTED, _AUTHORIZATION, _URL_PASSWORD, _OPTION, _NAMED):
        text = pattern.sub(lambda match: _replaced(match, mark), text)
    return text


def _replaced(match: re.Match[str], mark: str) -> str:
    value = match["value"]
    if value.lower() in _WORDS_THAT_TELL or value.startswith(mark):
        return match[0]
    start, end = (place - match.start() for place in match.span("value"))
    return match[0][:start] + mark + match[0][end:]
