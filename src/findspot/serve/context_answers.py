"""Task context as text and as values, within a number of tokens: the best regions with their code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from findspot.research.findings import LINE, Context, Reason, Region
from findspot.search.token_budget import CHARS_PER_TOKEN
from findspot.serve.search_answers import encoded, indented, one_line
from findspot.serve.shapes import Shape, known

DEFAULT_TOKENS = 2_000

_NAMED_SHARE = 0.2
"""Of the room, for naming regions without their code."""
_CODE_SHARE = 0.8
"""Of the room that is left, for the code of the next region."""
_AGAIN = 4
"""Turns that another region of a file waits."""
_LEAST_CODE = 240
"""Characters: less says no more than the name."""
_LINE_CHARS = 160
_REST_CHARS = 160
"""Kept for saying what is left out."""


LINES = {"startLine=span.start endLine=span.end": int}
PASSAGE = Shape({"path": str, **LINES, "symbol text": str})
_REGION = Shape({"path": str, **LINES, "symbol kind reason why? text?": str})

CONTEXT = Shape({"signal summary": str, "nothingFits": bool, "regions": [_REGION], "leftOut": int})


def context_text(context: Context, max_tokens: int, *, markdown: bool = False) -> str:
    """Return what is needed next as text: a heading per reason, its regions, the code of the best."""

    def size(region: Region, code: bool) -> int:
        return len(_block(region, code, markdown)) + 1

    head = context.summary + (f"\n\n{context.warning}" if context.warning else "")
    shown, gone = _fit(
        context, max_tokens * CHARS_PER_TOKEN - len(head) - _REST_CHARS * bool(context.regions), size
    )
    parts, reason = [head], None
    for region in shown:
        if region.reason is not reason:
            reason = region.reason
            title = reason.capitalize()
            parts += ["", f"### {title}" if markdown else title]
        parts.append(_block(region, bool(region.text), markdown))
    if rest := _rest(context, gone):
        parts += ["", rest]
    return "\n".join(parts)


def context_object(context: Context, max_tokens: int) -> dict[str, Any]:
    """Return the structured answer of `code_context`."""

    def size(region: Region, code: bool) -> int:
        return len(encoded(_values(region, code))) + 2

    nothing = not context.regions and not context.subject
    values = CONTEXT(context, nothingFits=nothing, regions=[]) | known(warning=context.warning)
    shown, gone = _fit(context, max_tokens * CHARS_PER_TOKEN - len(encoded(values)) - 8, size)
    regions = [_values(region, bool(region.text)) for region in shown]
    return values | {"regions": regions, "leftOut": context.left_out + len(gone)}


def fitted_regions(context: Context, max_chars: int) -> list[Region]:
    """Return the regions that carry code, cut to so many characters together."""
    return [r for r in _fit(context, max_chars, lambda r, code: len(encoded(_values(r, code))))[0] if r.text]


def _fit(
    context: Context, room: int, size: Callable[[Region, bool], int]
) -> tuple[list[Region], list[Region]]:
    """Return the regions that there is room for, those with code cut to fit, and those left out.

    Names come first: of each reason the best, as far as a fifth of the room goes. What is left is for code.
    """
    chosen: dict[int, Region] = {}
    left = int(room * _NAMED_SHARE)
    for place in _in_turn(context.regions):
        region = replace(context.regions[place], text="")
        if (cost := size(region, False)) <= left:
            chosen[place] = region
            left -= cost
    left = room - sum(size(region, False) for region in chosen.values())
    for place, name in sorted(chosen.items()):
        region = context.regions[place]
        if region.kind != LINE and region.reason not in (Reason.CHANGE, Reason.TOO):
            continue
        share = left if region.kind == LINE else max(int(left * _CODE_SHARE), min(left, _LEAST_CODE * 2))
        form = _longest(region, size(name, False) + share, size)
        if form is not None:
            left += size(name, False) - size(form, True)
            chosen[place] = form
    gone = [region for place, region in enumerate(context.regions) if place not in chosen]
    return [chosen[place] for place in sorted(chosen)], gone


def _in_turn(regions: Sequence[Region]) -> list[int]:
    """Return the places of the regions: the first of each reason, then the second, and so on.

    Three to change count as one of the others; files come first of which none was among them.
    """
    nth: Counter[tuple[Reason, bool]] = Counter()
    turns, paths = [], set()
    for place, region in enumerate(regions):
        changes = region.reason is Reason.CHANGE
        again = changes and region.path in paths
        paths.add(region.path)
        turns.append(((nth[region.reason, again] + _AGAIN * again) / (3 if changes else 1), place))
        nth[region.reason, again] += 1
    return [place for _, place in sorted(turns)]


def _longest(region: Region, most: int, size: Callable[[Region, bool], int]) -> Region | None:
    """Return a region with as much of its code as so many characters hold; None for too little."""
    if not region.text:
        return None
    length = len(region.text)
    while length >= min(_LEAST_CODE, len(region.text)):
        form = region.cut(length)
        over = size(form, True) - most
        if over <= 0:
            return form
        length = min(len(form.text), length) - max(over, 40)
    return None


def _block(region: Region, code: bool, markdown: bool) -> str:
    end = f"-{region.span.end}" if region.span.end > region.span.start else ""
    place = one_line(region.path) + (f":{region.span.start}{end}" if region.reason is not Reason.LAST else "")
    name = "" if region.symbol == region.path else f"  {one_line(region.symbol)}"
    why = f"  ({one_line(region.why)[:_LINE_CHARS]})" if region.why else ""
    if markdown:
        return f"- `{place}`{name.replace('  ', ' ')}{why.replace('  ', ' ')}"
    head = f"  {place}{name}{why}"
    return f"{head}\n{indented(region.text)}" if code and region.text else head


def _values(region: Region, code: bool) -> dict[str, Any]:
    return _REGION(region, why=region.why[:_LINE_CHARS], text=region.text if code else "")


def _rest(context: Context, gone: Sequence[Region]) -> str:
    counts = Counter(f'under "{region.reason}"' for region in gone)
    counts["less likely"] += context.left_out
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"Left out: {told}." if told else ""
