"""The one glob of the product: gitignore's rules over POSIX relative paths, plus `{a,b}`.

Every `*` but a component's last, and every `**` but a path's last, becomes an atomic group that
takes the earliest match. That loses nothing, as what follows a star has a fixed length, and it
makes matching linear: no pattern can hang a search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

from findspot.core.errors import InvalidPatternError

MAX_PATTERN_CHARS = 1_000
MAX_ALTERNATIVES = 256
MAX_EXPANDED_CHARS = 20_000
"""Compiling takes about a microsecond a character: this is what a user may wait for."""

_FOLDERS = "(?:[^/]+/)*?"
_TOKEN = re.compile(r"\\.|\[[!^]?\]?[^]]*\]|.", re.DOTALL)
"""A character that braces are looked for in; what is escaped or in a class is passed over."""
_UNIVERSAL = frozenset({"*", "**", "**/*", "/**"})
_PLAIN_SUFFIX = re.compile(r"(?:\*\*/)?\*([^/*?\[\]{}\\]+)")
_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-.:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class Globs:
    """A set of globs; a path matches when any of them does.

    A folder is given with a trailing slash: it matches when the pattern names it, or names
    everything in it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._everything = any(pattern in _UNIVERSAL for pattern in self.patterns)
        suffixes: list[str] = []
        compiled: list[re.Pattern[str]] = []
        for pattern in self.patterns:
            regex = compile_glob(pattern)
            plain = _PLAIN_SUFFIX.fullmatch(pattern)
            if plain:
                suffixes += [_nfc(plain[1]), _nfc(plain[1]) + "/"]
            elif pattern not in _UNIVERSAL:
                compiled.append(regex)
        # Most patterns are `*.ext`, and asking for a suffix is ten times as fast as a regex.
        self._suffixes = tuple(suffixes)
        self._compiled = tuple(compiled)

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def matches(self, path: str) -> bool:
        if self._everything:
            return True
        if path.endswith(self._suffixes):
            return True
        for regex in self._compiled:  # noqa: SIM110 - a generator costs more than the rest of this
            if regex.match(path):
                return True
        return False


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regex of a glob, to be used with `match`; InvalidPatternError when it cannot be read."""
    _check(pattern)
    rooted = re.sub(r"^\.(?=/)", "", _nfc(pattern))
    alternatives = "|".join(_path_with_end(glob) for glob in _expand_braces(rooted))
    return re.compile(f"(?s:{alternatives})\\Z")


def path_regex(glob: str, *, anchored: bool) -> str:
    """Return the regex, open at its end, of one brace-free glob without outer slashes."""
    parts = glob.split("/")
    if not anchored:
        parts.insert(0, "**")
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        elif part:
            runs[-1].append(_component(part, glob))
    first, *rest = ["/".join(run) for run in runs]
    if not rest:
        return first
    # Runs are separated by `**`; an empty one between two of them changes nothing.
    *middle, last = rest
    regex = f"{first}/" if first else ""
    regex += "".join(f"(?>{_FOLDERS}{run}/)" for run in middle if run)
    return regex + (f"{_FOLDERS}{last}" if last else ".*")


def _nfc(pattern: str) -> str:
    return unicodedata.normalize("NFC", pattern)


def _check(pattern: str) -> None:
    if not pattern.strip("/"):
        raise InvalidPatternError(pattern, "the pattern is empty")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidPatternError(pattern, f"the pattern is longer than {MAX_PATTERN_CHARS} characters")
    if "\0" in pattern:
        raise InvalidPatternError(pattern, "the pattern holds a NUL character")
    if pattern.startswith("!"):
        raise InvalidPatternError(
            pattern, "a pattern cannot be negated here; write '\\!' for a name with '!'"
        )
    if ".." in pattern.split("/"):
        raise InvalidPatternError(pattern, "a pattern cannot leave the project with '..'")


def _path_with_end(glob: str) -> str:
    """Return one alternative: where it is anchored, and what may follow it."""
    anchored_here = glob.startswith("./")
    body = glob.removeprefix("./").strip("/")
    if not body:
        return "(?!)"
    anchored = anchored_here or glob.startswith("/") or "/" in body
    end = "/.*" if glob.endswith("/") else "/?"
    return path_regex(body, anchored=anchored) + end


def _component(part: str, glob: str) -> str:
    """Return the regex of what stands between two slashes."""
    pieces = _fixed_pieces(part, glob)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    if not any(pieces):
        return "[^/]+"
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + "[^/]*" + last


def _fixed_pieces(part: str, glob: str) -> list[str]:
    """Return the regexes between the stars of a component; each matches a fixed number of characters."""
    pieces = [""]
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            regex, at = _char_class(part, at, glob)
            pieces[-1] += regex
        elif char == "\\":
            if at == len(part):
                raise InvalidPatternError(glob, "a backslash at the end escapes nothing")
            pieces[-1] += re.escape(part[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    return pieces


def _char_class(part: str, at: int, glob: str) -> tuple[str, int]:
    """Return the regex of a `[…]` whose content starts at `at`, and where it ends."""
    negated = part[at : at + 1] in ("!", "^")
    start = at = at + negated
    members = ""
    while at < len(part) and (part[at] != "]" or at == start):
        posix = re.compile(r"\[:(\w+):\]").match(part, at)
        if posix:
            if posix[1] not in _POSIX_CLASSES:
                raise InvalidPatternError(glob, f"unknown character class '{posix[1]}'")
            members += _POSIX_CLASSES[posix[1]]
            at = posix.end()
            continue
        low, at = _class_member(part, at, glob)
        high = low
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in ("", "]"):
            high, at = _class_member(part, at + 1, glob)
        if low > high:
            raise InvalidPatternError(glob, f"the range '{low}-{high}' runs backwards")
        members += re.escape(low) if low == high else f"{re.escape(low)}-{re.escape(high)}"
    if at >= len(part):
        raise InvalidPatternError(glob, "'[' is never closed")
    return f"(?!/)[{'^' if negated else ''}{members}]", at + 1


def _class_member(part: str, at: int, glob: str) -> tuple[str, int]:
    if part[at] == "\\":
        at += 1
        if at == len(part):
            raise InvalidPatternError(glob, "a backslash at the end escapes nothing")
    return part[at], at + 1


def _expand_braces(pattern: str) -> list[str]:
    """Return the brace-free patterns of `{a,b}`; a pair without a comma is taken literally."""
    around: list[tuple[list[str], list[str]]] = []
    """Before each open brace, and inside it up to its last comma."""
    globs = [""]
    for token in _TOKEN.findall(pattern):
        if token == "{":
            around.append((globs, []))
            globs = [""]
        elif token == "," and around:
            around[-1][1].extend(globs)
            globs = [""]
        elif token == "}" and around:
            before, others = around.pop()
            inside = [*others, *globs] if others else [f"\\{{{glob}\\}}" for glob in globs]
            globs = [start + end for start in before for end in inside]
        else:
            globs = [glob + token for glob in globs]
        _check_size(list(chain(globs, *chain(*around))), pattern)
    if around:
        raise InvalidPatternError(pattern, "'{' is never closed")
    return globs


def _check_size(globs: list[str], pattern: str) -> None:
    if len(globs) > MAX_ALTERNATIVES or sum(map(len, globs)) > MAX_EXPANDED_CHARS:
        raise InvalidPatternError(pattern, f"the braces give more than {MAX_ALTERNATIVES} alternatives")
