"""A question read for what it asks: a relation to a name, a way between two ends, or neither."""

from __future__ import annotations

import re
from dataclasses import dataclass

from findspot.research.findings import Aim, Focus

_FILLER = (
    r"(?:(?:the|a|an|all|any|every|function|method|class|type|struct|protocol|interface|trait|module|file|"
    r"package|folder|constructor|of)\s+)*"
)
_NAME = _FILLER + r"[`'\"]?(?P<name>[A-Za-z_$~./][\w$/#:-]*(?:\.[\w$/#:-]+)*)(?:\(\))?"
_WHO = (
    r"(?:what|who|which(?:\s+\w+)?|where|everything(?:\s+that)?|all\s+\w+(?:\s+that)?"
    r"|(?:list|find|show)(?:\s+\w+)*?)"
)
_FAMILY = (
    r"implementations?|implement[eo]rs?|sub\s?(?:class(?:es)?|types?)|conform(?:ances?|ing\s+types|ers?)"
)
_BECOMES = (
    r"implements?|implementing|conform(?:s|ing)?\s+to|extend(?:s|ing)?|inherit(?:s|ing)?\s+from|subclass(?:es)?"
    r"|adopts?"
)
_CALL_TREE = r"callers?|call\s+(?:chains?|graph|hierarchy|tree|sites?)"

_RELATIONS: tuple[tuple[Aim, str], ...] = (
    (Aim.CALLEES, rf"\bwhat\s+(?:does|do|is|are)\s+{_NAME}\s+(?:calls?|calling|invokes?)\b"),
    (Aim.CALLEES, rf"\b(?:callees?\s+of|(?:called|invoked)\s+(?:by|from))\s+{_NAME}"),
    (Aim.SUPERTYPES, rf"\bwhat\s+does\s+{_NAME}\s+(?:implement|conform|extend|inherit|subclass)\b"),
    (Aim.SUPERTYPES, rf"\b(?:super\s?(?:types?|class(?:es)?)|base\s+(?:class(?:es)?|types?))\s+of\s+{_NAME}"),
    (Aim.IMPORTS, rf"\bwhat\s+does\s+{_NAME}\s+(?:import|depend\s+on|require|include)\b"),
    (Aim.IMPORTS, rf"\b(?:imports|dependencies)\s+of\s+{_NAME}"),
    (Aim.CALLERS, rf"\bwhere\s+(?:is|are)\s+{_NAME}\s+(?:called|invoked)\b"),
    (Aim.CALLERS, rf"\b(?:{_CALL_TREE})\s+(?:of|for|to)\s+{_NAME}"),
    (Aim.CALLERS, rf"\b{_WHO}\s+(?:calls?|invokes?|is\s+calling)\s+{_NAME}"),
    (Aim.IMPLEMENTATIONS, rf"\b(?:{_FAMILY})\s+(?:of|to|for)\s+{_NAME}"),
    (Aim.IMPLEMENTATIONS, rf"\b{_WHO}\s+(?:{_BECOMES})\s+{_NAME}"),
    (Aim.IMPORTERS, rf"\b{_WHO}\s+(?:imports?|depends?\s+on|requires?|includes?)\s+{_NAME}"),
    (Aim.IMPORTERS, rf"\b(?:importers?|dependents)\s+of\s+{_NAME}"),
    (Aim.USES, rf"\bwhere\s+(?:is|are)\s+{_NAME}\s+(?:used|referenced)\b"),
    (Aim.USES, rf"\b(?:usages?|uses|references)\s+(?:of|to)\s+{_NAME}"),
    (Aim.USES, rf"\b{_WHO}\s+(?:uses?|references?)\s+{_NAME}"),
)
_PATTERNS = tuple((aim, re.compile(pattern, re.IGNORECASE)) for aim, pattern in _RELATIONS)

_GOES = (
    r"reach(?:es)?|gets?\s+(?:in)?to|arrives?\s+(?:at|in)|ends?\s+up\s+(?:in|at)|flows?\s+(?:in)?to|leads?\s+to"
    r"|travels?\s+to|goe?s?\s+(?:in)?to|makes?\s+(?:its|their)\s+way\s+to"
)
_WAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:flow|path|way|route|chain|trace)s?\s+from\s+(?P<start>.+?)\s+(?:in)?to\s+(?P<end>.+)",
        rf"\bhow\s+(?:does|do|is|are|can|did)\s+(?P<start>.+?)\s+(?:{_GOES})\s+(?P<end>.+)",
        r"^\s*from\s+(?P<start>.+?)\s+to\s+(?P<end>.+)",
    )
)
_MAP = (
    r"dependency\s+(?:map|graph|structure)|(?:module|package|folder)s?\s+dependenc(?:y|ies)"
    r"|dependencies\s+between|depend\s+on\s+each\s+other|import\s+graph"
)
_FOCUSES = tuple(
    (focus, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
    for focus, words in (
        (Focus.ARCHITECTURE, r"architecture|layers?|entry\s?points?|overview|organi[sz]ed"),
        (Focus.DEPENDENCIES, _MAP),
        (Focus.PATTERNS, r"patterns?|conventions?|idioms?"),
    )
)
_READ_CHARS = 300
"""A relation is asked for in a sentence; what is longer is a report, and searched for."""

_NO_NAMES = frozenset(
    {"it", "this", "that", "them", "these", "those", "each", "other", "what", "which", "there"}
)
_EDGES = re.compile(r"^(?:the|a|an)\s+|[\s?.!,;]+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question is about."""

    aim: Aim
    name: str = ""
    end: str = ""
    """Of a way: where it leads; `name` is where it begins."""
    focus: Focus | None = None
    """What its words ask for, where no focus was given."""


def read_question(text: str) -> ParsedQuestion:
    """Return the relation that a question names, as far as its words tell."""
    text = text[:_READ_CHARS]
    for way in _WAYS:
        if found := way.search(text):
            return ParsedQuestion(Aim.PATH, _trimmed(found["start"]), _trimmed(found["end"]))
    for aim, pattern in _PATTERNS:
        found = pattern.search(text)
        if found and (name := found["name"].rstrip(".:/-")) and name.lower() not in _NO_NAMES:
            return ParsedQuestion(aim, name)
    focus = next((focus for focus, words in _FOCUSES if words.search(text)), None)
    return ParsedQuestion(Aim.OPEN, focus=focus)


def _trimmed(phrase: str) -> str:
    return _EDGES.sub("", _EDGES.sub("", phrase.strip())).strip("`'\"").removesuffix("()")
