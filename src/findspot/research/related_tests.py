"""The tests that most likely notice a change: a weighted sum of a few signals, each with its reason."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from findspot.core.languages import language_of, row
from findspot.core.progress import CancelToken
from findspot.graph import Graph, Node
from findspot.graph.edges import FILE_KIND
from findspot.rank.roles import Role, is_collected, role_of
from findspot.research.changes import Change
from findspot.research.impact import impact_of
from findspot.store.keywords import KeywordReader
from findspot.store.records import ORDINAL_BITS
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import parts, tokens, word_tokens

CHANGED_OFTEN = "changed often"

_LARGE_COMMIT = 60
"""Files of a commit that says nothing about any two of them: a release, a move, a new style."""

_DEPTH = 3
_MOST_NAMES = 20
_MOST_PATHS = 50
_MOST_TERMS = 40
_MOST_CHARS = 50_000
_MOST_CHUNKS = 300
_CHUNKS_PER_FILE = 3
_INDEXES = frozenset({"init", "index", "mod", "lib", "main"})
_DATA = 0.4
"""Of what a name is worth, for files beside tests that are no code."""

MIRRORED = 0.7
"""The likeness of paths whose folders are the same but for the name of the tests' own."""

_MARKS = frozenset({"test", "tests", "testing", "spec", "specs", "unit", "it", "e2e"})
"""Words of a test's path that only say that it is one."""

WEIGHTS: dict[str, float] = {
    "itself": 10.0,
    "name": 2.0,
    "path": 2.0,
    "symbol": 1.0,
    "calls": 1.0,
    "reaches": 0.5,
    "imports": 0.8,
    "together": 2.2,
    "often": 1.4,
    "mentions": 1.2,
    "text": 2.2,
}
"""What each signal adds at its strongest: fitted on which tests 514 patches changed."""


@dataclass(slots=True)
class Candidate:
    """A test file with its signals, each from 0 to 1, and the reasons for them."""

    path: str
    signals: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    functions: dict[str, tuple[Node, str]] = field(default_factory=dict)
    """What in the file reaches what changed, the nearest first, and how."""

    def add(self, signal: str, value: float, reason: str = "") -> None:
        if value > self.signals.get(signal, 0.0):
            self.signals[signal] = min(1.0, value)
            if reason:
                self.reasons[signal] = reason

    @property
    def score(self) -> float:
        return sum(WEIGHTS[signal] * value for signal, value in self.signals.items())

    @property
    def reaches(self) -> bool:
        """Whether it has to do with the code itself, and not only with its name or its history."""
        return not self.signals.keys().isdisjoint(_OF_CODE)

    @property
    def why(self) -> list[str]:
        """The reasons, those that count most first."""
        ordered = sorted(
            self.reasons, key=lambda each: (each not in _OF_CODE, -WEIGHTS[each] * self.signals[each])
        )
        return [self.reasons[signal] for signal in ordered]


_OF_CODE = frozenset({"itself", "calls", "reaches", "imports", "mentions"})
ENOUGH = 10
"""Tests; behind these, a likeness of names or a shared history is noise."""

_NO_TESTS = re.compile(r"(?:.*/)?(?:\.github|\.circleci|docs?)/")
"""Folders whose files speak of tests, and are none."""


def rank_tests(
    snapshot: Snapshot,
    graph: Graph,
    change: Change,
    history: Sequence[Sequence[str]],
    cancel: CancelToken | None = None,
) -> list[Candidate]:
    """Return the test files that a change may concern, the likeliest first; helpers come after tests."""
    files = (file.path for file in snapshot.files.files if role_of(file.path) is Role.TEST)
    paths = [path for path in files if not _NO_TESTS.match(path)]
    candidates = {path: Candidate(path) for path in paths}
    for path in candidates.keys() & set(change.paths):
        candidates[path].add("itself", 1.0, "is changed itself")
    _compare_names(candidates, change)
    _follow_graph(candidates, graph, change, cancel)
    _follow_imports(candidates, graph, change)
    _read_history(candidates, change, history)
    _search_text(candidates, snapshot, change)
    ranked = sorted(
        (each for each in candidates.values() if each.score > 0),
        key=lambda each: (not is_collected(each.path), not each.reaches, -each.score, each.path),
    )
    return [each for place, each in enumerate(ranked) if place < ENOUGH or each.reaches]


def _words(text: str) -> tuple[str, ...]:
    return tuple(part for part in parts(text) if part not in _MARKS)


@lru_cache(maxsize=50_000)
def _path_words(path: str) -> tuple[frozenset[str], frozenset[str], str]:
    """Return the words of a path, those of its module's name, and these as one word."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    own = _words(folder.rpartition("/")[2] if stem.strip("_") in _INDEXES else stem)
    return frozenset(_words(f"{folder} {stem}")), frozenset(own), "".join(own)


@lru_cache(maxsize=50_000)
def _mirrored(path: str) -> str:
    """Return the folder of a test without the parts that only say that it is one."""
    return "/".join(part for part in path.split("/")[:-1] if part.lower() not in _MARKS)


def _compare_names(candidates: Mapping[str, Candidate], change: Change) -> None:
    """Compare the names of tests with those of the changed files and definitions."""
    frequency = Counter(word for path in candidates for word in _path_words(path)[0])
    rarity = {word: math.log((len(candidates) + 1) / (1 + n)) + 0.1 for word, n in frequency.items()}
    unseen = math.log(len(candidates) + 1) + 0.1

    def weight(words: Iterable[str]) -> float:
        return sum(rarity.get(word, unseen) for word in words)

    names = dict.fromkeys(n for node in _defined(change) for n in (node.name, node.qualified.split(".")[0]))
    symbols = {"".join(_words(name)): name for name in names}
    for path, candidate in candidates.items():
        words, _, joined = _path_words(path)
        worth = 1.0 if row(language_of(path)).grammar else _DATA
        for changed in change.paths[:_MOST_PATHS]:
            others = _path_words(changed)[0]
            shared = weight(words & others)
            likeness = worth * shared / weight(words | others) if shared else 0.0
            candidate.add("path", likeness, f"path like {changed}")
            _compare_paths(candidate, changed, worth)
        if joined and joined in symbols:
            candidate.add("symbol", worth, f"named like {symbols[joined]}")


def _defined(change: Change) -> list[Node]:
    """Return the changed definitions, and those that are gone."""
    return [node for node in (*change.nodes, *change.gone) if node.kind != FILE_KIND]


def _compare_paths(candidate: Candidate, changed: str, worth: float) -> None:
    """Compare the path of a test with that of a changed file."""
    words, _, joined = _path_words(candidate.path)
    others, own, joined_other = _path_words(changed)
    folder = _mirrored(candidate.path)
    if folder and changed.rpartition("/")[0].endswith(folder):
        candidate.add("path", MIRRORED * worth, f"its folder mirrors that of {changed}")
    if joined and joined == joined_other:
        candidate.add("name", worth, f"named like {changed}")
    elif own and own <= words:
        candidate.add("name", 0.6 * worth, f"named like {changed}")
    elif joined and joined in others:
        candidate.add("name", 0.5 * worth, f"named like a folder of {changed}")


def _follow_graph(
    candidates: Mapping[str, Candidate], graph: Graph, change: Change, cancel: CancelToken | None
) -> None:
    """Look for tests that call what changed, or something that leads to it."""
    near: dict[str, float] = defaultdict(float)
    far: dict[str, float] = defaultdict(float)
    subjects = [node for node in change.nodes if role_of(node.path) is not Role.TEST]
    for affected in impact_of(graph, subjects, _DEPTH, cancel=cancel).affected:
        candidate = candidates.get(affected.node.path)
        if candidate is None:
            continue
        direct = affected.distance == 1
        counts = near if direct else far
        counts[candidate.path] += affected.confidence * len(affected.edges) / affected.distance**2
        if affected.node.kind != FILE_KIND:
            target = affected.edges[0].target.qualified
            reason = f"uses {target}" if direct else f"reaches what changed through {target}"
            candidate.functions.setdefault(affected.node.id, (affected.node, reason))
            candidate.reasons.setdefault("calls" if direct else "reaches", reason)
    for signal, counts in (("calls", near), ("reaches", far)):
        _spread(candidates, signal, counts)


def _spread(
    candidates: Mapping[str, Candidate], signal: str, values: Mapping[str, float], reason: str = ""
) -> None:
    """Set a signal from amounts: the largest is 1, and half as much is more than half."""
    most = max(values.values(), default=0.0)
    for path, value in values.items():
        if path in candidates and most > 0:
            candidates[path].add(signal, math.log1p(value) / math.log1p(most), reason)


def _follow_imports(candidates: Mapping[str, Candidate], graph: Graph, change: Change) -> None:
    """Look for tests that import a changed file."""
    for changed in change.paths[:_MOST_PATHS]:
        tests = {edge.source.path for edge in graph.importers(changed)} & candidates.keys()
        for path in tests:
            candidates[path].add("imports", 1 / math.sqrt(len(tests)), f"imports {changed}")


def _read_history(
    candidates: Mapping[str, Candidate], change: Change, history: Sequence[Sequence[str]]
) -> None:
    """Look for tests that were committed together with the changed files, or are changed often."""
    changed = set(change.paths)
    together: dict[str, float] = defaultdict(float)
    times: Counter[str] = Counter()
    often: dict[str, float] = defaultdict(float)
    total = 0.5
    for paths in history:
        if not 0 < len(paths) <= _LARGE_COMMIT:
            continue
        weight = 1 / math.log2(1 + len(paths))
        tests = [path for path in paths if path in candidates]
        for path in tests:
            often[path] += weight
        if not changed.isdisjoint(paths):
            total += weight
            for path in tests:
                together[path] += weight
                times[path] += 1
    for path, value in together.items():
        count = "once" if times[path] == 1 else f"{times[path]} times"
        candidates[path].add("together", value / total, f"changed together {count}")
    _spread(candidates, "often", often, CHANGED_OFTEN)


def _search_text(candidates: Mapping[str, Candidate], snapshot: Snapshot, change: Change) -> None:
    """Look for tests that mention the changed names, or have words of the changed lines."""
    ids = [snapshot.files.by_path[path] for path in candidates]
    names = list(dict.fromkeys(node.name for node in _defined(change)))[:_MOST_NAMES]
    words = Counter(tokens("\n".join(file.text for file in change.files)[:_MOST_CHARS]))
    for reader in snapshot.keywords.values() if ids else ():
        mentioned: dict[str, float] = defaultdict(float)
        for name in names:
            found = _best_chunks(snapshot, reader, dict.fromkeys(word_tokens(name)[:1], 1.0), ids)
            for path, score in found.items():
                mentioned[path] += score
                if path in candidates:
                    candidates[path].reasons.setdefault("mentions", f"mentions {name}")
        rare = sorted(words, key=lambda word: -_rarity(reader, word) * math.log1p(words[word]))
        terms = [word for word in rare[: 2 * _MOST_TERMS] if reader.document_frequency(word)][:_MOST_TERMS]
        found = _best_chunks(snapshot, reader, dict.fromkeys(terms, 1.0), ids)
        for signal, scores in (("mentions", mentioned), ("text", found)):
            most = max(scores.values(), default=0.0)
            for path in scores.keys() & candidates.keys():
                reason = "has words of the changed lines" if signal == "text" else ""
                candidates[path].add(signal, scores[path] / most if most > 0 else 0.0, reason)


def _rarity(reader: KeywordReader, word: str) -> float:
    return math.log(1 + reader.size / (1 + reader.document_frequency(word)))


def _best_chunks(
    snapshot: Snapshot, reader: KeywordReader, terms: Mapping[str, float], ids: Sequence[int]
) -> dict[str, float]:
    """Return, for each file, the sum of the scores of its best chunks."""
    scores: dict[str, list[float]] = defaultdict(list)
    for number, score in reader.search(terms, _MOST_CHUNKS, ids) if terms else ():
        file = snapshot.files.by_id.get(number >> ORDINAL_BITS)
        if file is not None and len(scores[file.path]) < _CHUNKS_PER_FILE:
            scores[file.path].append(score)
    return {path: sum(values) for path, values in scores.items()}
