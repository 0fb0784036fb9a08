"""The lines of a text that matter most to a query."""

from __future__ import annotations

from collections.abc import Collection

from findspot.text.tokens import tokens

CUT_MARK = "…"


def best_line(text: str, terms: Collection[str]) -> int:
    """The index of the line that holds the most of the terms; the first of the best."""
    wanted = set(terms)
    counts = [len(wanted.intersection(tokens(line))) for line in text.split("\n")]
    return counts.index(max(counts)) if counts else 0


def shorten(text: str, focus: int, max_chars: int) -> tuple[str, int, int]:
    """At most about `max_chars` of whole lines: the first line, and the lines around the focus.

    Returns the text and the indexes of the first and last line of its main run. The first line
    (the signature) is kept where it fits, with a mark for the lines between.
    """
    lines = text.split("\n")
    if len(text) <= max_chars:
        return text, 0, len(lines) - 1
    focus = min(max(focus, 0), len(lines) - 1)
    head = lines[0] if focus > 0 and len(lines[0]) + len(lines[focus]) + 8 <= max_chars else None
    budget = max_chars - (len(head) + 2 * len(CUT_MARK) if head is not None else 0)
    first = last = focus
    size = len(lines[focus])
    while True:
        after = len(lines[last + 1]) + 1 if last + 1 < len(lines) else None
        before = len(lines[first - 1]) + 1 if first > 0 else None
        if after is not None and size + after <= budget and (last - focus <= focus - first or before is None):
            last, size = last + 1, size + after
        elif before is not None and size + before <= budget:
            first, size = first - 1, size + before
        elif after is not None and size + after <= budget:
            last, size = last + 1, size + after
        else:
            break
    body = "\n".join(lines[first : last + 1])
    if len(body) > max_chars:
        body = body[: max(1, max_chars - 1)] + CUT_MARK
    if head is None or first == 0:
        return body, first, last
    return (f"{head}\n{CUT_MARK}\n{body}" if first > 1 else f"{head}\n{body}"), first, last
