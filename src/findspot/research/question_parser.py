"""Read a question: a relation and a symbol, a path between two ends, or neither.

Each word is reduced to a letter for its class: `w` for "what" and its like, `C` for "calls", `c` for
"called", `N` for a name in the spelling of code, `x` for any other word. The grammar is a list of patterns
over these letters: "what functions call parse_header" is `wCN`, "functions called by parse_header" `wcjN`.

A name in the spelling of code is found anywhere in a question. A plain word is read as a name only if the
pattern explains the whole question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from findspot.research.findings import Aim, Focus

_READ_CHARS = 300
"""A relation is asked for in a sentence; a longer text is a report, and searched for."""

_LEXICON = {
    "": (
        "a an the all any every each of-the my our your this these those that please there ever still "
        "else also actually currently directly indirectly transitively exactly anywhere somewhere now "
        "many other direct concrete made possible can-you could-you would-you tell-me show-me give-me "
        "i-want-to-know show list find function method class type struct protocol interface trait module "
        "file package folder constructor constant variable field property decorator object instance "
        "helper enum macro hook analysis signature-of the-signature-of"
    ),
    "w": (
        "what who whom which whose whatever everything anything something anyone anybody everyone nothing "
        "places functions methods classes types structs protocols interfaces traits files modules "
        "packages headers code parts things components how-many how-often"
    ),
    "q": "where everywhere",
    "h": "how how-exactly",
    "y": "why explain describe how-to",
    "d": "do does did can could should would will must might may",
    "b": "is are was were be been being get gets got",
    "p": "i we you it they them he she one",
    "f": "from",
    "j": "by in inside within via through with",
    "k": "to of for on into onto at against",
    "&": "and",
    "z": "between",
    "s": "if",
    "a": "when once after before",
    "E": "make makes have has perform performs need-to-run run",
    "C": (
        "creates-instances-of create-instances-of "
        "call calls calling invoke invokes invoking instantiate instantiates construct constructs trigger "
        "triggers"
    ),
    "c": "called invoked instantiated constructed triggered",
    "U": (
        "use uses using reference references referencing refer-to refers-to mention mentions consume "
        "consumes rely-on relies-on decorated-with decorated-by annotated-with catch catches raise raises "
        "throw throws needs reads accesses"
    ),
    "u": "used referenced mentioned consumed raised thrown caught passed unused dead dead-code",
    "I": (
        "import imports importing include includes including require requires depend-on depends-on "
        "depending-on depend-upon depends-upon"
    ),
    "i": "imported included required",
    "M": (
        "implement implements implementing extend extends extending inherit inherits inheriting "
        "inherit-from inherits-from inheriting-from inherited-from subclass subclassing conform conforms "
        "conforming conform-to conforms-to conforming-to derive-from derives-from derived-from adopt "
        "adopts satisfy satisfies satisfying"
    ),
    "m": "implemented extended subclassed inherited",
    "O": "override overrides overriding redefine redefines",
    "o": "overridden redefined",
    "T": "test tests testing cover covers covering coverage exercise exercises exercising",
    "t": "tested covered exercised",
    "g": (
        "change changes changing changed modify modifies modifying modified rename renames renaming "
        "renamed remove removes removing removed delete deletes deleting deleted edit editing edited "
        "refactor refactoring touch touching alter altering rewrite rewriting drop dropping replace "
        "replacing"
    ),
    "K": (
        "break breaks breaking broken affect affects affected impact impacts impacted blast-radius safe "
        "safely consequence consequences risky ripple"
    ),
    "e": "exist exists",
    "H": "happens happen effect effects",
    "P": (
        "path paths way ways route routes chain chains flow flows trace call-path call-paths call-chain "
        "call-chains connects connect links"
    ),
    "G": (
        "reach reaches get-to gets-to get-into gets-into arrive-at arrives-at arrive-in arrives-in "
        "end-up-in end-up-calling ends-up-calling ends-up-in end-up-at ends-up-at flow-to flows-to "
        "flow-into flows-into lead-to leads-to travel-to travels-to go-to goes-to go-into goes-into "
        "make-its-way-to makes-its-way-to make-their-way-to"
    ),
    "L": "reachable reached",
}
_NOUNS = {
    Aim.CALLERS: (
        "caller callers invokers invocations callsite callsites call-site call-sites call-hierarchy "
        "call-graph call-tree incoming-calls upstream-calls upstream-callers upstream-functions "
        "upstream-of upstream-from"
    ),
    Aim.CALLEES: (
        "callee callees outgoing-calls downstream-calls downstream-callees downstream-functions "
        "downstream-of downstream-from"
    ),
    Aim.IMPLEMENTATIONS: (
        "implementation implementations implementer implementers implementor implementors subclasses "
        "subtype subtypes conformers conformances conforming-types derived-classes descendants "
        "children child-classes"
    ),
    Aim.SUPERTYPES: (
        "supertype supertypes superclass superclasses super-type super-types super-class super-classes "
        "base-class base-classes base-type base-types parent-class parent-classes ancestors"
    ),
    Aim.IMPORTERS: (
        "importer importers dependent dependents reverse-dependency reverse-dependencies reverse-imports"
    ),
    Aim.IMPORTS: "dependency dependencies",
    Aim.USES: "usage usages",
    Aim.TESTS: "test-coverage",
}
_CLASSES = {phrase: letter for letter, phrases in _LEXICON.items() for phrase in phrases.split()}
_CLASSES |= {phrase: "R" for phrases in _NOUNS.values() for phrase in phrases.split()}
_AIM_OF_NOUN = {phrase: aim for aim, phrases in _NOUNS.items() for phrase in phrases.split()}
_MAX_WORDS = 4
_IMPERATIVES = frozenset({"show", "list", "find"})

_VERBS = {
    "C": (Aim.CALLERS, Aim.CALLEES),
    "U": (Aim.USES, Aim.CALLEES),
    "I": (Aim.IMPORTERS, Aim.IMPORTS),
    "M": (Aim.IMPLEMENTATIONS, Aim.SUPERTYPES),
    "O": (Aim.OVERRIDES, Aim.OVERRIDES),
    "T": (Aim.TESTS, Aim.CALLEES),
}
"""What a verb asks for: who does it to the symbol, and to what the symbol does it."""

_ENDS = tuple(
    re.compile(pattern.replace("A", "(?:[^p]{1,5}?)").replace("X", "[Nx]"))
    for pattern in (
        "(?:[wqb]*P[kCP]*|hdpb)?f(?P<n>A)k(?P<e>A)",
        "[wqbCP]*z(?P<n>A)&(?P<e>A)",
        "h[db]?(?P<n>A)G(?P<e>A)",
        "[hqw]?d(?P<n>X)Ck?(?P<e>X)",
        "d(?P<n>X)G(?P<e>X)",
        "h?b(?P<e>X)Lf(?P<n>X)",
        "w?P(?P<n>X)[&k](?P<e>X)",
    )
)
_NAMED_ENDS = re.compile("f(?P<n>N)k(?P<e>N)")

_BACK, _FORTH = 0, 1
_SHAPES: tuple[tuple[Aim | int, str], ...] = (
    (Aim.TESTS, "T.{0,9}g[kfj]?X"),
    (Aim.TESTS, "[wbd]*T+[CUI]?k?X"),
    (Aim.TESTS, "T.{0,4}Xg"),
    (Aim.TESTS, "d?XE?T+$"),
    (Aim.IMPACT, "[wbdh]*K.{0,6}g[kf]?X"),
    (Aim.IMPACT, "w[^N]{0,4}gs[pbd]*g[kfj]?X"),
    (Aim.IMPACT, "[sdw]*p?g[kf]?X.{0,3}Kw?"),
    (Aim.IMPACT, "w.{0,4}Xs[pbd]*gp?"),
    (Aim.IMPACT, "[wb]*[KH]kgk?X"),
    (Aim.IMPACT, "K.{0,4}Xg"),
    (Aim.IMPACT, "[wb]*KkX"),
    (Aim.IMPACT, "wHs[pbd]*gk?X"),
    (Aim.IMPACT, "wHa[pbd]*gk?(?P<n>N)"),
    (_BACK, "(?:^|[wqhfjbd])[wqfj]*[bd]?Xb?(?P<v>[cuit])[jfk]?w?(?![jf]N)"),
    (_BACK, "(?:^|[wqfjb])Xb?(?P<v>mj|o)w?"),
    (_BACK, "qbX(?P<v>o)"),
    (_FORTH, "w+(?:x{1,2}(?=dN))?[db]?X(?P<v>[CUIMO])[kf]?(?![Nx])"),
    (_FORTH, "w?(?P<v>C)d?XE"),
    (_FORTH, "^X(?P<v>[CUIMO])w+$"),
    (_BACK, "^Xw(?P<v>[CUIMO])p?$"),
    (_BACK, "w?b?(?P<v>i)fX"),
    (_FORTH, "w?b?(?P<v>[cuim])[jfk]X"),
    (_FORTH, "w?(?P<v>C)[fj]X"),
    (_BACK, "[wqdbR][wbdpR]*(?:x{1,2}(?=[CUIMO]N))?(?P<v>[CUIMO])[kw]?f?X"),
    (_BACK, "^(?P<v>[MO])X"),
    (_BACK, "(?:[wq]b)?(?P<v>[CUMO])w?kX"),
    (_FORTH, "(?:[wq]b)?(?P<v>I)kX"),
    (Aim.OPEN, "(?:w*[wq]b?)?(?P<r>R)[kf]?d?XE?"),
    (Aim.OPEN, "(?:[wd]b?)?XE?(?P<r>R)"),
    (Aim.OPEN, "(?P<r>R)&[^N]{0,3}kX"),
    (Aim.CALLERS, "PkX"),
)


def _compiled(name: str) -> tuple[tuple[Aim | int, re.Pattern[str]], ...]:
    symbol = f"(?P<n>{name})(?:k(?P<t>N))?"
    return tuple((aim, re.compile(shape.replace("X", symbol))) for aim, shape in _SHAPES)


_NAMED, _PLAIN = _compiled("N"), _compiled("[Nx]")

_SCOPE = re.compile(
    r"\b(?:in|across|within|of|from)\s+(?:the|this|our|my)\s+(?:\w+\s+)?"
    r"(?:project|repo|repository|code\s?base|code|app|application|call\s+graph|library|workspace)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"`(?P<tick>[^`]+)`|\"(?P<quote>[^\"]+)\"|(?<!\w)'(?P<single>[^']+)'(?!\w)|<(?P<angle>[^\s<>]+)>"
    r"|(?P<word>[\w$~@./\\#:-]+(?:\(\))?)(?:'s\b)?|&"
)
_CODE = re.compile(r"[\w)][./\\#:$]+\w|_|\(\)|[a-z\d][A-Z]|^[.$~@/]|[A-Za-z]\d")
_ACRONYM = re.compile(r"[A-Z]{2,4}")
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


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question is about."""

    aim: Aim
    name: str = ""
    end: str = ""
    """Where a path leads; `name` is where it begins."""
    focus: Focus | None = None
    """What its words ask for, where no focus was given."""
    plain: bool = field(default=False, compare=False)
    """Whether the name is an ordinary word, which may be no symbol at all."""


@dataclass(frozen=True, slots=True)
class _Word:
    letter: str
    text: str
    start: int
    end: int


def read_question(text: str) -> ParsedQuestion:
    """Return the relation that a question asks for, as far as its words tell."""
    text = _SCOPE.sub("", text[:_READ_CHARS])
    words = list(_words(text))
    if words and words[0].letter != "y":
        found = _read(words, text)
        if found is None and words[-1].letter not in ("N", "x", "p", "e"):
            words[-1] = replace(words[-1], letter="x")  # the name may be a word of the grammar
            found = _read(words, text)
        if found is not None:
            return found
    focus = next((focus for focus, pattern in _FOCUSES if pattern.search(text)), None)
    return ParsedQuestion(Aim.OPEN, focus=focus)


def is_code(name: str) -> bool:
    """Return whether a name has the spelling of code, and so is no ordinary word."""
    return " " not in name and bool(_CODE.search(name))


def _words(text: str) -> Iterator[_Word]:
    """Yield the words of a question with their classes; fixed phrases are one word."""
    tokens = [token for token in _TOKEN.finditer(text) if re.search(r"[\w&]", token[0])]
    place, begun = 0, False
    while place < len(tokens):
        size, letter, phrase = _phrase(tokens[place : place + _MAX_WORDS], place)
        if phrase in _IMPERATIVES and begun:  # only at the beginning; elsewhere it is a name
            letter = "x"
        begun = begun or bool(letter)
        yield _Word(letter, phrase, tokens[place].start(), tokens[place + size - 1].end())
        place += size


def _phrase(tokens: list[re.Match[str]], place: int) -> tuple[int, str, str]:
    """Return how many of the tokens make a word of the lexicon, or one name, with its class and text."""
    plain = [_spelled(token).lower() if token["word"] else "" for token in tokens]
    for size in range(len(tokens), 0, -1):
        phrase = "-".join(plain[:size])
        if (
            all(plain[:size])
            and phrase in _CLASSES
            and not (size == 1 and tokens[0]["word"] == "A" and place)
        ):
            return size, _CLASSES[phrase], phrase
    name = _spelled(tokens[0])
    quoted = tokens[0]["word"] is None
    capital = place > 0 and name[:1].isupper() and not _ACRONYM.fullmatch(name)
    return 1, "N" if quoted or capital or _CODE.search(tokens[0]["word"]) else "x", name


def _spelled(token: re.Match[str]) -> str:
    name = next((part for part in token.groups() if part), token[0])
    return name.rstrip(".:/-").removesuffix("()") if token["word"] else name.strip().removesuffix("()")


def _read(words: list[_Word], text: str) -> ParsedQuestion | None:
    words = [word for word in words if word.letter]
    letters = "".join(word.letter for word in words)
    for ends in _ENDS:
        if way := ends.fullmatch(letters):
            start, end = (_between(way.span(end), words, text) for end in "ne")
            return ParsedQuestion(Aim.PATH, start, end)
    if way := _NAMED_ENDS.search(letters):
        return ParsedQuestion(Aim.PATH, words[way.start("n")].text, words[way.start("e")].text)
    for aim, shape in _NAMED:
        found = shape.search(letters)
        if found and (letters[0] != "h" or found.start() == 0):
            return _relation(aim, found, words)
    for aim, shape in _PLAIN:
        if found := shape.fullmatch(letters):
            return _relation(aim, found, words)
    return None


def _between(span: tuple[int, int], words: list[_Word], text: str) -> str:
    """Return the words of one end of a path, as they are written."""
    first = words[span[0]]
    if span[1] - span[0] == 1 and first.letter == "N":
        return first.text
    end = words[span[1]].start if span[1] < len(words) else len(text)
    return text[first.start : end].strip(" \n`'\"?.!,;").removesuffix("()")


def _verb(found: re.Match[str], words: list[_Word]) -> str:
    """Return the class of the verb; functions depend on what they use, not on what a file imports."""
    depends = words[found.start("v")].text.startswith("depend")
    if depends and any(word.text in ("functions", "methods") for word in words):
        return "U"
    return found["v"][0].upper()


def _relation(aim: Aim | int, found: re.Match[str], words: list[_Word]) -> ParsedQuestion:
    parts = found.groupdict()
    if isinstance(aim, int):
        aim = _VERBS[_verb(found, words)][aim]
    elif parts.get("r"):
        aim = _AIM_OF_NOUN[words[found.start("r")].text]
    word = words[found.start("n")]
    name = word.text
    if parts.get("t") and words[found.start("n") + 1].text in ("of", "on"):  # `send` on `Session`
        name = f"{words[found.start('t')].text}.{name}"
    return ParsedQuestion(aim, name, plain=word.letter == "x")
