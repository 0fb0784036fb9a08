"""The definition that a passage is shown for: the one whose name or words the query holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from findspot.core.model import Span, Symbol
from findspot.rank.signals import coverage
from findspot.store.records import StoredChunk, last_name
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import runs, word_tokens

SIGNATURE_LINES = 8
"""A longer list of parameters is cut: it is there to recognise a definition by."""

SIGNATURE_CHARS = 300
DOC_CHARS = 300

HEAD_LINES = 3
"""Signature and doc comment: they say what a definition does, its other lines how. Both count alike."""

NAME_WORTH = 1.0
"""A query's words in a name count as much again: a name says what the lines below it are about."""

_LEAD = re.compile(
    r"\s*(#(?!\s*(?:endif|define|include|if|ifdef|ifndef|else|elif|undef|pragma)\b)|//|/\*|\*(?:[\s/]|$)|--\s|@"
    r"|\[[A-Z]|%|;;|<!--|template\b)"
)
"""How a line begins that belongs to the definition below it: a comment, a decorator, an attribute."""

_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+|\*+/|\*|///?!?|#[:!]?|--+|%+|;+|<!--)\s?|(?<!\s)\s*(?<!\*)\*+/\s*$")
_DOC_STRING = re.compile(r"""^\s*[rbuRBU]{0,2}(\"\"\"|''')""")
_OPEN, _CLOSED = re.compile(r"[(\[]"), re.compile(r"[)\]]")
_BODY = re.compile(r"(?<!\s)\s*(?:\{|:|=>|\bdo|\bthen|=)\s*$")
_SEPARATOR = " > "

_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|warrant", re.IGNORECASE)
_OUTLINE_COUNTS = ("Package:", "Imports:")


@dataclass(frozen=True, slots=True)
class Described:
    """A definition as an answer describes it."""

    span: Span
    """Its lines in the passage, with the comments above it."""
    line: int
    """The line of its name."""
    kind: str
    breadcrumb: str | None
    signature: str | None
    doc_comment: str | None


@dataclass(frozen=True, slots=True, eq=False)
class _Extent:
    """A name with the lines of the passage that define it, as indexes."""

    symbol: Symbol
    name: str
    """Without qualifiers."""
    first: int
    line: int
    last: int
    indent: int

    def overlaps(self, other: _Extent) -> bool:
        return self.first <= other.last and other.first <= self.last

    def encloses(self, other: _Extent) -> bool:
        return self is not other and self.first <= other.first and other.last <= self.last


@dataclass(frozen=True, slots=True, eq=False)
class PassageText:
    """Neighbouring chunks as one text, and what they define; the same whatever is asked."""

    chunks: tuple[StoredChunk, ...]
    text: str
    names: tuple[str, ...]
    """All that the chunks define, each name once."""
    extents: list[_Extent]

    @classmethod
    def of(cls, chunks: Sequence[StoredChunk], symbols: Sequence[Symbol]) -> PassageText:
        """Join chunks; `symbols` are what they define."""
        text = joined(chunks)
        names = tuple(dict.fromkeys(name for chunk in chunks for name in chunk.symbols))
        return cls(tuple(chunks), text, names, _extents(text.split("\n"), chunks[0].start_line, symbols))


def passage_texts(snapshot: Snapshot, spans: Iterable[tuple[int, int]]) -> dict[tuple[int, int], PassageText]:
    """Return passages by their first and last chunk; their chunks are read together."""
    wanted = set(spans)
    numbers = sorted({number for first, last in wanted for number in range(first, last + 1)})
    stored, symbols = snapshot.chunks.by_number(numbers), snapshot.symbols.of_chunks(numbers)
    found = {}
    for first, last in wanted:
        chunks = [stored[number] for number in range(first, last + 1)]
        defined = [symbol for chunk in chunks for symbol in symbols.get(chunk.number, ())]
        found[first, last] = PassageText.of(chunks, defined)
    return found


def joined(chunks: Sequence[StoredChunk]) -> str:
    """Return the exact lines of neighbouring chunks; only blank lines can stand between two of them.

    A chunk that ends on the line on which the one before it ends is the next piece of that line.
    """
    if len(chunks) == 1:
        return chunks[0].text
    lines: list[str] = []
    end = 0
    for chunk in chunks:
        start = chunks[0].start_line + len(lines)
        if chunk.end_line == end:
            lines[-1] += chunk.text
            continue
        end = chunk.end_line
        lines.extend([""] * (chunk.start_line - start))
        lines.extend(chunk.text.split("\n")[max(0, start - chunk.start_line) :])
    return "\n".join(lines)


class QueryTerms(dict[str, int]):
    """The terms of a query, by weight; as a mapping, which of them a word has, as a set of bits."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        self._bits = {term: 1 << place for place, term in enumerate(weights)}
        self._shares: dict[int, float] = {}

    def __missing__(self, word: str) -> int:
        bits = 0
        for token in word_tokens(word):
            bits |= self._bits.get(token, 0)
        self[word] = bits
        return bits

    def held(self, text: str) -> int:
        """Return the terms that a text holds."""
        bits = 0
        for word in runs(text):
            bits |= self[word]
        return bits

    def share(self, bits: int) -> float:
        """Return the share of the query, by weight, that some terms are."""
        if bits not in self._shares:
            self._shares[bits] = coverage(
                self.weights, {term for term, bit in self._bits.items() if bits & bit}
            )
        return self._shares[bits]


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The terms of a query, and those of them that the lines of a passage hold."""

    terms: QueryTerms
    by_line: Mapping[int, int]
    """Only lines with a term are listed."""

    @classmethod
    def in_text(cls, text: str, terms: QueryTerms) -> QueryWords:
        asked = [word for word in set(runs(text)) if terms[word]]
        lines = enumerate(text.split("\n"))
        holding = ((place, line) for place, line in lines if any(word in line for word in asked))
        return cls(terms, {place: bits for place, line in holding if (bits := terms.held(line))})

    def best(self, first: int, last: int) -> int:
        """Return the first of these lines that holds most of the words."""
        best, most = first, 0
        for place, bits in self.by_line.items():
            if first <= place <= last:
                count = bits.bit_count()
                if count > most or (count == most and place < best):
                    best, most = place, count
        return best


def describe(
    passage: PassageText,
    leader: StoredChunk,
    lines: Sequence[str],
    *,
    names: tuple[str, ...],
    words: QueryWords,
    at: Collection[int] = (),
    only: Symbol | None = None,
    of_leader: bool = False,
) -> Described | None:
    """Return the definition of a passage that the query asks for; None where the passage defines nothing.

    A definition whose name the query holds comes first, then the one that holds most of the query's words.
    Without either, it is the one that the best chunk is named after. `only` names the one to describe, lines
    that were asked for are `at`, and `of_leader` leaves it to the best chunk which definitions compete.
    """
    extents, chunks = passage.extents, passage.chunks
    if of_leader and only is None:
        first, last = (line - chunks[0].start_line for line in (leader.start_line, leader.end_line))
        extents = [extent for extent in extents if first <= extent.line <= last]
    if not extents:
        return None
    offset = chunks[0].start_line
    traced = [
        extent for extent in extents if any(extent.first <= line - offset <= extent.last for line in at)
    ]
    named = min(traced, key=lambda each: each.last - each.first, default=_named(extents, names, words))
    chosen = next((extent for extent in extents if extent.symbol == only), named) if only else named
    if chosen is None and len(extents) == 1 and extents[0].name == _own_name(leader):
        chosen = extents[0]
    chosen = chosen or _worth_most(_worths(extents, words), leader)
    if chosen is None:
        return None
    span = Span(chosen.first + offset, chosen.last + offset)
    home = next((c for c in chunks if c.start_line <= chosen.line + offset <= c.end_line), leader)
    kind, line = chosen.symbol.kind, chosen.line + offset
    namesakes = [extent for extent in extents if extent.name == chosen.name]
    if home.kind == kind and _own_name(home) == chosen.name and namesakes[0] is chosen:
        described = home.breadcrumb, home.signature, home.doc_comment
    else:
        described = _breadcrumb(chosen, extents, home), _signature(lines, chosen), _doc(lines, chosen)
    return Described(span, line, kind, *described)


def definitions_wanted(
    chunk: StoredChunk, symbols: Sequence[Symbol], names: tuple[str, ...], terms: QueryTerms
) -> list[tuple[Symbol, str]]:
    """Return what a chunk defines, with breadcrumbs: what a query asks for, then what holds its words.

    Of nested definitions, only the best one is returned.
    """
    lines = chunk.text.split("\n")
    extents = _extents(lines, chunk.start_line, symbols)
    wanted = extents[:1]
    if len(extents) > 1:
        words = QueryWords.in_text(chunk.text, terms)
        worth = _worths(extents, words)
        wanted = [_named(extents, names, words) or _worth_most(worth, chunk) or extents[0]]
        for extent in sorted(extents, key=lambda each: -worth[each]):
            if worth[extent] > 0 and not any(map(extent.overlaps, wanted)):
                wanted.append(extent)
    return [(extent.symbol, _breadcrumb(extent, extents, chunk)) for extent in wanted]


def _extents(lines: Sequence[str], offset: int, symbols: Sequence[Symbol]) -> list[_Extent]:
    """Return the lines of each symbol: up to the next one that is indented as little."""
    placed = [(symbol.line - offset, symbol) for symbol in symbols]
    placed = sorted((p for p in placed if 0 <= p[0] < len(lines)), key=lambda p: p[0])
    firsts = [_lead(lines, line) for line, _ in placed]
    indents = [_indent(lines[line]) for line, _ in placed]
    lasts = [len(lines) - 1] * len(placed)
    open_places: list[int] = []
    for at, (line, _) in enumerate(placed):
        while open_places and indents[at] <= indents[open_places[-1]] and placed[open_places[-1]][0] < line:
            lasts[open_places.pop()] = firsts[at] - 1
        open_places.append(at)
    extents = []
    for at, (line, symbol) in enumerate(placed):
        last = max(lasts[at], line)
        while last > line and not lines[last].strip():
            last -= 1
        extents.append(_Extent(symbol, last_name(symbol.name), firsts[at], line, last, indents[at]))
    return extents


def _lead(lines: Sequence[str], line: int) -> int:
    """Return where the comments and decorators directly above a line begin."""
    above = takewhile(lambda at: _LEAD.match(lines[at]), range(line - 1, -1, -1))
    return min(above, default=line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _named(extents: Sequence[_Extent], names: tuple[str, ...], words: QueryWords) -> _Extent | None:
    """Return the definition of a name in the query: of the same spelling before another case.

    Of several, it is the one whose own line, and those of the types around it, say most of the query.
    """
    spelled, lowered = _last_names(names)

    def likeness(extent: _Extent) -> tuple[int, int, float]:
        place = spelled.index(extent.name) if extent.name in spelled else len(spelled)
        own = words.by_line.get(extent.line, 0)
        for outer in extents:
            own |= words.by_line.get(outer.line, 0) if outer.encloses(extent) else 0
        return -place, own.bit_count(), _worth(extent, extents, words)

    named = [extent for extent in extents if extent.name.lower() in lowered]
    return max(named, key=likeness) if len(named) > 1 else next(iter(named), None)


@lru_cache(maxsize=8)
def _last_names(names: tuple[str, ...]) -> tuple[list[str], frozenset[str]]:
    """Return what people call these names, as written and in lower case."""
    spelled = [last_name(name) for name in names]
    return spelled, frozenset(name.lower() for name in spelled)


def _worth_most(worths: Mapping[_Extent, float], leader: StoredChunk) -> _Extent | None:
    """Return the definition with most of the query's words; the leader's own one decides between equals."""
    own = _own_name(leader)
    keys = {extent: (round(worth, 3), extent.name == own) for extent, worth in worths.items()}
    best = max(keys, key=keys.__getitem__)
    return best if any(keys[best]) else None


def _worths(extents: Sequence[_Extent], words: QueryWords) -> dict[_Extent, float]:
    return {extent: _worth(extent, extents, words) for extent in extents}


def _worth(extent: _Extent, extents: Sequence[_Extent], words: QueryWords) -> float:
    """Return how much of the query a definition holds; those inside it count for themselves."""
    terms = words.terms
    held = [pair for pair in words.by_line.items() if extent.first <= pair[0] <= extent.last]
    own = head = 0
    if held:
        after = takewhile(lambda other: other.first <= extent.last, extents[extents.index(extent) :])
        inner = [other for other in after if extent.encloses(other)]
        for place, bits in held:
            if place < extent.line + HEAD_LINES:
                head |= bits
            if not any(other.first <= place <= other.last for other in inner):
                own |= bits
    named = terms.share(terms.held(extent.symbol.name))
    return (terms.share(own) + terms.share(head)) / 2 + NAME_WORTH * named


def _own_name(chunk: StoredChunk) -> str | None:
    """Return the name of the definition that a chunk is stored under."""
    return last_name(chunk.breadcrumb.rpartition(_SEPARATOR)[2]) if chunk.breadcrumb else None


def _breadcrumb(chosen: _Extent, extents: Sequence[_Extent], home: StoredChunk) -> str:
    """Return the names of the definitions around one, and its own."""
    around = [extent.symbol.name for extent in extents if extent.encloses(chosen)]
    above = (home.breadcrumb or "").split(_SEPARATOR)
    if home.symbols:
        above = list(takewhile(lambda name: name not in home.symbols, above))
    outer = [name for name in above if name] if chosen.indent else []
    return _SEPARATOR.join((*outer, *(name for name in around if name not in outer), chosen.symbol.name))


def _signature(lines: Sequence[str], chosen: _Extent) -> str:
    """Return the lines of a definition up to its body, as one."""
    taken: list[str] = []
    depth = 0
    for line in lines[chosen.line : min(chosen.line + SIGNATURE_LINES, chosen.last + 1)]:
        taken.append(line.strip())
        depth += len(_OPEN.findall(line)) - len(_CLOSED.findall(line))
        if depth <= 0:
            break
    return _BODY.sub("", " ".join(taken))[:SIGNATURE_CHARS]


def _doc(lines: Sequence[str], chosen: _Extent) -> str | None:
    """Return the comment above a definition, or the string that its body begins with."""
    above = [_COMMENT_MARKS.sub("", line).strip() for line in lines[chosen.first : chosen.line]]
    text = " ".join(line for line in above if line and not line.startswith(("@", "[")))
    if not text:
        body = lines[chosen.line + 1 : chosen.last + 1]
        start = next((at for at, line in enumerate(body[:SIGNATURE_LINES]) if _DOC_STRING.match(line)), None)
        if start is not None:
            text = _doc_string(body[start:])
    return text[:DOC_CHARS] or None


def _doc_string(lines: Sequence[str]) -> str:
    """Return the first paragraph of a string between triple quotes."""
    opening = _DOC_STRING.match(lines[0])
    quotes = opening[1] if opening else '"""'
    rest = [_DOC_STRING.sub("", lines[0]), *lines[1:]]
    taken: list[str] = []
    for line in rest:
        before, closed, _ = line.partition(quotes)
        if not before.strip() and taken:
            break
        taken.append(before.strip())
        if closed:
            break
    return " ".join(filter(None, taken))


def header_overview(header: str, outline: str) -> str:
    """Return what to show of a file's header: its description, without licence and imports, and the outline.

    `outline` is the text that the index keeps of what the file defines.
    """
    described = "\n".join(
        block for block in _comment_blocks(header.split("\n")) if not _LICENCE.search(block)
    )
    listed = [line for line in outline.split("\n") if line.strip() and not line.startswith(_OUTLINE_COUNTS)]
    return "\n".join(filter(None, (described, *listed)))


def _comment_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the comments and the string between triple quotes at the beginning of a file, block by block."""
    block: list[str] = []
    quotes = ""
    for line in lines:
        opening = None if quotes else _DOC_STRING.match(line)
        if quotes or opening or _LEAD.match(line):
            block.append(line.rstrip())
            rest = line if quotes else line[opening.end() :] if opening else ""
            quotes = quotes or (opening[1] if opening else "")
            if not quotes or quotes not in rest:
                continue
            quotes = ""
        if block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)
