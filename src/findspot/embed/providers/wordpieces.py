"""From words to entries of a model's vocabulary, without a tokenizer library."""

from __future__ import annotations

from collections.abc import Iterable

from findspot.text.tokens import word_parts

CONTINUATION = "##"
"""Marks an entry that continues a word, as in BERT's vocabularies."""

REMEMBERED_WORDS = 200_000
"""Distinct words kept with their ids: most of a project's, at about 200 bytes each."""


class WordPieces(dict[str, tuple[int, ...]]):
    """Word → ids, computed once a word: the whole part if known, else its greedy longest pieces."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        super().__init__()
        self._ids = {entry: id_ for id_, entry in enumerate(vocabulary)}
        self._longest = max(map(len, self._ids), default=0)

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(id_ for part in word_parts(word) for id_ in self.part_ids(part))
        self[word] = ids
        return ids

    def knows(self, part: str) -> bool:
        """Return whether a lower-cased part is an entry of its own."""
        return part in self._ids

    def part_ids(self, part: str) -> list[int]:
        """Return the ids of one lower-cased part; characters that no entry holds are left out."""
        whole = self._ids.get(part)
        if whole is not None:
            return [whole]
        found: list[int] = []
        start = 0
        while start < len(part):
            prefix = CONTINUATION if start else ""
            for end in range(min(len(part), start + self._longest), start, -1):
                id_ = self._ids.get(prefix + part[start:end])
                if id_ is not None:
                    found.append(id_)
                    start = end
                    break
            else:
                start += 1
        return found

    def forget_if_large(self) -> None:
        """Start over once too many words are remembered, so that memory stays bounded."""
        if len(self) > REMEMBERED_WORDS:
            self.clear()
