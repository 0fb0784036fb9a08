"""What speaks for each file and each chunk when the query is a report: one row of signals per candidate.

A report is searched as several questions: its title, its prose, its examples with their errors, and all of
it. What a file says in answer to them, what it defines of the names that the report mentions, its path, its
role and its history become numbers. `report_ranking` weighs them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from findspot.core.git import History
from findspot.core.model import Corpus
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.history.commit_store import CommitStore
from findspot.rank.mentions import Where, named_depth, qualifiers
from findspot.rank.reports import Report, read_report
from findspot.rank.roles import Role, is_data, is_test, role_of
from findspot.rank.signals import KIND_WORTH, OTHER_CASE, path_share
from findspot.search.commit_evidence import near_changes
from findspot.search.retrieve import mentioned_files, traced_files
from findspot.store.derived import Selection
from findspot.store.keywords import KeywordReader
from findspot.store.records import (
    ORDINAL_BITS,
    OUTLINE_ORDINAL,
    StoredFile,
    chunk_number,
    last_name,
)
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import STOP_WORDS, parts, tokens, words

Scores = dict[int, float]

POOL = 300
NEAREST = 200
MAX_FILES = 50
"""Files worth a closer look; with 100 or 40, answers to real issues are the same."""
MAX_NAMES = 400
MAX_DEFINITIONS = 20_000
MAX_PROSE_CHARS = 4_000
SMALL_BYTES = 1_000
"""Long files hold more words and are held back for it; being next to empty is no merit."""

COMMITS = 1_000
"""How far back the history of a project is looked at."""

RECENT = 20
"""A file that changed so many commits ago counts half of one that changed just now."""

FADING = 1_000
"""A commit with so many newer ones says half as much about a report."""

TITLE_WEIGHT = 2.0

NOT_SOURCE = 0.5
"""Tests, examples and data need twice the evidence to be looked at."""

_TERMS = {"all": 48, "title": 20, "prose": 40, "code": 40}
"""How many terms each part is searched by: the most telling ones."""

_MEANING = ("title", "prose")
_PRELIMINARY = {"all": 1.0, "title": 0.5, "prose": 0.5, "code": 0.5, "meaning": 0.7}
_NAMED = (Where.TITLE, Where.SPAN, Where.PROSE)
"""Names of examples and traces are those of a report's author, or of libraries, too often to count."""


@dataclass(frozen=True, slots=True)
class Signals:
    """One row of numbers per candidate, one named column per signal."""

    columns: tuple[str, ...]
    rows: NDArray[np.float32]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[float]], height: int) -> Signals:
        rows = np.empty((height, len(columns)), np.float32)
        for place, values in enumerate(columns.values()):
            rows[:, place] = values
        return cls(tuple(columns), rows)

    def best(self, column: str) -> float:
        """Return the highest value of a signal; 0 without candidates."""
        return float(self.rows[:, self.columns.index(column)].max(initial=0.0))


@dataclass(slots=True)
class _Defined:
    """What a candidate defines of the names in a report: by where they stand, the worth of each name."""

    names: dict[Where, dict[str, float]]

    def best(self, where: Where) -> float:
        return max(self.names.get(where, {}).values(), default=0.0)


@dataclass(slots=True)
class _Found:
    """What the searches for the parts of a report, and its names, places and traces, lead to."""

    report: Report
    text: str
    words: dict[str, Scores]
    nearest: dict[str, Scores]
    vectors: dict[str, tuple[NDArray[np.int8], float]]
    by_chunk: dict[int, _Defined]
    by_file: dict[int, _Defined]
    mentioned: dict[int, float]
    traced: dict[int, float]
    lines: list[tuple[int, int, int]]
    """File, first and last line of each place that the report names."""


_NOTHING_DEFINED = _Defined({})
_NO_VECTOR = np.zeros(0, np.int8), 0.0
_KINDS = ("class", "import")
_PACKAGE_FILES = ("__init__", "index", "mod", "lib")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The files that a report may be about, and what speaks for or against each of them."""

    files: list[StoredFile]
    signals: Signals
    found: _Found
    likeness: dict[str, Scores]
    """Of each part of the report, the cosine of every chunk of these files."""


def gather(
    snapshot: Snapshot,
    embedder: Embedder | None,
    text: str,
    allowed: Selection,
    *,
    filtered: bool = False,
    wants_tests: bool = False,
    history: History = (),
    commits: CommitStore | None = None,
) -> Evidence:
    """Find candidates for a report, and return what speaks for each file.

    `filtered`: only some files are allowed; `wants_tests`: tests count like other code.
    """
    found = _find(snapshot, embedder, text, allowed, filtered=filtered)
    files = [snapshot.files.by_id[number] for number in _preselect(snapshot, found, allowed)]
    numbers = _numbers(files)
    likeness = {
        part: {n: score * scale for n, score in snapshot.vectors.scores(vector, numbers).items()}
        for part, (vector, scale) in found.vectors.items()
    }
    columns = _content_signals(files, found, likeness)
    ordinary = {*found.mentioned, *(file.id for file in files if wants_tests and is_test(file.path))}
    columns |= _role_signals(files, snapshot.memo(_Languages).of(snapshot), ordinary)
    columns |= _path_signals(files, found)
    columns |= _history_signals(files, history)
    columns["commit_file"] = _commit_signal(files, found, commits)
    return Evidence(files, _scaled(Signals.of(columns, len(files))), found, likeness)


def _find(
    snapshot: Snapshot, embedder: Embedder | None, text: str, allowed: Selection, *, filtered: bool
) -> _Found:
    report = read_report(text)
    texts = _texts(report, text)
    reader = snapshot.keywords[Corpus.CODE]
    only = [file.id for file in allowed.files] if filtered else None
    nearest, vectors = _by_meaning(snapshot, embedder, texts, allowed)
    by_chunk, by_file = _definitions(snapshot, report, allowed)
    mentioned, lines = mentioned_files(report, allowed.files)
    traced, frame_lines = traced_files(report, allowed.files)
    return _Found(
        report=report,
        text=text,
        words=_by_words(reader, texts, only),
        nearest=nearest,
        vectors=vectors,
        by_chunk=by_chunk,
        by_file=by_file,
        mentioned=mentioned,
        traced=traced,
        lines=lines + frame_lines,
    )


def _texts(report: Report, text: str) -> dict[str, str]:
    """Return the questions that a report is searched as."""
    return {
        "all": text,
        "title": report.title,
        "prose": "\n".join([report.title, *report.prose])[:MAX_PROSE_CHARS],
        "code": "\n".join((*report.code, *report.errors)),
    }


def _by_words(
    reader: KeywordReader, texts: Mapping[str, str], only: Sequence[int] | None
) -> dict[str, Scores]:
    """Search for the most telling terms of each part; those of the title count more in the others."""
    counts = {part: Counter(tokens(text)) for part, text in texts.items()}
    size = reader.size
    rarity = {}
    for term in set().union(*counts.values()) - STOP_WORDS:
        if frequency := reader.document_frequency(term):
            rarity[term] = math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
    found = {}
    for part, counted in counts.items():
        stressed = counts["title"].keys() if part != "title" else ()
        weights = {
            term: (1 + math.log(count)) * (TITLE_WEIGHT if term in stressed else 1.0)
            for term, count in counted.items()
            if term in rarity
        }
        telling = sorted(weights, key=lambda term: (-weights[term] * rarity[term], term))[: _TERMS[part]]
        chosen = {term: weights[term] for term in telling}
        found[part] = dict(reader.search(chosen, POOL, only)) if chosen else {}
    return found


def _by_meaning(
    snapshot: Snapshot, embedder: Embedder | None, texts: Mapping[str, str], allowed: Selection
) -> tuple[dict[str, Scores], dict[str, tuple[NDArray[np.int8], float]]]:
    if embedder is None:
        return {}, {}
    rows = quantise(embedder.embed([texts[part] for part in _MEANING], EmbedMode.QUERY))
    found, vectors = {}, {}
    for at, part in enumerate(_MEANING):
        vector, scale = rows.values[at], float(rows.scales[at])
        if vector.any():
            vectors[part] = vector, scale
            numbers, scores = snapshot.vectors.nearest(vector, allowed.mask, NEAREST)
            found[part] = dict(zip(numbers.tolist(), (scores * scale).tolist(), strict=True))
    return found, vectors


def _names(report: Report) -> dict[str, dict[Where, str]]:
    """Return each name of a report, lower-cased and without qualifiers: where it stands, and its spelling."""
    found: dict[str, dict[Where, str]] = defaultdict(dict)
    for word in words(report.title):
        found[word.lower()][Where.TITLE] = word
    for name in report.names:
        last = last_name(name.text)
        if len(last) > 2 and name.where in _NAMED:
            found[last.lower()].setdefault(name.where, last)
    return dict(list(found.items())[:MAX_NAMES])


def _definitions(
    snapshot: Snapshot, report: Report, allowed: Selection
) -> tuple[dict[int, _Defined], dict[int, _Defined]]:
    """Return what chunks, and what files, define of the names that a report mentions.

    A name that many files define says little about each of them.
    """
    names = _names(report)
    defined = defaultdict(list)
    for definition in snapshot.symbols.definitions(list(names), MAX_DEFINITIONS):
        if definition.number >> ORDINAL_BITS in allowed:
            defined[definition.name].append(definition)
    files = snapshot.files.by_id
    by_chunk: dict[int, _Defined] = defaultdict(lambda: _Defined(defaultdict(dict)))
    by_file: dict[int, _Defined] = defaultdict(lambda: _Defined(defaultdict(dict)))
    for name, definitions in defined.items():
        homes = {d.number >> ORDINAL_BITS for d in definitions}
        sources = sum(role_of(files[home].path) is Role.SOURCE for home in homes)
        spellings = set(names[name].values())
        for definition in definitions:
            worth = KIND_WORTH.get(definition.kind, 1.0) / max(1, sources)
            if last_name(definition.display) not in spellings:
                worth *= OTHER_CASE
            for where in names[name]:
                for held in (by_chunk[definition.number], by_file[definition.number >> ORDINAL_BITS]):
                    held.names[where][name] = max(held.names[where].get(name, 0.0), worth)
    return dict(by_chunk), dict(by_file)


def _preselect(snapshot: Snapshot, found: _Found, allowed: Selection) -> list[int]:
    """Return the files worth a closer look, by a rough sum of what speaks for them."""
    rough: dict[int, float] = defaultdict(float)
    searched = [(_PRELIMINARY[part], scores) for part, scores in found.words.items()]
    searched += [(_PRELIMINARY["meaning"], scores) for scores in found.nearest.values()]
    for weight, scores in searched:
        for number, share in _best_per_file(scores).items():
            rough[number] += weight * share
    for number, held in found.by_file.items():
        rough[number] += max(map(held.best, held.names), default=0.0)
    for number in (*found.mentioned, *found.traced):
        rough[number] += 1.0
    files = snapshot.files.by_id

    def worth(number: int) -> tuple[float, str]:
        path = files[number].path
        return -rough[number] * (1.0 if role_of(path) is Role.SOURCE else NOT_SOURCE), path

    return sorted((number for number in rough if number in allowed), key=worth)[:MAX_FILES]


def _best_per_file(scores: Scores) -> dict[int, float]:
    """Return the best score of each file as a share of the best of all."""
    top = max(scores.values(), default=0.0)
    best: dict[int, float] = {}
    for number, score in scores.items():
        file = number >> ORDINAL_BITS
        best[file] = max(best.get(file, 0.0), score / top if top > 0 else 0.0)
    return best


def _numbers(files: Iterable[StoredFile]) -> list[int]:
    return [chunk_number(file.id, ordinal) for file in files for ordinal in range(file.chunks)]


def _content_signals(
    files: Sequence[StoredFile], found: _Found, likeness: Mapping[str, Scores]
) -> dict[str, list[float]]:
    """Return what the text of each file, and the names it defines, have to do with the report."""
    columns: dict[str, list[float]] = {}
    for part in ("all", "prose"):
        best = _sorted_per_file(found.words[part])
        columns[f"words_{part}"] = [best.get(file.id, [0.0])[0] for file in files]
        columns[f"words_{part}_3"] = [sum(best.get(file.id, [])[:3]) for file in files]
    for part in _MEANING:
        near = _sorted_per_file(likeness.get(part, {}))
        columns[f"cosine_{part}"] = [near.get(file.id, [0.0])[0] for file in files]
        columns[f"meaning_{part}_3"] = [_mean(near.get(file.id, [])[:3]) for file in files]
    held = [found.by_file.get(file.id, _NOTHING_DEFINED) for file in files]
    for where in _NAMED:
        columns[f"defines_{where}"] = [each.best(where) for each in held]
    columns["mentioned"] = [found.mentioned.get(file.id, 0.0) for file in files]
    columns["traced"] = [found.traced.get(file.id, 0.0) for file in files]
    return columns


@dataclass(slots=True)
class _Languages:
    """How many source files a project has in each language, counted once per generation."""

    counts: Counter[str] | None = None

    def of(self, snapshot: Snapshot) -> Counter[str]:
        if self.counts is None:
            code = (file for file in snapshot.files.files if file.corpus == Corpus.CODE)
            self.counts = Counter(file.language for file in code if role_of(file.path) is Role.SOURCE)
        return self.counts


def _role_signals(
    files: Sequence[StoredFile], languages: Counter[str], ordinary: Set[int]
) -> dict[str, list[float]]:
    """Return what each file is: its role, its size, and how much of the project is in its language.

    The role of `ordinary` files does not count: the report names them, or they were asked for.
    """
    roles = [
        Role.SOURCE if file.id in ordinary else role_of(file.path, is_data(file.language)) for file in files
    ]
    columns = {
        f"role_{role}": [float(each is role) for each in roles] for role in Role if role is not Role.SOURCE
    }
    total = max(1, languages.total())
    columns["language"] = [languages[file.language] / total for file in files]
    columns["size"] = [math.log1p(max(SMALL_BYTES, file.size)) for file in files]
    return columns


_SCALED = ("words_", "meaning_")


def _scaled(signals: Signals) -> Signals:
    """Divide scores by the best of the query, tests left out: reports differ in length and in words."""
    rows = signals.rows
    if len(rows):
        source = rows[:, signals.columns.index("role_test")] == 0
        for at, name in enumerate(signals.columns):
            if name.startswith(_SCALED):
                top = rows[source, at].max() if source.any() else rows[:, at].max()
                rows[:, at] /= top if top > 0 else 1.0
    return signals


def _path_signals(files: Sequence[StoredFile], found: _Found) -> dict[str, list[float]]:
    """Return how much of each path the report repeats."""
    report = found.report
    in_text = {word.lower() for word in words(found.text)}
    topic = tuple(dict.fromkeys(word for word in parts(report.title) if word not in STOP_WORDS))
    about = set(parts("\n".join((report.title, *report.prose)))) - STOP_WORDS
    modules = qualifiers(report.names)
    columns: dict[str, list[float]] = defaultdict(list)
    for file in files:
        path = PurePosixPath(file.path).with_suffix("")
        stem = path.name.lower().strip("_")
        name, folder = parts(path.name), parts(path.parent.name)
        folders = [each.lower() for each in path.parent.parts]
        columns["path_title"].append(path_share(topic, name, folder) if topic else 0.0)
        columns["stem_text"].append(float(stem in in_text))
        columns["stem_words"].append(sum(word in about for word in name) / max(1, len(name)))
        columns["folders_text"].append(sum(each in in_text for each in folders[-2:]) / 2)
        columns["module"].append(named_depth([*folders, path.name.lower()], modules))
        columns["package_file"].append(float(path.name in _PACKAGE_FILES))
    return columns


def _history_signals(files: Sequence[StoredFile], history: History) -> dict[str, list[float]]:
    last: dict[str, int] = {}
    changes: Counter[str] = Counter()
    for age, paths in enumerate(history[:COMMITS]):
        for path in paths:
            last.setdefault(path, age)
        changes.update(paths)
    return {
        "recent": [1 / (1 + last[file.path] / RECENT) if file.path in last else 0.0 for file in files],
        "changes": [math.log1p(changes[file.path]) for file in files],
    }


def _commit_signal(files: Sequence[StoredFile], found: _Found, commits: CommitStore | None) -> list[float]:
    """Return what the best commit that changed each file says about the title, by its message and age."""
    best: dict[str, float] = defaultdict(float)
    vector, scale = found.vectors.get("title", _NO_VECTOR)
    for near in near_changes(commits, vector, scale, {file.path for file in files}):
        path = near.change.path
        best[path] = max(best[path], near.worth / (1 + near.age / FADING))
    return [best.get(file.path, 0.0) for file in files]


def _sorted_per_file(scores: Scores) -> dict[int, list[float]]:
    found: dict[int, list[float]] = defaultdict(list)
    for number, score in scores.items():
        found[number >> ORDINAL_BITS].append(score)
    return {file: sorted(values, reverse=True) for file, values in found.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def passage_signals(
    snapshot: Snapshot, evidence: Evidence, files: Iterable[StoredFile]
) -> tuple[list[int], Signals]:
    """Return the chunks of some of the files, by number, and what speaks for each of them."""
    found = evidence.found
    extents = snapshot.chunks.extents(_numbers(files))
    chunks = sorted(extents)
    searched = {f"words_{part}": scores for part, scores in found.words.items()}
    searched |= {f"meaning_{part}": evidence.likeness.get(part, {}) for part in _MEANING}
    columns: dict[str, list[float]] = {}
    for name, scores in searched.items():
        top = max(scores.values(), default=0.0)
        share = 1 / top if top > 0 else 0.0
        columns[name] = [scores.get(number, 0.0) * share for number in chunks]
    for where in _NAMED:
        columns[f"defines_{where}"] = [_best(found.by_chunk.get(number), where) for number in chunks]
    lines = defaultdict(list)
    for file, first, last in found.lines:
        lines[file].append((first, last))
    topic = set(parts(found.report.title)) - STOP_WORDS
    spans = [extents[number] for number in chunks]
    columns["traced"] = [
        float(any(a <= span.end_line and span.start_line <= b for a, b in lines.get(n >> ORDINAL_BITS, ())))
        for n, span in zip(chunks, spans, strict=True)
    ]
    columns["lines"] = [math.log1p(span.end_line - span.start_line) for span in spans]
    columns["name_title"] = [_share(span.names, topic) if span.names else 0.0 for span in spans]
    columns["first"] = [float(number & OUTLINE_ORDINAL == 0) for number in chunks]
    for kind in _KINDS:
        columns[f"kind_{kind}"] = [float(span.kind == kind) for span in spans]
    return chunks, Signals.of(columns, len(chunks))


def _best(defined: _Defined | None, where: Where) -> float:
    return defined.best(where) if defined else 0.0


def _share(names: str, topic: set[str]) -> float:
    """Return how much of a title the names of definitions repeat."""
    return len(topic.intersection(parts(names))) / len(topic) if topic else 0.0
