"""From ranked candidates to hits: duplicates collapsed, neighbours merged, scores calibrated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from findspot.core.model import FITS_FROM, Hit, Span, Symbol
from findspot.rank.calibration import Evidence, calibrated
from findspot.rank.signals import Candidate, coverage
from findspot.search.definitions import Described, describe, header_overview
from findspot.search.questions import Question
from findspot.store.records import OUTLINE_ORDINAL, StoredChunk, StoredFile, chunk_number
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import PASSAGE_CHARS, best_column, best_line
from findspot.text.tokens import tokens

MAX_MERGED_CHUNKS = 3
"""Neighbours are merged into one passage up to about a screen and a half."""

MERGE_WITHIN = 20
"""A neighbour must rank about as well, or every passage would grow by what merely stands beside it."""

BRIDGE_WITHIN = 10
"""Of the first passages: further down, two of one file near each other mean little."""

_SURE_OF = 3
"""The best evidence among this many first hits speaks for the answer as a whole."""


_HEADER = "import"
"""The kind of a chunk that ends with the imports of a file."""


@dataclass(slots=True)
class Passage:
    """Neighbouring chunks of one file, by their numbers; the leader is the one that ranked best."""

    leader: Candidate
    rank: int
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


def passages(
    ranked: Sequence[Candidate], files: Mapping[int, StoredFile], never: Collection[int] = ()
) -> list[Passage]:
    """Return a ranking as passages, copies of the same file and the chunks of `never` left out.

    It looks at nothing but the ranking, so that asking for more results never changes the first.
    """
    found: dict[int, Passage] = {}
    part_of: dict[int, int] = {}
    home: dict[str, int] = {}
    for rank, candidate in enumerate(ranked):
        if home.setdefault(files[candidate.file_id].sha256, candidate.file_id) != candidate.file_id:
            continue
        number = candidate.number
        passage = Passage(candidate, rank, number, number)
        if number - 1 in part_of or number + 1 in part_of:
            for other in _neighbours(passage, found, part_of):
                if passage.size + other.size <= MAX_MERGED_CHUNKS:
                    del found[other.rank]
                    passage = _merged(other, passage)
        found[passage.rank] = passage
        for member in passage.numbers:
            part_of[member] = passage.rank
    return _bridged([found[rank] for rank in sorted(found)], never)


def _bridged(ranked: list[Passage], never: Collection[int]) -> list[Passage]:
    """Join the first passages of a file that a single chunk lies between: it answers with them."""
    by_end = {passage.last: passage for passage in ranked[:BRIDGE_WITHIN]}
    bridged: set[int] = set()
    for passage in ranked[:BRIDGE_WITHIN]:
        before = by_end.get(passage.first - 2)
        if before is None or before.rank in bridged or passage.rank in bridged:
            continue
        if passage.first - 1 in never:
            continue
        if before.size + 1 + passage.size <= MAX_MERGED_CHUNKS and _same_file(before, passage):
            joined_up = _merged(before, passage)
            bridged.update((before.rank, passage.rank))
            ranked = [
                joined_up if other.rank == joined_up.rank else other
                for other in ranked
                if other.rank == joined_up.rank or not _within(other, joined_up)
            ]
    return ranked


def _same_file(one: Passage, other: Passage) -> bool:
    return one.leader.file_id == other.leader.file_id


def _within(one: Passage, other: Passage) -> bool:
    return other.first <= one.first and one.last <= other.last


def _neighbours(passage: Passage, found: Mapping[int, Passage], part_of: Mapping[int, int]) -> list[Passage]:
    """Return the passages directly before and after a new one, the better first, where they rank alike."""
    ranks = sorted(part_of[n] for n in (passage.first - 1, passage.last + 1) if n in part_of)
    return [
        found[rank]
        for rank in dict.fromkeys(ranks)
        if passage.rank - rank <= MERGE_WITHIN and _same_file(found[rank], passage)
    ]


def _merged(one: Passage, other: Passage) -> Passage:
    better = min(one, other, key=lambda passage: passage.rank)
    return Passage(better.leader, better.rank, min(one.first, other.first), max(one.last, other.last))


def joined(chunks: Sequence[StoredChunk]) -> str:
    """Return the exact lines of neighbouring chunks; only blank lines can stand between two of them.

    A chunk that ends on the line on which the one before it ends is the next piece of that line.
    """
    lines: list[str] = []
    end = 0
    for chunk in chunks:
        start = chunks[0].start_line + len(lines)
        if chunk.end_line == end:
            lines[-1] += chunk.text
            continue
        end = chunk.end_line
        lines.extend([""] * (chunk.start_line - start))
        lines.extend(chunk.text.split("\n")[max(0, start - chunk.start_line) :])
    return "\n".join(lines)


def to_hits(
    snapshot: Snapshot,
    found: Sequence[Passage],
    cosines: Mapping[int, float] | None,
    question: Question,
) -> tuple[list[Hit], bool]:
    """Return the page of hits that a query wants, with their scores, and whether even the best is poor."""
    query, weights = question.query, question.term_weights
    page = found[query.offset : query.offset + query.limit]
    needed = {number for passage in (*found[:_SURE_OF], *page) for number in passage.numbers}
    outlines = {_outline_number(passage) for passage in page if passage.first == _first_number(passage)}
    stored = snapshot.chunks.by_number(sorted(needed | outlines))
    symbols = snapshot.symbols.of_chunks([number for passage in page for number in passage.numbers])

    def evidence(passage: Passage) -> Evidence:
        chunks = [stored[number] for number in passage.numbers]
        held = set(tokens(" ".join([joined(chunks), chunks[0].path, chunks[0].breadcrumb or ""])))
        cosine = None if cosines is None else cosines.get(passage.leader.number, 0.0)
        return Evidence(coverage(weights, held), cosine, passage.leader.defines)

    best = found[0].leader.score if found else 0.0
    sure = max((evidence(passage).sure for passage in found[:_SURE_OF]), default=0.0)
    hits = []
    for passage in page:
        score = calibrated(sure, passage.leader.score / best if best else 0.0)
        chunks = [stored[number] for number in passage.numbers]
        defined = [symbol for number in passage.numbers for symbol in symbols.get(number, ())]
        hit = _hit(chunks, stored[passage.leader.number], score, defined, question)
        outline = stored.get(_outline_number(passage))
        if hit.kind == _HEADER and outline:
            hit = replace(hit, overview=header_overview(chunks[0].text, outline.text))
        if query.explain:
            hit = replace(hit, why=passage.leader.why() | evidence(passage).why())
        hits.append(hit)
    return hits, bool(found) and sure < FITS_FROM


def _first_number(passage: Passage) -> int:
    return chunk_number(passage.leader.file_id, 0)


def _outline_number(passage: Passage) -> int:
    return chunk_number(passage.leader.file_id, OUTLINE_ORDINAL)


def _hit(
    chunks: Sequence[StoredChunk],
    leader: StoredChunk,
    score: float,
    symbols: Sequence[Symbol],
    question: Question,
) -> Hit:
    text, weights = joined(chunks), question.term_weights
    names = (question.text, *question.reading.names)  # `merge!` is a name that no word pattern finds whole
    about = describe(chunks, leader, text, symbols, names=names, weights=weights)
    focus = _focus(leader, about, text, chunks[0].start_line, weights)
    line = text.split("\n")[focus - chunks[0].start_line]
    named: Described | StoredChunk = about or leader
    return Hit(
        path=leader.path,
        span=Span(chunks[0].start_line, chunks[-1].end_line),
        text=text,
        score=score,
        kind=named.kind,
        language=leader.language,
        symbols=tuple(dict.fromkeys(name for chunk in chunks for name in chunk.symbols)),
        signature=named.signature,
        breadcrumb=named.breadcrumb,
        doc_comment=named.doc_comment,
        focus=focus,
        focus_column=best_column(line, weights) if len(line) > PASSAGE_CHARS else 0,
        definition=about.span if about else None,
    )


def _focus(
    leader: StoredChunk, about: Described | None, text: str, first: int, weights: Mapping[str, float]
) -> int:
    """Return the line that holds most of the query's words, of the definition where there is one."""
    if about is None:
        return leader.start_line + best_line(leader.text, weights)
    lines = text.split("\n")[about.span.start - first : about.span.end - first + 1]
    return about.span.start + best_line("\n".join(lines), weights)
