"""Answers that fit a number of tokens: the best hits with their code, one line for each of the others.

Code is shown for the first hits, as much as there is room for: a definition whole, else the best lines of it.
What does not even fit as a line is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from findspot.core.model import Hit, Span, Strength
from findspot.text.snippet import CUT_MARK, cut, lines_around, shorten

CHARS_PER_TOKEN = 4

MIN_TOKENS = 200
"""Enough for an answer that says what it leaves out."""

LINE_CHARS = 80
"""What a hit is, where a line must do: enough to decide whether to open it."""

FEWEST_CHARS = 140
"""Code shorter than this, three lines or so, shows less than the line that says what it is."""

LINES_SHARE = 0.75
"""Of the room: lines that leave no room for code would be a list of places."""

LEAST_SHARE = 0.35
"""Of the room that is left, for the next hit, however little better than the following ones it is."""

CHARS_PER_SECTION = 900
"""Of documentation, as many hits as there is room for so much of each: paragraphs answer, lines do not."""

FIRST_WITH_CODE = 3
CHARS_PER_CODE = 1_000
"""More hits have code where there is room for this much for each: shreds of many help nobody."""

PLACES = 8
MOST_DECIDING_CHARS = 700
"""Of the places that are shown where none is sure: some ten lines of each."""

MOST_OF_WEAK_CHARS = 250
"""A weak hit behind a sure one shows its deciding lines, no more."""

SPARED_CHARS = 200
"""For each of these places; a line for a hit behind them is left out rather."""

NEARLY = 0.6
"""What such a place has, at least, of the best one's value in the ranking; below that, a line is enough."""

_COMPARED = 3

_MARKS_CHARS = 16
"""For the marks of lines that are left out, with the number of a line."""

Measure = Callable[[Hit, bool], int]
"""Returns the characters of a hit in an answer, with its text or as a line."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits: the first `with_code` of the hits with code, the others with one line as their text."""

    hits: tuple[Hit, ...]
    with_code: int
    shortened: int = 0
    """How many of those with code have less of it than was found."""
    left_out: int = 0

    @property
    def note(self) -> str | None:
        """What a reader should know about what was left out."""
        lines = len(self.hits) - self.with_code
        return left_out_note(
            len(self.hits) + self.left_out, shortened=self.shortened + lines, left_out=self.left_out
        )


def left_out_note(count: int, *, shortened: int, left_out: int) -> str | None:
    """Return a sentence about results that do not fit whole; None where all do."""
    said = [f"{n} {what}" for n, what in ((shortened, "shortened"), (left_out, "left out")) if n]
    return f"To fit max_tokens: {', '.join(said)} of {count} results." if said else None


LONGEST_NOTE = left_out_note(999, shortened=999, left_out=999) or ""
"""For leaving room for a note before it is known what it says."""


_FIELDS = {field.name: place for place, field in enumerate(fields(Hit))}
_values = attrgetter(*_FIELDS)


def _changed(hit: Hit, **changes: object) -> Hit:
    """Return a hit with other values; `dataclasses.replace` takes twice as long, and an answer needs 20."""
    values = list(_values(hit))
    for name, value in changes.items():
        values[_FIELDS[name]] = value
    return Hit(*values)


def token_count(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def whole(hits: Sequence[Hit]) -> Fitted:
    """Return all hits as they are."""
    return Fitted(tuple(map(_shown_whole, hits)), len(hits))


def listed(hits: Sequence[Hit]) -> Fitted:
    """Return all hits as lines."""
    return Fitted(tuple(map(as_line, hits)), 0)


def fit(hits: Sequence[Hit], max_chars: int, measure: Measure, *, prose: bool = False) -> Fitted:
    """Return the hits in forms that together take at most `max_chars`, the best in the longest form."""
    layout = _Layout.of_lines(hits, max_chars, measure)
    if prose:
        layout.keep(max_chars // CHARS_PER_SECTION)
        layout.add_code(_most_with_code(hits, max_chars), max_chars)
    elif hits and hits[0].strength is not Strength.STRONG:
        layout.add_deciding_lines()
    else:
        layout.add_code(_most_with_code(hits, max_chars), MOST_OF_WEAK_CHARS)
    layout.use_rest()
    return layout.fitted()


@dataclass(slots=True)
class _Layout:
    """The hits of an answer in the making: each as a line at first, then the best with code."""

    hits: Sequence[Hit]
    shown: list[Hit]
    sizes: list[int]
    room: int
    measure: Measure
    with_code: int = 0

    @classmethod
    def of_lines(cls, hits: Sequence[Hit], max_chars: int, measure: Measure) -> _Layout:
        """Return as many hits as fit as lines; where there is room for code, they leave some for it."""
        lines = [as_line(hit) for hit in hits]
        sizes = [measure(line, False) for line in lines]
        for_code = int(max_chars * (1 - LINES_SHARE))
        has_code = len(hits) > 1 and _longest(hits[0], for_code, measure) is not None
        most = max_chars - for_code if has_code else max_chars
        count = len(lines)
        while count and sum(sizes[:count]) > most:
            count -= 1
        if has_code and not count and sizes[0] <= max_chars:
            count = 1
        return cls(hits, lines[:count], sizes[:count], max_chars - sum(sizes[:count]), measure)

    def keep(self, most: int) -> None:
        """Leave out all but the first hits."""
        self.room += sum(self.sizes[most:])
        del self.shown[most:], self.sizes[most:]

    def add_code(self, most: int, most_of_weak: int) -> None:
        """Give the best hits code, each its share of the room that is left."""
        for place, hit in enumerate(self.hits[: min(most, len(self.shown))]):
            space = self.sizes[place] + self.room
            share = int(self.sizes[place] + self.room * _share(self.hits, place))
            if hit.strength is Strength.WEAK:
                share = space = min(space, self.sizes[place] + most_of_weak)
            form = _longest(hit, share, self.measure) or _longest(hit, space, self.measure)
            if form is None:
                break
            self._put(place, form)
            self.with_code += 1

    def add_deciding_lines(self) -> None:
        """Where no hit is sure, give several a share: the place that answers is among them."""
        behind = (place for place, hit in enumerate(self.hits) if hit.relative < NEARLY)
        places = min(PLACES, len(self.shown), next(behind, len(self.hits)))
        while len(self.shown) > places and self.room < places * SPARED_CHARS:
            self.keep(len(self.shown) - 1)
        for place, hit in enumerate(self.hits[:places]):
            ahead = max(FIRST_WITH_CODE - place, 0)  # each of the first counts twice
            part = self.room * (2 if ahead else 1) // (places - place + ahead)
            related = self.measure(hit, True) - self.measure(hit, False)
            most = self.sizes[place] + min(min(part, MOST_DECIDING_CHARS) + related, self.room)
            form = _longest(of_definition(hit), most, self.measure)
            if form is None:
                break
            self._put(place, form)
            self.with_code += 1

    def use_rest(self) -> None:
        """Give what is left over to the best hits; of a weak one, the deciding lines are enough."""
        for place, hit in enumerate(self.hits[: self.with_code]):
            if hit.strength is Strength.WEAK:
                break
            now, most = self.shown[place], self.sizes[place] + self.room
            if now.text == _shown_whole(hit).text:
                continue
            longer = _longest(hit, most, self.measure) or now
            self._put(place, max(now, longer, key=lambda form: len(form.text)))

    def _put(self, place: int, form: Hit) -> None:
        size = self.measure(form, True)
        self.room += self.sizes[place] - size
        self.shown[place], self.sizes[place] = form, size

    def fitted(self) -> Fitted:
        """Return the result, with how many hits are shorter than they were found."""
        coded = zip(self.shown[: self.with_code], self.hits, strict=False)
        cut = sum(len(form.text) < len(_shown_whole(hit).text) for form, hit in coded)
        return Fitted(tuple(self.shown), self.with_code, cut, len(self.hits) - len(self.shown))


def _most_with_code(hits: Sequence[Hit], max_chars: int) -> int:
    """Return how many hits may have code: the first three, then those that are not weak, if there is room."""
    weak = next((place for place, hit in enumerate(hits) if hit.strength is Strength.WEAK), len(hits))
    return min(max(FIRST_WITH_CODE, weak), max(FIRST_WITH_CODE, max_chars // CHARS_PER_CODE))


def _share(hits: Sequence[Hit], place: int) -> float:
    """Return the part of the room that a hit may take: the more, the better it is than those after it."""
    after = hits[place : place + _COMPARED]
    total = sum(hit.score for hit in after)
    return max(LEAST_SHARE, hits[place].score / total if total else 0.0)


def _longest(hit: Hit, max_chars: int, measure: Measure) -> Hit | None:
    """Return the longest form of a hit within a number of characters."""
    definition = _shown_whole(hit)
    if measure(definition, True) <= max_chars:
        return definition
    length = max_chars - measure(_changed(definition, text=""), True)
    while length >= FEWEST_CHARS:  # how much longer the text is in the answer is known by measuring
        form = snippet(definition, length)
        excess = measure(form, True) - max_chars
        if excess <= 0:
            return form
        length -= excess
    return None


def _lines_of(hit: Hit, first: int, last: int) -> Hit:
    """Return a hit with some of its lines alone."""
    text = "\n".join(hit.text.split("\n")[first : last + 1])
    return _changed(hit, text=text, span=Span(hit.span.start + first, hit.span.start + last))


def _shown_whole(hit: Hit) -> Hit:
    return _changed(hit, text=hit.overview) if hit.overview else hit


def of_definition(hit: Hit) -> Hit:
    """Return a hit with the lines of its definition alone: its one place, on every surface."""
    about = hit.definition
    if about is None or hit.overview:
        return hit
    return _lines_of(hit, about.start - hit.span.start, about.end - hit.span.start)


def snippet(hit: Hit, max_chars: int) -> Hit:
    """Return a hit with the first line and the lines around the one that matches best.

    The comments above a definition go first. Its span covers the lines that are shown. "…" and a line number
    mark a gap; "…" marks a cut end.
    """
    if len(hit.text) > max_chars and hit.declared and not hit.overview:
        hit = _lines_of(hit, hit.declared - hit.span.start, hit.span.end - hit.span.start)
    if len(hit.text) <= max_chars:
        return hit
    lines = hit.text.split("\n")
    focus = min(max(_focus(hit), 0), len(lines) - 1)
    if hit.overview or len(lines[focus]) > max_chars:
        return _changed(hit, text=shorten(hit.text, focus, max_chars, hit.focus_column))
    keeps_first, first, last = lines_around(lines, focus, max_chars - _MARKS_CHARS)
    shown = lines[first : last + 1]
    if keeps_first:
        shown = [lines[0], f"{CUT_MARK} {hit.span.start + first}", *shown]
    if last < len(lines) - 1:
        shown.append(CUT_MARK)
    start = hit.span.start + (0 if keeps_first else first)
    return _changed(hit, text="\n".join(shown), span=Span(start, hit.span.start + last))


def as_line(hit: Hit) -> Hit:
    """Return a hit that says on one line what it is: by its doc comment, its signature or its best line."""
    text = hit.doc_comment or hit.signature or hit.overview or _best_line(hit)
    first = next((line.strip() for line in text.split("\n") if line.strip(" \"'/*#")), "")
    return _changed(
        hit,
        text=cut(first, LINE_CHARS),
        span=hit.definition or hit.span,
        symbols=tuple(name for name in hit.symbols if hit.symbol and hit.symbol.endswith(name))[:1],
        doc_comment=None,
        why=None,
        constants=(),
        callers=(),
        callees=(),
        more=(),
    )


def _focus(hit: Hit) -> int:
    return 0 if hit.overview else (hit.focus or hit.span.start) - hit.span.start


def _best_line(hit: Hit) -> str:
    lines = hit.text.split("\n")
    focus = _focus(hit)
    if 0 <= focus < len(lines) and lines[focus].strip():
        return shorten(lines[focus].strip(), 0, LINE_CHARS, hit.focus_column)
    return next((line for line in lines if line.strip()), "")
