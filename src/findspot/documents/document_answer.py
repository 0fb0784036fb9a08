"""Answers: the best documents, with short excerpts around the words and phrases that a query matched."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from findspot.documents.document_query import ParsedQuery, Tokenizer

MAX_HIGHLIGHTS = 3
AROUND_CHARS = 30
CUT = "..."


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """One ranked document."""

    doc_id: str
    score: float
    highlights: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The best documents, and the number of all matches."""

    results: tuple[FoundDocument, ...]
    total_matches: int
    query: ParsedQuery


def answer(
    ranked: Sequence[tuple[str, float]],
    total: int,
    stored: Mapping[str, tuple[str, str]],
    query: ParsedQuery,
    tokenizer: Tokenizer,
) -> SearchAnswer:
    """Return the ranked documents with their highlights; `stored` has each one's content and metadata."""
    results = []
    for doc_id, score in ranked:
        content, metadata = stored[doc_id]
        shown = highlights(content, query.shown, tokenizer)
        results.append(FoundDocument(doc_id, score, shown, json.loads(metadata)))
    return SearchAnswer(tuple(results), total, query)


def highlights(content: str, wanted: Iterable[Sequence[str]], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the first excerpts around words and phrases; they do not overlap."""
    text = tokenizer.folded(content)
    excerpts: list[str] = []
    shown_to = -1
    for start, end in heapq.merge(
        *(_phrase_spans(text, words) for words in dict.fromkeys(map(tuple, wanted)))
    ):
        if start < shown_to:
            continue
        first, last = max(0, start - AROUND_CHARS), min(len(content), end + AROUND_CHARS)
        before, after = CUT if first else "", CUT if last < len(content) else ""
        excerpts.append(f"{before}{content[first:last]}{after}")
        shown_to = last
        if len(excerpts) == MAX_HIGHLIGHTS:
            break
    return tuple(excerpts)


def _phrase_spans(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where words occur in a row, with searches in C: a document may have ten million characters."""
    if len(words) == 1:
        yield from _word_spans(text, words[0])
        return
    # It begins with a literal, which the engine looks for fast; the word's own beginning is checked here.
    row = re.compile(r"\W+".join(map(re.escape, words)) + r"(?!\w)")
    for found in row.finditer(text):
        if _begins_word(text, found.start()):
            yield found.span()


def _word_spans(text: str, word: str) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if _begins_word(text, at) and (end == len(text) or not _is_word_character(text[end])):
            yield at, end
        at = text.find(word, end)


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not _is_word_character(text[at - 1])


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"
