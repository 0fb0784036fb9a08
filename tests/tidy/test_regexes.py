"""No regular expression takes more than linear time on the text of a repository, or not without a reason.

A file is a stranger's: 200 KB of blanks in the right place would hold up a worker or, where the server
itself reads, everybody. Python's `re` tries every way to share a run of characters between two repeats, and
every place where a search may begin. Four shapes do that, and each of them can be written otherwise:

* `^\\s*` of several lines: it runs over the line ends, from every line again. Write `^[ \\t]*`.
* two repeats that share characters, such as `(.+?)\\s*$`. Strip the text first.
* a repeat of a repeat, such as `(?:a+)*`.
* a search that begins with a repeat, such as `\\s+$`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "findspot"

QUESTIONS = ("rank", "serve")
"""Packages that read what users say, and their own settings."""

LIMITED = {
    "chunk/symbols.py": "(?:\\n[ \\t]*|[ \\t]+)(?:#|//|--)",  # a signature of some hundred characters
}
"""Regular expressions whose text is short, by how they begin."""

SAMPLE = frozenset(map(chr, range(128))) | {"ä", "中", "\u2028"}
MANY = 1_000
"""Repeats limited to less than this are as good as none."""

CALLS = ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")
BEGIN_ANYWHERE = ("search", "findall", "finditer", "sub", "subn", "split")


class Literal(NamedTuple):
    """A regular expression in the source, and whether it is looked for anywhere in a text."""

    where: str
    pattern: str
    is_searched: bool


class Repeat(NamedTuple):
    """A repeat without a limit: the characters it may begin and end with, and whether it can be divided."""

    starts: frozenset[str]
    ends: frozenset[str]
    is_nested: bool


Reaching = tuple[frozenset[str], ...]


def literals(path: Path) -> Iterator[Literal]:
    tree = ast.parse(path.read_text("utf-8"))
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
    named = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        if node.func.attr in CALLS and (pattern := text_of(node.args[0])) is not None:
            flags = "".join(f"(?{f})" for f in flags_of(node))
            methods = used.get(named.get(id(node), ""), set()) | {node.func.attr}
            where = f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}"
            yield Literal(where, flags + pattern, any(name in methods for name in BEGIN_ANYWHERE))


def text_of(node: ast.expr) -> str | None:
    """Return the text of a literal; what is put into it counts as a word."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "(?:word)" for part in node.values
        )
    return None


def flags_of(call: ast.Call) -> Iterator[str]:
    names = {
        node.attr
        for value in (*call.args[1:], *(k.value for k in call.keywords))
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute)
    }
    for short, long in (("m", "MULTILINE"), ("s", "DOTALL"), ("i", "IGNORECASE"), ("x", "VERBOSE")):
        if {short.upper(), long} & names:
            yield short


def faults(literal: Literal) -> Iterator[str]:
    flags, text = "", literal.pattern
    while found := re.match(r"\(\?([a-z]+)\)", text):
        flags, text = flags + found[1], text[found.end() :]
    items = list(parser.parse(f"(?{flags}){text}" if flags else text))
    yield from in_sequence(items, flags)
    if literal.is_searched and begins_with_repeat(items, flags):
        yield "a search begins with a repeat"


def begins_with_repeat(items: list[Any], flags: str) -> bool:
    """Return whether a repeat comes first and what follows may fail: it is tried from each place again."""
    first, *rest = items
    if first[0] in (kinds.BRANCH, kinds.SUBPATTERN):
        return any(begins_with_repeat([*inner, *rest], flags) for inner in insides(first))
    repeat = repeat_of(first, flags)
    return repeat is not None and not always_ends(repeat, tuple(rest))


def in_sequence(
    items: list[Any],
    flags: str,
    reaching: Reaching = (),
    rest: tuple[Any, ...] = (),
    begins_line: bool = False,
) -> Generator[str, None, Reaching]:
    """Yield the faults of items that follow each other; return what their repeats leave to what follows.

    `reaching` is what earlier repeats leave to them: nothing between had to match. `rest` follows them.
    """
    for place, item in enumerate(items):
        after = (*items[place + 1 :], *rest)
        repeat = repeat_of(item, flags)
        if item[0] is kinds.AT:
            begins_line = begins_line or ("m" in flags and item[1] is kinds.AT_BEGINNING)
            continue
        if repeat is None:
            left: list[frozenset[str]] = [*reaching] if is_empty(item) else []
            for inner in insides(item):
                left += yield from in_sequence(inner, flags, reaching, after, begins_line)
            reaching = tuple(dict.fromkeys(left))
        else:
            if begins_line and "\n" in repeat.starts:
                yield "a repeat at the start of a line runs over line ends"
            may_fail = not always_ends(repeat, after)
            if repeat.is_nested and may_fail:
                yield "a repeat of a repeat"
            if any(repeat.starts & before for before in reaching) and may_fail:
                yield "two repeats share characters"
            kept = reaching if is_empty(item) else [before & repeat.starts for before in reaching]
            reaching = (*filter(None, kept), repeat.ends)
            for inner in insides(item):
                yield from in_sequence(inner, flags)
        begins_line = begins_line and is_empty(item)
    return reaching


def always_ends(repeat: Repeat, rest: tuple[Any, ...]) -> bool:
    """Return whether nothing that follows a repeat can fail, or only the end of a line that it reaches."""
    ends = {kinds.AT_END, kinds.AT_END_STRING}
    if repeat.starts >= SAMPLE - {"\n"} and rest and rest[0][0] is kinds.AT and rest[0][1] in ends:
        rest = rest[1:]
    return all(is_empty(item) and item[0] is not kinds.AT for item in rest)


def insides(item: Any) -> list[list[Any]]:
    kind, value = item
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        return [list(value[2])]
    if kind is kinds.SUBPATTERN:
        return [list(value[3])]
    if kind is kinds.ATOMIC_GROUP:
        return [list(value)]
    if kind is kinds.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind in (kinds.ASSERT, kinds.ASSERT_NOT):
        return [list(value[1])]
    return []


def is_empty(item: Any) -> bool:
    """Return whether an item may match nothing."""
    kind, value = item
    if kind in (kinds.AT, kinds.ASSERT, kinds.ASSERT_NOT):
        return True
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        return value[0] == 0 or all(map(is_empty, value[2]))
    if kind is kinds.BRANCH:
        return any(all(map(is_empty, branch)) for branch in value[1])
    return bool(insides(item)) and all(map(is_empty, insides(item)[0]))


def repeat_of(item: Any, flags: str) -> Repeat | None:
    """Return what an item repeats without a limit; a group counts as the one thing it holds."""
    kind, value = item
    if kind is kinds.SUBPATTERN:
        return repeat_of(value[3][0], flags) if len(value[3]) == 1 else None
    if kind not in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        return None
    _, high, body = value
    if high is not kinds.MAXREPEAT and high < MANY:
        return repeat_of(body[0], flags) if len(body) == 1 else None
    starts, ends = edge(list(body), flags), edge(list(reversed(body)), flags)
    return Repeat(starts, ends, ends_in_its_start(list(body), starts, flags))


def edge(items: list[Any], flags: str) -> frozenset[str]:
    """Return what the first of some items may take, and those after it while it may be empty."""
    found: frozenset[str] = frozenset()
    for item in items:
        inner = insides(item)
        found |= frozenset().union(*(edge(each, flags) for each in inner)) if inner else chars_of(item, flags)
        if not is_empty(item):
            break
    return found


def ends_in_its_start(body: list[Any], starts: frozenset[str], flags: str) -> bool:
    """Return whether what is repeated ends in a repeat of its own start, and can be divided anywhere."""
    for item in reversed(body):
        repeat = repeat_of(item, flags)
        if repeat is not None and repeat.ends & starts:
            return True
        inner = insides(item) if item[0] in (kinds.SUBPATTERN, kinds.BRANCH) else []
        if any(ends_in_its_start(each, starts, flags) for each in inner):
            return True
        if not is_empty(item):
            return False
    return False


def chars_of(item: Any, flags: str) -> frozenset[str]:
    """Return the characters of the sample that an item may take."""
    kind, value = item
    if kind is kinds.LITERAL:
        return frozenset({chr(value)})
    if kind is kinds.NOT_LITERAL:
        return SAMPLE - {chr(value)}
    if kind is kinds.ANY:
        return SAMPLE if "s" in flags else SAMPLE - {"\n"}
    if kind is kinds.IN:
        return of_set(value)
    return frozenset()


def of_set(members: Any) -> frozenset[str]:
    found: set[str] = set()
    negated = False
    for kind, value in members:
        if kind is kinds.NEGATE:
            negated = True
        elif kind is kinds.LITERAL:
            found.add(chr(value))
        elif kind is kinds.RANGE:
            found |= {c for c in SAMPLE if value[0] <= ord(c) <= value[1]}
        else:
            found |= {c for c in SAMPLE if category(value).match(c)}
    return SAMPLE - found if negated else frozenset(found)


@cache
def category(value: Any) -> re.Pattern[str]:
    names = {"SPACE": "s", "DIGIT": "d", "WORD": "w"}
    _, *negated, name = str(value).split("_")
    return re.compile("\\" + (names[name].upper() if negated else names[name]))


def test_regular_expressions_take_linear_time() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(QUESTIONS):
            continue
        for literal in literals(path):
            if name not in LIMITED or not literal.pattern.startswith(LIMITED[name]):
                found += [f"{literal.where}: {fault}: {literal.pattern}" for fault in faults(literal)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "is_searched"),
    [
        (r"(?m)^\s*path\s*=", True),
        (r"(?m)^(?:export)?\s*def", True),
        (r"^path=(.+?)\s*$", False),
        (r"^(={1,6})\s+(\S.*?)\s*$", False),
        (r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?\s*$", False),
        (r"(?:a+)+b", False),
        (r"(?:\w+\s?)*;", False),
        (r"(?:x|[ab]*)*c", False),
        (r"\s+$", True),
        (r"\w+\.", True),
        (r"a|\s*b", True),
    ],
)
def test_what_is_not_linear_is_found(pattern: str, is_searched: bool) -> None:
    assert list(faults(Literal("", pattern, is_searched)))


@pytest.mark.parametrize(
    ("pattern", "is_searched"),
    [
        (r"(?m)^[ \t]*path[ \t]*=", True),
        (r"^\s*path\s*=\s*(.*)$", False),
        (r"^(=+|-{2,})\s*$", False),
        (r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z", False),
        (r"(?:[ \t]+|//[^\n]*)*", False),
        (r"(?<!\s)\s*\{$", True),
        (r"\d+", True),
    ],
)
def test_what_is_linear_is_not(pattern: str, is_searched: bool) -> None:
    assert not list(faults(Literal("", pattern, is_searched)))
