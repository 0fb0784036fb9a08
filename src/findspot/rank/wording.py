"""How much of a query a text holds word for word: what tells a pasted message from a question.

A message is pasted as a user saw it. The code has its template: `Cannot resolve '%s' into field`, put
together from several literals, with escapes and with expressions in between. So runs of words are compared,
in order. Where a run ends before the query does, the text must have a placeholder or the end of a literal
there: what goes on with other words says something else.
"""

from __future__ import annotations

import re
from itertools import pairwise

from findspot.text.tokens import STOP_WORDS

_WORD = re.compile(r"([^\W_]\w*)")
_ESCAPED_BLANK = re.compile(r"\\[nrt]")
_JOINT = re.compile(r"[%{}$#\\\"'`+<>&)]")
"""What stands beside a placeholder, and at the end of a literal."""

_ASKED = re.compile(r"\s*(?:how|where|why|who)\b", re.IGNORECASE)
"""How a question begins and a message does not: who holds its words, such as a test, only asks it too."""

MIN_WORDS = 4
"""Three words in a row are common to texts that have nothing to do with each other."""

MIN_PAIRS = 2
"""Four words in runs are two pairs of neighbours at least."""

MIN_SHARE = 0.4
"""Of the words of the query; a placeholder's value may be long."""

MAX_BETWEEN = 10
"""Words of the text between two runs: a placeholder is an expression at most."""

_FORMAT = 3
"""Characters before the letter that ends a placeholder: `%5.2f`, `%(name)s`."""


class Wording:
    """The words of a query in their order."""

    def __init__(self, query: str) -> None:
        """Take each piece between blanks as one word's worth: `127.0.0.1:8080` is one value, not five."""
        pieces = query.lower().split()
        pairs = list(pairwise(piece.strip(".,:;!?") for piece in pieces))
        self._pairs = [" ".join(pair) for pair in pairs]
        self._telling = [" ".join(pair) for pair in pairs if not STOP_WORDS.issuperset(pair)]
        self._places: dict[str, list[int]] = {}
        self._worth = [0.0]
        for found in map(_WORD.findall, pieces):
            for word in found:
                self._places.setdefault(word, []).append(len(self._worth) - 1)
                self._worth.append(self._worth[-1] + 1 / len(found))
        self.is_message = self._worth[-1] >= MIN_WORDS and _ASKED.match(query) is None

    def share(self, text: str) -> float:
        """Return the share of the words that stand in a text in runs, one soon after the other; or 0."""
        text = text.lower()
        if (
            not any(pair in text for pair in self._telling)
            or sum(map(text.__contains__, self._pairs)) < MIN_PAIRS
        ):
            return 0.0  # as nearly always; then it need not be taken apart
        held, whole = self._held(_ESCAPED_BLANK.sub(" ", text)), self._worth[-1]
        return held / whole if held >= max(MIN_WORDS, MIN_SHARE * whole) else 0.0

    def _held(self, text: str) -> float:
        """Return how many words the best chain of runs has."""
        pieces = _WORD.split(text)
        words, between = [*pieces[1::2], ""], pieces[::2]
        chains: list[tuple[int, int, float]] = []  # where each ends, in text and query, and what it holds
        running: dict[int, int] = {}  # place in the query → the words of the run that ends there
        for at, word in enumerate(words):
            places = self._places.get(word, ())
            if not places and not running:
                continue
            now = {place: running.get(place - 1, 0) + 1 for place in places}
            for place, length in running.items():
                begin, first = at - length, place - length + 1
                goes_on = place + 2 < len(self._worth) and not _JOINT.search(between[at])
                if length < 2 or place + 1 in now or goes_on:
                    continue
                if first and begin and not _JOINT.search(between[begin - 1][-_FORMAT:] + between[begin]):
                    continue
                before = (
                    held
                    for end, last, held in chains
                    if last < first and end < begin <= end + MAX_BETWEEN + 1
                )
                held = self._worth[place + 1] - self._worth[first] + max(before, default=0.0)
                chains.append((at - 1, place, held))
            running = now
        return max((held for *_, held in chains), default=0.0)
