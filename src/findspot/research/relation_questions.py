"""Relations that a short question asks for by name: `what calls X`, `path from A to B`."""

from __future__ import annotations

import re

from findspot.research.findings import Aim

_NAME = r"[`'\"<]?(?P<n>[\w$~@./\\#:-]+?)(?:\(\))?[`'\"<>]?"
_END = _NAME.replace("<n>", "<e>")
_WHO = r"(?:(?:what|which)(?: \w+)?|who)"
_ALL = r"(?:(?:what|who|which|where) (?:is|are) )?(?:(?:show|list|find) (?:me )?)?(?:all |every |the )*"
_QUESTIONS = tuple(
    (aim, re.compile(pattern.replace("X", _NAME).replace("Y", _END), re.IGNORECASE))
    for aim, pattern in (
        (Aim.PATH, r"(?:show |find )?(?:the |a )?(?:call )?(?:path|way|chain|flow) from X to Y"),
        (Aim.PATH, r"(?:how )?does X (?:ever )?(?:reach|get to|call|lead to|end up in) Y"),
        (Aim.CALLEES, r"what(?: functions| methods)? does X (?:call|invoke|use)"),
        (Aim.CALLEES, rf"{_ALL}(?:callees of|functions called by) X"),
        (Aim.SUPERTYPES, r"what does X (?:inherit from|extend|implement|conform to)"),
        (Aim.SUPERTYPES, rf"{_ALL}(?:super|base|parent) ?(?:types?|class(?:es)?) of X"),
        (Aim.IMPORTS, r"what does X (?:import|depend on)"),
        (Aim.IMPORTS, rf"{_ALL}(?:imports|dependencies) of X"),
        (Aim.TESTS, r"(?:which|what) tests? (?:cover|test|exercise|reach|for)s? X"),
        (Aim.TESTS, rf"{_ALL}tests? (?:for|of|that cover|covering) X"),
        (Aim.IMPACT, r"what (?:breaks|is affected) (?:if|when) (?:i |we )?(?:change|rename|remove|delete) X"),
        (Aim.IMPACT, rf"{_ALL}(?:impact|blast radius) of (?:(?:chang|renam|remov)ing )?X"),
        (Aim.CALLERS, rf"{_WHO} (?:call|invoke|instantiate)s? X"),
        (Aim.CALLERS, rf"{_ALL}(?:callers of|calls (?:to|of)|call sites of) X"),
        (Aim.CALLERS, r"(?:where )?is X (?:called|invoked|instantiated)(?: from| anywhere)?"),
        (Aim.CALLERS, r"where do (?:we|i) call X"),
        (Aim.IMPLEMENTATIONS, rf"{_ALL}(?:implement(?:ations?|ers)|sub(?:classes|types)) of X"),
        (Aim.IMPLEMENTATIONS, rf"{_WHO} (?:implements?|extends?|conforms? to|inherits? from) X"),
        (Aim.IMPORTERS, rf"{_WHO} (?:imports?|includes?|requires?|depends? on) X"),
        (Aim.IMPORTERS, rf"{_ALL}(?:importers|dependents|reverse dependencies) of X"),
        (Aim.OVERRIDES, rf"{_WHO} overrides? X"),
        (Aim.OVERRIDES, r"where is X overridden"),
        (Aim.USES, rf"{_WHO} (?:uses?|references?) X"),
        (Aim.USES, r"where is X (?:used|referenced)"),
        (Aim.USES, rf"{_ALL}(?:us(?:e|age)s? of|references to) X"),
    )
)
_KINDS = re.compile(r"\b(?:the )?(?:function|method|class|type|protocol|module|file) (?=[`'\"\w])", re.I)
_SCOPE = re.compile(r" in (?:the|this|our|my) (?:\w+ )?(?:project|repo|repository|code ?base|code)$", re.I)
_CODE = re.compile(r"[\w)][./\\#:$]+\w|_|\(\)|[a-z\d][A-Z]|^[.$~@/]|[A-Za-z]\d")
_READ_CHARS = 200


def read_question(text: str) -> tuple[Aim, str, str] | None:
    """Return the relation, the name and the end that a question asks for; None if it is no such question."""
    asked = _SCOPE.sub("", " ".join(text.split()).rstrip(" ?.!"))
    if not asked or len(asked) > _READ_CHARS:
        return None
    for form in dict.fromkeys((asked, _KINDS.sub("", asked))):
        for aim, pattern in _QUESTIONS:
            if found := pattern.fullmatch(form):
                return aim, found["n"], found.groupdict().get("e") or ""
    return None


def is_code(name: str) -> bool:
    """Return whether a name has the spelling of code, and so is no ordinary word."""
    return bool(_CODE.search(name))
