"""The lines of a text that match a query best, and the best passage of a long line."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from findspot.text.tokens import placed_tokens, tokens

CUT_MARK = "…"

PASSAGE_CHARS = 300
"""How near to each other words must be to belong together: two or three sentences."""


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark where something is missing."""
    return text if len(text) <= most else text[: max(most - 1, 0)] + CUT_MARK


def listed(names: Iterable[str], most: int) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def best_line(text: str, terms: Collection[str]) -> int:
    """Return the index of the line that holds the most of the terms; the first of the best."""
    wanted = set(terms)
    counts = [len(wanted.intersection(tokens(line))) for line in text.split("\n")]
    return counts.index(max(counts)) if counts else 0


def best_column(line: str, weights: Mapping[str, float]) -> int:
    """Return where the passage of a long line begins that holds the most of the terms; 0 if none does."""
    best, column = 0.0, 0
    window: deque[tuple[int, tuple[str, ...]]] = deque()
    counts: Counter[str] = Counter()
    worth = 0.0
    for at, found in placed_tokens(line):
        wanted = tuple(token for token in found if token in weights)
        if not wanted:
            continue
        window.append((at, wanted))
        for token in wanted:
            worth += weights[token] if not counts[token] else 0.0
            counts[token] += 1
        while at - window[0][0] > PASSAGE_CHARS:
            for token in window.popleft()[1]:
                counts[token] -= 1
                worth -= weights[token] if not counts[token] else 0.0
        if worth > best + 1e-9:
            best, column = worth, window[0][0]
    return column


def shorten(text: str, focus: int, max_chars: int, column: int = 0) -> str:
    """Return at most `max_chars` of whole lines: the first line, and the lines around the focus.

    The first line (the signature) is kept where it fits, with a mark for the lines between. Only a
    line that is too long by itself is cut: to the passage around `column`.
    """
    if len(text) <= max_chars:
        return text
    lines = text.split("\n")
    focus = min(max(focus, 0), len(lines) - 1)
    if len(lines[focus]) > max_chars:
        return _passage(lines[focus], column, max_chars)
    keeps_first, first, last = lines_around(lines, focus, max_chars)
    body = "\n".join(lines[first : last + 1])
    return f"{lines[0]}\n{CUT_MARK}\n{body}" if keeps_first else body


def lines_around(lines: Sequence[str], focus: int, max_chars: int) -> tuple[bool, int, int]:
    """Return which lines to show: whether the first one apart from the others, and the others' ends."""
    head = len(lines[0]) + len(CUT_MARK) + 2
    if head + len(lines[focus]) > max_chars:
        head = 0
    first, last = _around(lines, focus, max_chars - (head if focus else 0))
    if first == 1 and head:
        return False, 0, last
    return bool(first and head), first, last


def _passage(line: str, column: int, max_chars: int) -> str:
    """Return at most `max_chars` of a longer line, from the sentence or word of `column` on."""
    room = max(0, max_chars - len(CUT_MARK))
    if column <= room // 2 or room <= len(CUT_MARK):
        return line[:room] + CUT_MARK
    room = max(0, room - len(CUT_MARK))
    start = max(0, min(_beginning(line, column, room // 3), len(line) - room))
    end = CUT_MARK if start + room < len(line) else ""
    return CUT_MARK + line[start : start + room + (0 if end else len(CUT_MARK))] + end


def _beginning(line: str, column: int, most: int) -> int:
    """Return where the sentence of a column begins, if it is no more than `most` before it, else a word."""
    for separator in (". ", "。", " "):
        at = line.rfind(separator, max(0, column - most), column)
        if at >= 0:
            return at + len(separator)
    return column


def _around(lines: Sequence[str], focus: int, max_chars: int) -> tuple[int, int]:
    """Return the longest run of lines about the focus that fits, growing after and before it in turn."""
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
