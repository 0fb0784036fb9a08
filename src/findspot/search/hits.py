"""From ranked candidates to hits: copies left out, neighbours merged, results grouped, scores calibrated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.model import LIKELY_FROM, STRONG_FROM, GroupBy, Hit, Span, Symbol
from findspot.rank.calibration import FITS_FROM, Evidence, Recipe, calibrated, nothing_fits
from findspot.rank.candidate_pool import Candidate, Ranking
from findspot.rank.signals import WORDING, coverage
from findspot.search.definitions import (
    Described,
    PassageText,
    QueryTerms,
    QueryWords,
    definitions_wanted,
    describe,
    header_overview,
    passage_texts,
)
from findspot.search.questions import Question
from findspot.search.retrieve import ends_alike
from findspot.store.records import (
    ORDINAL_BITS,
    OUTLINE_ORDINAL,
    StoredChunk,
    chunk_number,
    last_name,
)
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import PASSAGE_CHARS, best_column
from findspot.text.tokens import tokens

MAX_MERGED_CHUNKS = 3
"""Neighbours are merged into one passage up to about a screen and a half."""

MERGE_WITHIN = 20
"""A neighbour must rank about as well, or every passage would grow by what merely stands beside it."""

MOST_MORE = 3
"""Further passages that a file names."""

_LEAD = 2
"""Passages that are looked at, whatever the page: how far the first is ahead of the second."""

LATER = 5
"""Ranks that a passage without a definition, or a further definition of one chunk, stands back."""

_HEADER = "import"
"""The kind of a chunk that ends with the imports of a file."""

_PIECE = "block"
"""The kind of a chunk that continues the definition of the chunk before it."""


@dataclass(slots=True)
class Passage:
    """Neighbouring chunks of one file, by their numbers; the leader, whose rank it has, ranked best."""

    rank: int
    first: int
    last: int
    more: tuple[Passage, ...] = ()
    """Further passages of the file, where results are files."""
    symbol: Symbol | None = None
    breadcrumb: str | None = None
    """What it shows, where results are definitions."""

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def span(self) -> tuple[int, int]:
        return self.first, self.last

    @property
    def file_id(self) -> int:
        return self.first >> ORDINAL_BITS


def grouped(snapshot: Snapshot, ranking: Ranking, question: Question) -> tuple[list[Passage], int]:
    """Return the results that a query wants, up to the end of its page, and how many there are in all.

    They are passages, files or definitions.
    """
    query = question.query
    if query.group_by is GroupBy.SYMBOL:
        found = _by_definition(snapshot, ranking.numbers, question)
        return found, len(found)
    spans = spans_of(ranking.numbers, snapshot.files.copies)
    if query.group_by is GroupBy.FILE:
        found = _by_file([Passage(*span) for span in spans.tolist()])
        return found, len(found)
    shown = spans[: max(query.offset + query.limit, _LEAD)].tolist()
    return [Passage(*span) for span in shown], len(spans)


def _by_file(ranked: Sequence[Passage]) -> list[Passage]:
    """Return the best passage of each file, with those after it."""
    files: dict[int, list[Passage]] = {}
    for passage in ranked:
        files.setdefault(passage.file_id, []).append(passage)
    return [replace(first, more=tuple(rest[:MOST_MORE])) for first, *rest in files.values()]


def _by_definition(snapshot: Snapshot, ranked: Sequence[int], question: Question) -> list[Passage]:
    """Return one passage per definition; those that define nothing stay, a little further down.

    A long definition is several chunks: the pieces after the first have its breadcrumb and no symbol.
    """
    numbers = sorted(ranked)
    stored, symbols = snapshot.chunks.by_number(numbers), snapshot.symbols.of_chunks(numbers)
    names, terms = (question.text, *question.reading.names), QueryTerms(question.term_weights)
    seen: set[tuple[int, str]] = set()
    continued: set[tuple[int, str]] = set()
    shown: list[tuple[int, Passage]] = []
    for rank, number in _without_copies(ranked, snapshot.files.copies):
        chunk, file_id = stored[number], number >> ORDINAL_BITS
        wanted = definitions_wanted(chunk, symbols.get(number, ()), names, terms)
        for place, (symbol, breadcrumb) in enumerate(wanted):
            if (file_id, breadcrumb) not in continued:
                seen.add((file_id, breadcrumb))
                passage = Passage(rank, number, number, symbol=symbol, breadcrumb=breadcrumb)
                shown.append((rank + LATER * place, passage))
        if not wanted:
            passage, later = Passage(rank, number, number), LATER
            if chunk.kind == _PIECE and chunk.breadcrumb:
                definition = file_id, chunk.breadcrumb
                if definition in seen:
                    continue
                seen.add(definition)
                continued.add(definition)
                passage.breadcrumb, later = chunk.breadcrumb, 0
            shown.append((rank + later, passage))
    return [passage for _, passage in sorted(shown, key=lambda each: each[0])]


def _with_pieces(snapshot: Snapshot, passage: Passage) -> Passage:
    """Return a passage with all chunks of its definition."""
    if passage.breadcrumb is None:
        return passage
    path = snapshot.files.by_id[passage.file_id].path
    chunks = {chunk.number: chunk for chunk in snapshot.chunks.of_file(path)}
    first = last = passage.first

    def continues(number: int) -> bool:
        chunk = chunks.get(number)
        return chunk is not None and chunk.kind == _PIECE and chunk.breadcrumb == passage.breadcrumb

    while continues(last + 1):
        last += 1
    while passage.symbol is None and continues(first):
        first -= 1
    symbol = passage.symbol
    if symbol is None:
        name = last_name(passage.breadcrumb.rpartition(" > ")[2])
        defined = snapshot.symbols.of_chunks([first]).get(first, [])
        symbol = next((each for each in reversed(defined) if last_name(each.name) == name), None)
        first += symbol is None
    return replace(passage, first=first, last=last, symbol=symbol)


def _without_copies(ranked: Sequence[int], copies: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Yield the chunks, with their ranks, whose file is the best one of its content."""
    home: dict[str, int] = {}
    for rank, number in enumerate(ranked):
        content = copies.get(number >> ORDINAL_BITS)
        if content is None or home.setdefault(content, number >> ORDINAL_BITS) == number >> ORDINAL_BITS:
            yield rank, number


_Spans = NDArray[np.int64]
"""A row per passage: its rank, its first and its last chunk."""


def spans_of(ranked: Sequence[int], copies: Mapping[int, str]) -> _Spans:
    """Return a ranking of chunks as passages, copies of the same file left out.

    `copies` has the contents of files that are copies. It looks at nothing but the ranking, so that asking
    for more results never changes the first.
    """
    if copies.keys().isdisjoint([number >> ORDINAL_BITS for number in ranked]):
        return _merged(ranked)
    # A copy is a neighbour of nothing, and keeps its rank.
    kept = [-2 * rank for rank in range(1, len(ranked) + 1)]
    for rank, number in _without_copies(ranked, copies):
        kept[rank] = number
    spans = _merged(kept)
    return spans[spans[:, 1] >= 0]


def _merged(ranked: Sequence[int]) -> _Spans:
    """Return different chunks, best first, with neighbours of about the same rank as one passage."""
    numbers = np.array(ranked, np.int64)
    spans = np.column_stack((np.arange(numbers.size), numbers, numbers))
    beside = np.isin(numbers + 1, numbers) | np.isin(numbers - 1, numbers)
    joined: dict[int, tuple[int, int]] = {}
    """First and last chunk of each passage that has neighbours, by rank."""
    part_of: dict[int, int] = {}
    for rank, number, _ in spans[beside].tolist():
        first = last = number
        leader = rank
        joined[rank] = first, last
        for other in _in_order(part_of.get(number - 1), part_of.get(number + 1)):
            low, high = joined[other]
            is_near = rank - other <= MERGE_WITHIN and low >> ORDINAL_BITS == number >> ORDINAL_BITS
            if is_near and last - first + high - low + 2 <= MAX_MERGED_CHUNKS:
                del joined[max(leader, other)]
                first, last, leader = min(first, low), max(last, high), min(leader, other)
        joined[leader] = first, last
        for member in range(first, last + 1):
            part_of[member] = leader
    spans[list(joined), 1:] = np.array(list(joined.values()), np.int64).reshape(-1, 2)
    beside[list(joined)] = False
    return spans[~beside]


def _in_order(before: int | None, after: int | None) -> tuple[int, ...]:
    """Return the ranks that there are, the better one first."""
    if before is None:
        return () if after is None else (after,)
    if after is None:
        return (before,)
    return (before, after) if before < after else (after, before)


def to_hits(
    snapshot: Snapshot,
    found: Sequence[Passage],
    ranking: Ranking,
    question: Question,
    recipe: Recipe,
    *,
    belongs: float | None = None,
) -> tuple[list[Hit], bool, float]:
    """Return the page of hits that a query wants, with their scores, whether none fits, and how near.

    `belongs` is how likely the query is about the project at all, where a fitted model says so.
    """
    query = question.query
    end = query.offset + query.limit
    page = [_with_pieces(snapshot, passage) for passage in found[query.offset : end]]
    by_meaning = question.weight == 1  # no keyword was looked for: count the words of the first passage
    read = [each for passage in page for each in (passage, *passage.more)]
    read += found[:1] if by_meaning else []
    texts = passage_texts(snapshot, [passage.span for passage in read])
    ranks = [passage.rank for passage in found[: max(end, 1)]]
    held = coverage(question.term_weights, _words(texts[found[0].span])) if by_meaning and found else None
    evidence = list(_evidence(found, ranking, ranks, question, held))
    leaders = ranking.candidates(ranks) if query.explain or belongs is not None else []
    most = STRONG_FROM - 0.01 if question.is_unheard else 1.0
    scores = list(calibrated(recipe, evidence, most=most)) if belongs is None else _chances(leaders, belongs)
    terms = QueryTerms(question.term_weights)
    of_leader = ranking.pool.places_chosen

    def hit_of(passage: Passage, **others: Any) -> Hit:
        text = texts[passage.span]
        leader = text.chunks[ranking.numbers[passage.rank] - passage.first]
        return _hit(text, leader, question, terms, only=passage.symbol, of_leader=of_leader, **others)

    hits = []
    for place, passage in enumerate(page, query.offset):
        why = None
        if query.explain:
            why = leaders[place].why() | (evidence[place].why() if belongs is None else {"belongs": belongs})
        more = tuple(_lines_and_name(hit_of(other, score=0.0)) for other in passage.more)
        share = round(_share(ranking, passage, found[0]), 9)  # sums differ by the order of files
        hits.append(hit_of(passage, score=scores[place], more=more, relative=share, why=why))
    _add_overviews(snapshot, page, hits)
    nearness = evidence[0].nearness if evidence else 0.0
    if belongs is not None:
        return hits, belongs < FITS_FROM, nearness
    return hits, query.similar_to is None and nothing_fits(recipe, evidence), nearness


def _add_overviews(snapshot: Snapshot, page: Sequence[Passage], hits: list[Hit]) -> None:
    """Let the headers of files show what the files define, where an answer has their first lines."""
    headers = [place for place, hit in enumerate(hits) if hit.kind == _HEADER]
    if not headers:
        return
    begun = {passage.file_id for passage in page if passage.first == chunk_number(passage.file_id, 0)}
    shown = [place for place in headers if page[place].file_id in begun]
    numbers = {chunk_number(page[place].file_id, OUTLINE_ORDINAL) for place in shown}
    stored = snapshot.chunks.by_number(sorted(numbers | {page[place].first for place in shown}))
    for place in shown:
        outline = stored.get(chunk_number(page[place].file_id, OUTLINE_ORDINAL))
        if outline:
            overview = header_overview(stored[page[place].first].text, outline.text)
            hits[place] = replace(hits[place], overview=overview)


def _chances(leaders: Iterable[Candidate], belongs: float) -> list[float]:
    """Return the scores of the hits of a report, falling as the ranking does; weak if nothing fits."""
    most = LIKELY_FROM - 0.01 if belongs < FITS_FROM else 1.0
    chances = (min(most, belongs * (leader.chance or 0.0)) for leader in leaders)
    return [round(chance, 4) for chance in accumulate(chances, min)]


def _lines_and_name(hit: Hit) -> str:
    lines = hit.definition or hit.span
    return " ".join(filter(None, (f"{lines.start}-{lines.end}", hit.symbol)))


def by_file(hits: Iterable[Hit]) -> list[Hit]:
    """Return the first hit of each file, with where the others are."""
    files: dict[str, list[Hit]] = {}
    for hit in hits:
        files.setdefault(hit.path, []).append(hit)
    return [
        replace(first, more=tuple(map(_lines_and_name, rest[:MOST_MORE]))) for first, *rest in files.values()
    ]


def _evidence(
    found: Sequence[Passage],
    ranking: Ranking,
    ranks: Sequence[int],
    question: Question,
    held: float | None,
) -> Iterator[Evidence]:
    """Yield what speaks for each of the first passages; `held` is the share of words that the first has."""
    weight = sum(question.term_weights.values()) or 1.0
    signals = ranking.signals(ranks, "cosine", "words", "defines", "path_match", "file_chance", "wording")
    for place, (cosine, words, definition, path, file_chance, wording) in enumerate(signals):
        worded = _known(words) / weight
        if place:
            lead = _share(ranking, found[place], found[0]) - 1
        else:
            lead = 1 - _share(ranking, found[1], found[0]) if len(found) > 1 else 1.0
            worded = worded if held is None else held
        terms = len(question.term_weights)
        share = wording / WORDING
        yield Evidence(_known(cosine), worded, definition, path, terms, lead, file_chance, share)


def _known(value: float) -> float:
    return 0.0 if isnan(value) else value


def _words(passage: PassageText) -> set[str]:
    first = passage.chunks[0]
    return set(tokens(" ".join((passage.text, first.path, first.breadcrumb or ""))))


def _share(ranking: Ranking, passage: Passage, best: Passage) -> float:
    """Return the ranking value of a passage as a share of the best one's."""
    highest = ranking.scores[best.rank]
    return ranking.scores[passage.rank] / highest if highest else 0.0


def _hit(
    passage: PassageText,
    leader: StoredChunk,
    question: Question,
    terms: QueryTerms,
    *,
    only: Symbol | None = None,
    of_leader: bool = False,
    **others: Any,
) -> Hit:
    """Return a passage as a hit; with `only`, the lines that define it, with `of_leader`, what its best chunk
    defines. `others` are fields of the hit.
    """
    text, chunks, weights = passage.text, passage.chunks, question.term_weights
    names = (question.text, *question.reading.names)  # `merge!` is a name that no word pattern finds whole
    lines, first = text.split("\n"), chunks[0].start_line
    words = QueryWords.in_text(text, terms)
    at = [line for path, line in question.reading.places if line and ends_alike(path, leader.path)]
    about = describe(passage, leader, lines, names=names, words=words, at=at, only=only, of_leader=of_leader)
    shown = about.span if about else Span(leader.start_line, leader.end_line)
    begins = about.line if about else shown.start
    focus = first + words.best(begins - first, min(shown.end - first, len(lines) - 1))
    line = lines[focus - first]
    named: Described | StoredChunk = about or leader
    span = Span(first, chunks[-1].end_line)
    held = passage.names
    if only and about:
        span, held = about.span, (only.name,)
        text = "\n".join(lines[span.start - first : span.end - first + 1])
    return Hit(
        path=leader.path,
        span=span,
        text=text,
        kind=named.kind,
        language=leader.language,
        symbols=held,
        signature=named.signature,
        breadcrumb=named.breadcrumb,
        doc_comment=named.doc_comment,
        focus=focus,
        focus_column=best_column(line, weights) if len(line) > PASSAGE_CHARS else 0,
        definition=about.span if about else None,
        declared=about.line if about else None,
        **others,
    )
