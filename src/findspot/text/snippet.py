"""The lines of a text that matter most to a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from findspot.text.tokens import tokens

CUT_MARK = "…"


def best_line(text: str, terms: Collection[str]) -> int:
    """The index of the line that holds the most of the terms; the first of the best."""
    wanted = set(terms)
    counts = [len(wanted.intersection(tokens(line))) for line in text.split("\n")]
    return counts.index(max(counts)) if counts else 0


def shorten(text: str, focus: int, max_chars: int) -> str:
    """At most `max_chars` of whole lines: the first line, and the lines around the focus.

    The first line (the signature) is kept where it fits, with a mark for the lines between. Only a
    line that is too long by itself is cut.
    """
    if len(text) <= max_chars:
        return text
    lines = text.split("\n")
    focus = min(max(focus, 0), len(lines) - 1)
    if len(lines[focus]) > max_chars:
        return lines[focus][: max(0, max_chars - len(CUT_MARK))] + CUT_MARK
    head = f"{lines[0]}\n{CUT_MARK}\n"
    if len(head) + len(lines[focus]) > max_chars:
        head = ""
    first, last = _around(lines, focus, max_chars - (len(head) if focus else 0))
    body = "\n".join(lines[first : last + 1])
    if first == 0:
        return body
    return f"{lines[0]}\n{body}" if first == 1 and head else head + body


def _around(lines: Sequence[str], focus: int, max_chars: int) -> tuple[int, int]:
    """The longest run of lines about the focus that fits, growing after and before it in turn."""
    first = last = focus
    size = len(lines[focus])
    while True:
        after = len(lines[last + 1]) + 1 if last + 1 < len(lines) else max_chars + 1
        before = len(lines[first - 1]) + 1 if first > 0 else max_chars + 1
        may_go_on, may_go_back = size + after <= max_chars, size + before <= max_chars
        if may_go_on and (last - focus <= focus - first or not may_go_back):
            last, size = last + 1, size + after
        elif may_go_back:
            first, size = first - 1, size + before
        else:
            return first, last
