"""Answers that fit: results shortened to a number of tokens, the best kept longest.

Later results shrink to their best lines, then to their signature, then drop out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from findspot.core.model import Hit
from findspot.text.snippet import shorten

CHARS_PER_TOKEN = 4

SNIPPET_CHARS = 600
"""About fifteen lines: enough to see what a passage is and whether to open it."""

SIGNATURE_CHARS = 200

Render = Callable[[Sequence[Hit]], str]
Fits = Callable[[Sequence[Hit]], bool]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits, and how many results do not."""

    hits: tuple[Hit, ...]
    shortened: int = 0
    dropped: int = 0

    @property
    def note(self) -> str | None:
        """What a reader should know about what was left out."""
        if not self.shortened and not self.dropped:
            return None
        said = []
        if self.shortened:
            said.append(f"{self.shortened} shortened")
        if self.dropped:
            said.append(f"{self.dropped} left out")
        return f"To fit max_tokens: {', '.join(said)} of {len(self.hits) + self.dropped} results."


def token_count(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def fit(hits: Sequence[Hit], max_tokens: int, render: Render, *, shows_text: bool = True) -> Fitted:
    """Return the longest form of the answer whose rendering stays within the limit."""

    def fits(kept: Sequence[Hit]) -> bool:
        return token_count(render(kept)) <= max_tokens

    if fits(hits):
        return Fitted(tuple(hits))
    kept = list(hits)
    for form in (snippet, signature_only) if shows_text else ():
        short = [form(hit) for hit in hits]
        if fits(short):
            return _grown(hits, _led(hits, _mixed(kept, short, fits), fits), fits)
        kept = short
    kept = kept[: _most(len(kept), lambda count: fits(kept[:count]))]
    return _grown(hits, _led(hits, kept, fits) if shows_text else kept, fits)


def _led(hits: Sequence[Hit], kept: list[Hit], fits: Fits) -> list[Hit]:
    """Return the results with the passage of the first one: the last drop out before that does."""
    for max_chars in (SNIPPET_CHARS, SNIPPET_CHARS // 2):
        first = snippet(hits[0], max_chars)
        if not kept or len(kept[0].text) >= len(first.text):
            return kept
        rest = kept[1:]
        count = _most(len(rest) + 1, lambda count: fits([first, *rest[:count]]))  # noqa: B023
        if fits([first, *rest[:count]]):
            return [first, *rest[:count]]
    return kept


def _mixed(longer: list[Hit], shorter: list[Hit], fits: Fits) -> list[Hit]:
    """As many of the first results in their longer form as there is room for."""
    count = _most(len(longer), lambda count: fits(longer[:count] + shorter[count:]))
    return longer[:count] + shorter[count:]


def _most(count: int, possible: Callable[[int], bool]) -> int:
    """Return the largest number below `count` that is possible, where all smaller ones are; 0 at least."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


def _grown(hits: Sequence[Hit], kept: list[Hit], fits: Fits) -> Fitted:
    """Give room that is left over to the first results that were shortened."""
    for place, (whole, short) in enumerate(zip(hits, kept, strict=False)):
        if short == whole:
            continue
        for form in (whole, snippet(whole)):
            kept[place] = form
            if short == form or fits(kept):
                break
            kept[place] = short
        if kept[place] != whole:
            break
    return _fitted(hits, kept)


def _fitted(hits: Sequence[Hit], kept: Sequence[Hit]) -> Fitted:
    shortened = sum(short != whole for whole, short in zip(hits, kept, strict=False))
    return Fitted(tuple(kept), shortened, len(hits) - len(kept))


def snippet(hit: Hit, max_chars: int = SNIPPET_CHARS) -> Hit:
    """Return the first line and the lines around the one that matches best."""
    text = shorten(hit.text, _focus(hit), max_chars, hit.focus_column)
    return hit if text == hit.text else replace(hit, text=text)


def signature_only(hit: Hit) -> Hit:
    """Just enough to know what is there: the signature, or the line that matches best."""
    line = hit.signature or _best_line(hit)
    return replace(hit, text=line.strip()[:SIGNATURE_CHARS], doc_comment=None, why=None)


def _focus(hit: Hit) -> int:
    return (hit.focus or hit.span.start) - hit.span.start


def _best_line(hit: Hit) -> str:
    lines = hit.text.split("\n")
    focus = _focus(hit)
    if 0 <= focus < len(lines) and lines[focus].strip():
        return shorten(lines[focus], 0, SIGNATURE_CHARS, hit.focus_column)
    return next((line for line in lines if line.strip()), "")
