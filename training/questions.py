"""Statements turned into what people type: a second question for a pair, made by rule alone.

`Returns the given list as a string.` → `python how to get given list as string`.
"""

from __future__ import annotations

import re
from hashlib import blake2b

MAX_WORDS = 11
"""Typed questions are short; what comes later in a sentence is detail."""

WEB = (
    "{language} {}",
    "{} {language}",
    "how to {} in {language}",
    "{language} how to {}",
    "{} in {language}",
    "{}",
    "{language} {}",
    "how to {}",
    "{} using {language}",
    "how do you {} in {language}",
    "{language} function to {}",
    "{language} code to {}",
)
REPOSITORY = (
    "{}",
    "how does {} work",
    "where is {}",
    "how to {}",
    "{} implementation",
    "how do we {}",
    "what does {}",
)
WISH = (
    "I want to {}",
    "can you {}",
    "please {}",
    "I need to {}",
    "help me {}",
    "could you {} for me",
    "{}",
    "is there a way to {}",
    "I'd like to {}",
    "how can I {}",
)

_ARTICLES = re.compile(r"\b(a|an|the|this|that|its|given|specified|current)\s+", re.I)
_TAIL = re.compile(
    r"\s*(?:[,;:(]|\bwhich\b|\bthat\b|\bso that\b|\bbecause\b|\bwhere\b|\.\s|\be\.g\.|\bi\.e\.|\s-\s).*$",
    re.S,
)
_OPENING = re.compile(
    r"^(this (function|method|class|module|is)|helper( function)?( that| to| for)?"
    r"|utility( function)?( that| to| for)?"
    r"|function (that|to)|method (that|to)|used to|tries to|try to|test that|ensure that|note)\s+",
    re.I,
)
_SAID = {
    "returns": "get", "return": "get", "gets": "get", "retrieves": "get", "retrieve": "get",
    "yields": "iterate", "computes": "calculate", "compute": "calculate", "determines": "check",
    "determine": "check", "test": "check", "tests": "check", "instantiates": "create",
    "constructs": "create", "construct": "create", "obtains": "get", "does": "do", "is": "check if",
    "has": "check if has", "goes": "go", "applies": "apply", "copies": "copy", "modifies": "modify",
    "verifies": "verify", "identifies": "identify", "specifies": "specify",
}  # fmt: skip
"""How people ask for what a comment says a function does."""


def question(kind: str, language: str, statement: str) -> str:
    """One phrasing of a statement, chosen by its hash; empty where nothing is left to ask."""
    wish = as_wish(statement)
    if len(wish.split()) < 2:
        return ""
    draw = int.from_bytes(blake2b(statement.encode("utf-8", "replace"), digest_size=4).digest(), "big")
    shapes = WISH if kind in ("api", "summary", "manual") else WEB if draw % 4 else REPOSITORY
    asked = shapes[draw // 4 % len(shapes)].format(wish, language=language)
    return asked if kind == "api" else asked.lower()


def as_wish(statement: str) -> str:
    """The statement as something to be done, in few words: `Converts the x.` → `convert x`."""
    opened = _OPENING.sub("", " ".join(statement.split()).strip(" .!?:"))
    kept = _TAIL.sub("", opened)
    words = _ARTICLES.sub("", kept if len(kept.split()) >= 3 else opened).split()
    if not words:
        return ""
    return " ".join([_base(words[0].lower()), *words[1:MAX_WORDS]])


def _base(verb: str) -> str:
    """`converts` → `convert`; what does not look like a verb in the third person stays."""
    if verb in _SAID:
        return _SAID[verb]
    if re.search(r"(ss|sh|ch|x|zz)es$", verb):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith(("ss", "us", "is")) and len(verb) > 3:
        return verb[:-1]
    return verb
