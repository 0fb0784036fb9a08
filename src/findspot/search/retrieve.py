"""Finding candidates: by keywords, by meaning, and by definition, all from one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from findspot.core.model import Corpus
from findspot.search.filters import is_filtered
from findspot.search.questions import Question
from findspot.store.records import Definition, StoredFile
from findspot.store.schema import ORDINAL_BITS
from findspot.store.snapshot import Snapshot

POOL = 200
"""Candidates of each kind; fixed, so that asking for more results never changes their order."""

MAX_NAMES = 20
MAX_DEFINITIONS = 50
"""A name defined in more places than this tells nothing; `main`, `init` and the like."""


@dataclass(frozen=True, slots=True)
class Found:
    """Scores of each kind by chunk."""

    keyword: dict[int, float]
    semantic: dict[int, float]
    defining: dict[int, tuple[Definition, ...]]
    """Chunk → what it defines of the names in the query."""

    @property
    def numbers(self) -> set[int]:
        return self.keyword.keys() | self.semantic.keys() | self.defining.keys()


def candidates(snapshot: Snapshot, question: Question, files: Sequence[StoredFile]) -> Found:
    """Everything among the allowed files that may be an answer, each with its likeness."""
    allowed = {file.id for file in files}
    keyword = _by_keywords(snapshot, question, files) if question.weight < 1 else {}
    semantic = _by_meaning(snapshot, question, files) if question.weight > 0 else {}
    defining = _by_definition(snapshot, question) if question.weight < 1 else {}

    def fits(number: int) -> bool:
        return number >> ORDINAL_BITS in allowed and number not in question.except_chunks

    found = Found(
        {number: score for number, score in keyword.items() if fits(number)},
        {number: score for number, score in semantic.items() if fits(number)},
        {number: names for number, names in defining.items() if fits(number)},
    )
    missing = found.numbers - found.semantic.keys()
    if missing and question.vector.any():
        likeness = snapshot.likeness(question.vector, sorted(missing))
        found.semantic.update({number: score * question.scale for number, score in likeness.items()})
    return found


def _by_keywords(snapshot: Snapshot, question: Question, files: Sequence[StoredFile]) -> dict[int, float]:
    reader = snapshot.keywords(question.query.corpus)
    if reader is None or not question.terms:
        return {}
    only = [file.id for file in files] if is_filtered(question.query) else None
    return dict(reader.search(question.terms, POOL, only))


def _by_meaning(snapshot: Snapshot, question: Question, files: Sequence[StoredFile]) -> dict[int, float]:
    if not question.vector.any():
        return {}
    numbers, scores = snapshot.nearest(question.vector, snapshot.files.mask(files), POOL)
    return {int(n): float(s) * question.scale for n, s in zip(numbers, scores, strict=True)}


def _by_definition(snapshot: Snapshot, question: Question) -> dict[int, tuple[Definition, ...]]:
    """Chunks that define a name of the query, wherever they rank otherwise."""
    if question.query.corpus is not Corpus.CODE:
        return {}
    defining: dict[int, tuple[Definition, ...]] = {}
    for name in dict.fromkeys(name.lower() for name in question.reading.names[:MAX_NAMES]):
        found = snapshot.definitions([name], MAX_DEFINITIONS + 1)
        if len(found) <= MAX_DEFINITIONS:
            for definition in found:
                defining[definition.number] = (*defining.get(definition.number, ()), definition)
    return defining
