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

Render = Callable[[Sequence[Hit]], str]


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


def fit(hits: Sequence[Hit], max_tokens: int, render: Render) -> Fitted:
    """The longest form of the answer whose rendering stays within the limit."""
    if token_count(render(hits)) <= max_tokens:
        return Fitted(tuple(hits))
    kept = list(hits)
    for form in (snippet, signature_only):
        for place in reversed(range(len(kept))):
            kept[place] = form(kept[place])
            if token_count(render(kept)) <= max_tokens:
                return _grown(hits, kept, max_tokens, render)
    while kept and token_count(render(kept)) > max_tokens:
        kept.pop()
    return _fitted(hits, kept)


def _grown(hits: Sequence[Hit], kept: list[Hit], max_tokens: int, render: Render) -> Fitted:
    """Give room that is left over to the best of the shortened results."""
    for place, (whole, short) in enumerate(zip(hits, kept, strict=True)):
        for form in (whole, snippet(whole)):
            if short == form:
                break
            kept[place] = form
            if token_count(render(kept)) <= max_tokens:
                break
            kept[place] = short
    return _fitted(hits, kept)


def _fitted(hits: Sequence[Hit], kept: Sequence[Hit]) -> Fitted:
    shortened = sum(short != whole for whole, short in zip(hits, kept, strict=False))
    return Fitted(tuple(kept), shortened, len(hits) - len(kept))


def snippet(hit: Hit) -> Hit:
    """The first line and the lines around the one that matches best."""
    focus = (hit.focus or hit.span.start) - hit.span.start
    text, _, _ = shorten(hit.text, focus, SNIPPET_CHARS)
    return hit if text == hit.text else replace(hit, text=text)


def signature_only(hit: Hit) -> Hit:
    """Just enough to know what is there."""
    line = hit.signature or next((line for line in hit.text.split("\n") if line.strip()), "")
    return replace(hit, text=line.strip()[:200], doc_comment=None, why=None)
