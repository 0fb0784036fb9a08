"""What a query is: a symbol, a path, a question with or without names, an error, or a long report.

Each kind is weighed differently: names are best found by keywords, questions by meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from findspot.core.languages import PLAIN, language_of
from findspot.text.tokens import word_parts, words


class Intent(StrEnum):
    SYMBOL = "symbol"
    PATH = "path"
    QUESTION = "question"
    NAMING = "naming"
    ERROR = "error"
    REPORT = "report"


SEMANTIC_WEIGHT = {
    Intent.SYMBOL: 0.3,  # a name is a keyword; vectors only order those that share it
    Intent.PATH: 0.2,
    Intent.QUESTION: 0.7,  # nothing in it is to be found by its spelling alone
    Intent.NAMING: 0.6,  # a question with an identifier in it: both count, meaning a little more
    Intent.ERROR: 0.5,
    Intent.REPORT: 0.6,
}

REPORT_WORDS = 60
"""Longer than anyone types as a question: the text of an issue, a log, a file."""

_PATH = re.compile(r"^[\w.@-]*(?:[/\\][\w.@+-]+)+/?$|^[\w-]+\.[A-Za-z]{1,4}$")
_QUALIFIED = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|/)[A-Za-z_$~][\w$!?]*)*(?:\(\))?[!?]?$")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^[A-Z][a-z]+[A-Z]|^[A-Z]{2,}[a-z]")
_PLACE = re.compile(
    r"(?<![\w.@+-])(?<![\w.@+-][/\\])"  # once per path, or long runs of letters would take quadratic time
    r"(?P<path>(?:[\w.@+-]+[/\\])*[\w.@+-]+\.[A-Za-z]\w{0,5})\b(?:\"?, line |:|\()?(?P<line>\d{1,6})?"
)
"""A file's name as traces and people write it: `pkg/app.py`, `"app.py", line 3`, `App.java:12`."""

MAX_PLACES = 50
_CALLED = re.compile(r"(?<![\w$])([A-Za-z_$][\w$]*)\(\)")
"""`parse()`: people who write so mean the thing of that name."""

OF_A_KIND = re.compile(
    r"\b([A-Z][\w$]*) (?:class|struct|enum|interface|trait|protocol|module|object|type|function|method)\b"
)
"""`the Display struct`: people who write so mean the thing of that name."""

_LOOKS_LIKE_TRACE = re.compile(
    r"Traceback \(most recent call last\)|panicked at|Exception in thread"
    r"|^[ \t]*(?:"
    r"File \"[^\"\n]+\", line \d|File \S[^\n]*:\d+, in \S"  # Python
    r"|at [\w.$<>/@-]+\((?:[^\n]*:\d+|Native Method|Unknown Source)\)"  # Java
    r"|at (?:[^\s()]+ ){1,5}\([^()\n]+:\d+:\d+\)|at (?:async )?[^\s()]+:\d+:\d+[ \t]*$"  # JavaScript
    r"|at [^\s(]+\([^)\n]*\) in [^\n]+:(?:line )?\d"  # C#
    r"|goroutine \d+ \[|panic: runtime error|(?:PHP )?Fatal error: \S"
    r"|(?:\d+: )?(?:from )?\S+\.(?:rb|erb|rake|ru|haml):\d+:in [`'\u2018]"
    r"|#\d+ [^\n(]+\.\w+\(\d+\): \S"  # PHP
    r"|#\d+ +(?:0x[0-9a-f]+|\S+ \([^\n]*\) at \S+:\d)|(?:\* )?frame #\d+: 0x"  # gdb, lldb
    r"|#\d+ +[^\s(][^\n(]* \((?:package|file|dart):[^\s()]+:\d+\)"
    r"|==\d+== +(?:at|by) 0x|\*\* \([A-Z][\w.]*\) \S|stack traceback:"  # Valgrind, Elixir, Lua
    r"|(?:E +|Caused by: |Uncaught )?(?:[\w$]+(?:\.|::|\\))*[A-Z]\w*(?:Error|Exception):(?:\s|$)"
    r")",
    re.MULTILINE,
)
"""What makes a short text an error rather than a question."""

_CODE_SPAN = re.compile(r"`([^`\n]{1,80})`")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a query is understood."""

    intent: Intent
    names: tuple[str, ...]
    """The identifiers it names, as written, the most telling first."""
    title: str = ""
    """The first line of a long text: what it is about, in its author's words."""
    places: tuple[tuple[str, int | None], ...] = ()
    """Files that a long text mentions, with the line where one is given."""

    @property
    def is_long(self) -> bool:
        return bool(self.title)


def read_query(text: str) -> Reading:
    """Tell the kind of a query from its shape alone."""
    text = text.strip()
    found = words(text)
    is_error = bool(_LOOKS_LIKE_TRACE.search(text))
    if is_error or len(found) > REPORT_WORDS:
        intent, names = Intent.ERROR if is_error else Intent.REPORT, _names_in(text, found)
        places, title = _places_in(text), text.split("\n", 1)[0]
        if title == text and not places and len(found) <= REPORT_WORDS:
            return Reading(intent, names)  # a message: its words are looked for
        return Reading(intent, names, title[:200], places)
    if " " not in text:
        if _is_file(text) or (_PATH.match(text) and not _QUALIFIED.match(text)):
            return Reading(Intent.PATH, (), places=_places_in(text))
        if _QUALIFIED.match(text):
            return Reading(Intent.SYMBOL, _symbol_names(text))
    if len(found) in (1, 2) and all(_looks_like_name(word) for word in found):
        return Reading(Intent.SYMBOL, tuple(found))
    names = _names_in(text, found)
    return Reading(Intent.NAMING if names else Intent.QUESTION, names)


def _is_file(text: str) -> bool:
    """Return whether `auth/login.py` or `login.py` names a file; `app.run` and `items.map` do not."""
    if not _PATH.match(text) or language_of(text) == PLAIN:
        return False
    ending = text.rpartition(".")[2]
    return "/" in text or ending in ("c", "h") or (len(ending) > 1 and ending != "map")


def _symbol_names(text: str) -> tuple[str, ...]:
    """Of `a.b.c`, first `c`, then the others: the last part is what is looked for."""
    return tuple(dict.fromkeys(reversed(re.findall(r"[A-Za-z_$~][\w$]*", text))))


def _looks_like_name(word: str) -> bool:
    return bool(_COMPOUND.search(word)) and len(word_parts(word)) > 1


def _names_in(text: str, found: list[str]) -> tuple[str, ...]:
    """Compound identifiers of a sentence, and single words that it marks as names."""
    marked = [w for span in _CODE_SPAN.findall(text) for w in words(span)]
    said = [name for pattern in (_CALLED, OF_A_KIND) for name in pattern.findall(text)]
    return tuple(dict.fromkeys([*marked, *said, *(word for word in found if _looks_like_name(word))]))


def _places_in(text: str) -> tuple[tuple[str, int | None], ...]:
    found = dict.fromkeys(
        (place["path"].replace("\\", "/").removeprefix("./"), int(place["line"]) if place["line"] else None)
        for place in _PLACE.finditer(text)
    )
    return tuple(found)[:MAX_PLACES]
