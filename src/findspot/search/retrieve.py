"""Find candidates: by keywords, by meaning, and by definition, all from one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from findspot.core.model import Corpus
from findspot.rank.candidate_pool import Column
from findspot.rank.intent import Intent
from findspot.rank.reports import Report
from findspot.rank.roles import Role, re_exports, role_of
from findspot.rank.signals import definition_worth
from findspot.search.query_filters import is_filtered
from findspot.search.questions import Question
from findspot.store.derived import Selection
from findspot.store.records import ORDINAL_BITS, Definition, StoredFile
from findspot.store.snapshot import Snapshot
from findspot.store.vector_segments import Numbers
from findspot.store.word_counts import distinct

POOL = 200
"""Candidates of each kind; fixed, so that asking for more results never changes their order."""

MAX_NAMES = 20
MAX_NAMESAKES = 3
"""A file name that fits more files than this points at none of them."""

TEST_OF = ("test", "tests", "testcase")
"""How a class of tests is called after what it tests: `CartStoreTest`."""

LISTED_DEFINITIONS = 2_000
MAX_DEFINITIONS = 50
"""A name defined in more places than this tells nothing; of `Model`, fields and tests are left out
first, and only `main`, `init` and the like remain too many."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that may be an answer, in order, and what search says of them."""

    numbers: Numbers
    keyword: Column
    cosine: Column
    defining: dict[int, tuple[Definition, ...]]
    """Chunk → what it defines of the names in the query."""
    only_tests: bool
    """Whether tests alone define those names, or are named after them."""
    re_exporting: frozenset[int]
    """Chunks that re-export the name asked for, where nothing defines it."""
    mentioned: frozenset[int]
    """Files whose name the query holds, by number."""


def find_candidates(snapshot: Snapshot, question: Question, files: Selection) -> Candidates:
    """Return everything among the allowed files that may be an answer, each with its likeness."""
    nearest = snapshot.vectors.begin(question.vector, files.mask, POOL if question.weight > 0 else 0)
    worded, scores = _by_keywords(snapshot, question, files) if question.weight < 1 else _NOTHING
    near, cosines = nearest()
    defining, only_tests = _by_definition(snapshot, question) if question.weight < 1 else ({}, False)
    if missed := defining.keys() - set(worded.tolist()) if defining else ():
        found, gained = _keyword_scores(snapshot, question, missed)
        worded, scores = np.append(worded, found), np.append(scores, gained)
    mentioned, traced = _by_mention(snapshot, question, files.files)
    others = np.array([*defining, *traced], np.int64)
    numbers = _fitting(distinct(np.concatenate((worded, near, others))), question, files)
    keyword = _column(numbers, worded, scores)
    cosine = _column(numbers, near, cosines.astype(np.float64) * question.scale)
    missing = np.isnan(cosine)
    if question.vector.any() and missing.any():
        likeness = snapshot.vectors.scores_of(question.vector, numbers[missing])
        cosine[missing] = likeness * question.scale
    fitting = set(numbers.tolist()) if defining else set()
    return Candidates(
        numbers,
        keyword,
        cosine,
        {number: names for number, names in defining.items() if number in fitting},
        only_tests,
        frozenset() if defining else _by_export(snapshot, question, numbers, keyword),
        mentioned,
    )


def _fitting(numbers: Numbers, question: Question, files: Selection) -> Numbers:
    """Return the chunks of allowed files, those that are the question left out."""
    keep = files.of_chunks(numbers)
    if question.except_chunks:
        keep &= ~np.isin(numbers, list(question.except_chunks))
    return numbers[keep]


def _column(numbers: Numbers, found: Numbers, values: Column) -> Column:
    """Return the values of some chunks as a column of these, which are in order."""
    column = np.full(numbers.size, np.nan)
    if numbers.size and found.size:
        rows = np.minimum(np.searchsorted(numbers, found), numbers.size - 1)
        here = numbers[rows] == found
        column[rows[here]] = values[here]
    return column


_NOTHING = np.empty(0, np.int64), np.empty(0)


def _by_keywords(snapshot: Snapshot, question: Question, files: Selection) -> tuple[Numbers, Column]:
    if not question.terms:
        return _NOTHING
    reader = snapshot.keywords[question.query.corpus]
    only = [file.id for file in files.files] if is_filtered(question.query) else None
    return reader.best(question.terms, POOL, only)


def _keyword_scores(
    snapshot: Snapshot, question: Question, numbers: Collection[int]
) -> tuple[Numbers, Column]:
    """Return what keywords say of chunks below the pool; a definition must not lose for being one of many."""
    reader = snapshot.keywords[question.query.corpus]
    return reader.scores(question.terms, numbers) if question.terms else _NOTHING


def _by_definition(snapshot: Snapshot, question: Question) -> tuple[dict[int, tuple[Definition, ...]], bool]:
    """Return chunks that define a name of the query, wherever they rank, and whether tests alone know it."""
    if question.query.corpus is not Corpus.CODE:
        return {}, False
    names = question.reading.names[:MAX_NAMES]
    known = _definitions(snapshot, dict.fromkeys(name.lower() for name in names))
    tests = {name: [f"{name}{end}" for end in TEST_OF] for name, found in known.items() if not found}
    tested = _definitions(snapshot, chain.from_iterable(tests.values()))
    roles = {_role(snapshot, each) for found in (known | tested).values() for each in found}
    defining: dict[int, tuple[Definition, ...]] = {}
    for found in known.values():
        few = found if len(found) <= MAX_DEFINITIONS else [d for d in found if _is_main(snapshot, d, names)]
        for definition in few if len(few) <= MAX_DEFINITIONS else ():
            defining[definition.number] = (*defining.get(definition.number, ()), definition)
    return defining, roles == {Role.TEST}


def _definitions(snapshot: Snapshot, names: Iterable[str]) -> dict[str, list[Definition]]:
    """Return the definitions of each of these lower-cased names, which are looked up together."""
    found: dict[str, list[Definition]] = {name: [] for name in names}
    for definition in snapshot.symbols.definitions(list(found), LISTED_DEFINITIONS * len(found)):
        found[definition.name].append(definition)
    return found


def _by_export(snapshot: Snapshot, question: Question, numbers: Numbers, keyword: Column) -> frozenset[int]:
    """Return the chunks found by keywords that re-export the name that the query consists of."""
    if question.reading.intent is not Intent.SYMBOL or question.query.corpus is not Corpus.CODE:
        return frozenset()
    name = question.reading.names[0]
    texts, path_of = snapshot.chunks.texts(numbers[~np.isnan(keyword)].tolist()), snapshot.files.path_of
    return frozenset(n for n, text in texts.items() if re_exports(path_of[n >> ORDINAL_BITS], text, name))


def _role(snapshot: Snapshot, definition: Definition) -> Role | None:
    file = snapshot.files.by_id.get(definition.number >> ORDINAL_BITS)
    return role_of(file.path) if file else None


def _is_main(snapshot: Snapshot, definition: Definition, names: Sequence[str]) -> bool:
    """Return whether it is the type or function of that very spelling, in plain source."""
    worth = definition_worth(definition.kind, definition.display, names)
    return worth == 1.0 and _role(snapshot, definition) is Role.SOURCE


def _by_mention(
    snapshot: Snapshot, question: Question, files: Sequence[StoredFile]
) -> tuple[frozenset[int], set[int]]:
    """Return files that a report or a stack trace names, and the chunks at the lines it gives."""
    named = _Namesakes.of(files, [path for path, _ in question.reading.places])
    mentioned: set[int] = set()
    traced: set[int] = set()
    for path, line in question.reading.places:
        found = named.fitting(path)
        mentioned.update(file.id for file in found)
        if line is not None:
            traced.update(number for file in found for number in _chunks_at(snapshot, file.path, line))
    return frozenset(mentioned), traced


def _chunks_at(snapshot: Snapshot, path: str, line: int) -> list[int]:
    chunks = (chunk for chunk in snapshot.chunks.of_file(path) if chunk.kind != "outline")
    return [chunk.number for chunk in chunks if chunk.start_line <= line <= chunk.end_line]


@dataclass(frozen=True, slots=True)
class _Namesakes:
    """The files of a project whose names a text mentions, by name without folders."""

    by_name: dict[str, list[StoredFile]]

    @classmethod
    def of(cls, files: Iterable[StoredFile], paths: Sequence[str]) -> _Namesakes:
        by_name: dict[str, list[StoredFile]] = {_base_name(path): [] for path in paths}
        endings = tuple(by_name)
        for file in files if by_name else ():
            if file.path.endswith(endings) and (name := _base_name(file.path)) in by_name:
                by_name[name].append(file)
        return cls(by_name)

    def fitting(self, path: str, *, installed: bool = False) -> list[StoredFile]:
        """Return the files that a path may mean: one path ends with the other. Too many mean none of them.

        `installed`: the path leads to where a package is installed; then its last two names must fit.
        """
        namesakes = self.by_name[_base_name(path)]
        found = [file for file in namesakes if ends_alike(file.path, path)]
        tail = "/".join(path.split("/")[-2:])
        if not found and installed and "/" in tail:
            found = [file for file in namesakes if file.path.endswith(tail)]
        return found if len(found) <= MAX_NAMESAKES else []


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def ends_alike(one: str, other: str) -> bool:
    return f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")


def mentioned_files(
    report: Report, files: Sequence[StoredFile]
) -> tuple[dict[int, float], list[tuple[int, int, int]]]:
    """Return the files that a report names, and the lines it gives."""
    named = _Namesakes.of(files, [place.path for place in report.places])
    worth: dict[int, float] = {}
    lines = []
    for place in report.places:
        fitting = named.fitting(place.path)
        for file in fitting:
            worth[file.id] = max(worth.get(file.id, 0.0), 1 / len(fitting))
            if place.line is not None:
                lines.append((file.id, place.line, place.end_line or place.line))
    return worth, lines


def traced_files(
    report: Report, files: Sequence[StoredFile]
) -> tuple[dict[int, float], list[tuple[int, int, int]]]:
    """Return the files of stack traces, the innermost first, and their lines."""
    named = _Namesakes.of(files, [frame.path for frame in report.frames])
    worth: dict[int, float] = {}
    lines = []
    depth = 0
    for frame in reversed(report.frames):
        fitting = named.fitting(frame.path, installed=True)
        depth += bool(fitting)
        for file in fitting:
            worth.setdefault(file.id, 1 / depth)
            if frame.line is not None:
                lines.append((file.id, frame.line, frame.line))
    return worth, lines
