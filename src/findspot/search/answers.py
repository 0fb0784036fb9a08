"""From ranked candidates to hits: duplicates collapsed, neighbours merged, scores calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from findspot.core.model import Hit, Span
from findspot.rank.calibrate import Evidence, calibrated, coverage
from findspot.rank.signals import Candidate
from findspot.store.records import StoredChunk
from findspot.store.schema import ORDINAL_BITS, OUTLINE_ORDINAL
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import best_line
from findspot.text.tokens import tokens

MAX_MERGED_LINES = 80
"""Neighbours are merged into one passage up to about a screen and a half."""

_SURE_OF = 3
"""The best evidence among this many first hits speaks for the answer as a whole."""


@dataclass(slots=True)
class Passage:
    """Neighbouring chunks of one file; the first is the one that ranked best."""

    leader: Candidate
    chunks: list[StoredChunk] = field(default_factory=list)

    @property
    def span(self) -> Span:
        return Span(self.chunks[0].start_line, self.chunks[-1].end_line)

    def takes(self, chunk: StoredChunk) -> bool:
        """Whether a chunk directly before or after belongs to this passage."""
        if chunk.path != self.chunks[0].path:
            return False
        first, last = self.chunks[0].number, self.chunks[-1].number
        lines = max(chunk.end_line, self.span.end) - min(chunk.start_line, self.span.start) + 1
        return chunk.number in (first - 1, last + 1) and lines <= MAX_MERGED_LINES

    def add(self, chunk: StoredChunk) -> None:
        self.chunks.append(chunk)
        self.chunks.sort(key=lambda c: c.number)

    def text(self) -> str:
        """The passage's exact lines; only blank lines can stand between two chunks."""
        lines: list[str] = []
        for chunk in self.chunks:
            start = self.span.start + len(lines)
            lines.extend([""] * (chunk.start_line - start))
            lines.extend(chunk.text.split("\n")[max(0, start - chunk.start_line) :])
        return "\n".join(lines)


def passages(snapshot: Snapshot, ranked: Sequence[Candidate], wanted: int) -> list[Passage]:
    """The first `wanted` passages of a ranking, copies of the same file left out."""
    found: list[Passage] = []
    seen: set[tuple[str, int]] = set()
    for start in range(0, len(ranked), max(wanted, 20)):
        part = ranked[start : start + max(wanted, 20)]
        chunks = snapshot.chunks([candidate.number for candidate in part])
        for candidate in part:
            chunk = chunks.get(candidate.number)
            if chunk is None or _is_copy(snapshot, candidate, seen):
                continue
            home = next((passage for passage in found if passage.takes(chunk)), None)
            if home:
                home.add(chunk)
            elif len(found) == wanted:
                return found
            else:
                found.append(Passage(candidate, [chunk]))
    return found


def _is_copy(snapshot: Snapshot, candidate: Candidate, seen: set[tuple[str, int]]) -> bool:
    content = snapshot.files.by_id[candidate.number >> ORDINAL_BITS].sha256
    key = (content, candidate.number & OUTLINE_ORDINAL)
    if key in seen:
        return True
    seen.add(key)
    return False


def to_hits(
    found: Sequence[Passage], cosines: Mapping[int, float], weights: Mapping[str, float], explain: bool
) -> list[Hit]:
    """Hits with calibrated scores, best first."""
    best = found[0].leader.score if found else 0.0
    sure = max((_evidence(passage, cosines, weights).sure for passage in found[:_SURE_OF]), default=0.0)
    hits = []
    for passage in found:
        hit = _hit(passage, calibrated(sure, passage.leader.score / best if best else 0.0), weights)
        if explain:
            hit = replace(hit, why=passage.leader.why() | _evidence(passage, cosines, weights).why())
        hits.append(hit)
    return hits


def _evidence(passage: Passage, cosines: Mapping[int, float], weights: Mapping[str, float]) -> Evidence:
    leader = passage.leader
    held = set(tokens(" ".join([passage.text(), leader.path, passage.chunks[0].breadcrumb or ""])))
    return Evidence(coverage(weights, held), cosines.get(leader.number, 0.0), leader.defines)


def _hit(passage: Passage, score: float, weights: Mapping[str, float]) -> Hit:
    main = next(chunk for chunk in passage.chunks if chunk.number == passage.leader.number)
    return Hit(
        path=main.path,
        span=passage.span,
        text=passage.text(),
        score=score,
        kind=main.kind,
        language=main.language,
        symbols=tuple(dict.fromkeys(name for chunk in passage.chunks for name in chunk.symbols)),
        signature=main.signature,
        breadcrumb=main.breadcrumb,
        doc_comment=main.doc_comment,
        focus=main.start_line + best_line(main.text, weights),
    )
