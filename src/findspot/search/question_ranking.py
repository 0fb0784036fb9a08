"""Ranks the answer to a question about how a behaviour comes about: a sentence, not a topic.

Such a question shares few words with the code that answers it, and hardly any with its names. What each
signal is worth was fitted on questions about many projects (`training/rank_questions.py`), and on no
evaluation set: `question_weights.json` has one number per signal.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.core.model import Corpus, IncludeTests
from findspot.history.commit_store import CommitStore
from findspot.rank.candidate_pool import Column, LeadingCommits, Pool
from findspot.rank.roles import ASKS_FOR_TESTS, Role
from findspot.search.commit_evidence import near_changes
from findspot.search.file_traits import traits_of
from findspot.search.questions import Question
from findspot.search.report_evidence import Signals
from findspot.search.report_ranking import LEAST_NEAR, LinearModel, read_weights
from findspot.search.retrieve import Candidates
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL, last_name, lines_of
from findspot.store.snapshot import Snapshot
from findspot.store.vector_segments import Mask, Numbers
from findspot.text.tokens import parts, stem, word_tokens

MOST_CANDIDATES = 160
MOST_TESTS = 30
MOST_NAMESAKES = 3
LEAST_OF_A_NAME = 4
"""Characters: shorter names are words of every text."""

NOT_SOURCE = 1.0
"""What tests, examples and data are behind source, of two, when candidates are chosen."""

EVENNESS = 0.08
"""Chances fall steeply. Raised to this power, they are shares of the best one as other rankings have them."""

FILE_EVENNESS = 0.1
"""The same for the chances of whole files, beside what rules say of them."""
_LEAST_SHARE = 1e-4

LEADS_FROM = 0.25
"""A commit whose message is worth so much beside the nearest one's is named with what it led to."""

NAMED = 4.0
"""How much likelier a passage is whose definition is named with all words of a short question. The questions
that weights are fitted on avoid such names, so it is set by hand."""

PLACED_FILES = 20
"""Files whose passages are compared for a short question: the results are in the first of them."""

CHANCE_BIAS, CHANCE_SLOPE = 1.40, 1.49
"""Of a logistic function: how likely a first result is right, by the logarithm of its chance. Fitted with
whole projects left out."""

BELONGS_BIAS = 6.67
BELONGS = {"cosine": 5.3, "words": 1.3}
"""Whether a project answers a question at all, by the logarithms of how near its best passages come. Fitted
on questions about their own project, and the same about another one."""

_BEGINNING = 3
"""Characters that a word and its stem have in common."""

_ROLES = tuple(Role)
_SOURCE, _TEST = _ROLES.index(Role.SOURCE), _ROLES.index(Role.TEST)
_TEST_IN_A_NAME = re.compile(r"tests?|spec")
_KINDS = (
    "function", "method", "class", "import", "block", "constant", "field", "interface", "struct", "module",
    "impl", "type", "enum",
)  # fmt: skip


def rank_question(
    snapshot: Snapshot, question: Question, candidates: Candidates, commits: CommitStore | None
) -> tuple[Pool, float]:
    """Return the likeliest candidates, each with its chance to be the place that answers, and how likely the
    project answers the question at all.
    """
    looked_at = question_signals(snapshot, question, candidates, commits)
    numbers, signals = looked_at.numbers, looked_at.signals
    model = load_weights()
    scores = model.scores(signals)
    chances = np.exp(scores - scores.max(initial=-np.inf))
    chances /= chances.sum() or 1.0
    rows = np.searchsorted(candidates.numbers, numbers)
    found = candidates.keyword[rows], candidates.cosine[rows]
    pool = Pool(numbers, numbers >> ORDINAL_BITS, snapshot.files.path_of, found)
    pool.keyword[:] = np.nan_to_num(pool.words)
    pool.fused[:] = chances**EVENNESS
    pool.chances = [_probability(CHANCE_BIAS + CHANCE_SLOPE * math.log(each)) for each in chances.tolist()]
    pool.places_chosen, pool.leading_commits = True, looked_at.leading_commits
    if question.query.explain:
        pool.learned = {
            number: {"chance": round(chance, 4)} | model.contributions(signals, row, "")
            for row, (number, chance) in enumerate(zip(numbers.tolist(), pool.chances, strict=True))
        }
    near = nearness(question, candidates)
    logit = BELONGS_BIAS + sum(weight * math.log(near[name]) for name, weight in BELONGS.items())
    return pool, _probability(logit)


def choose_places(
    snapshot: Snapshot, pool: Pool, question: Question, candidates: Candidates, commits: CommitStore | None
) -> None:
    """Let each passage count like the best one of its file, and less if another is likelier to answer.

    The names and paths in a short question tell its file, and little of the place in it. What a model finds
    in the passages of a file together speaks for the file, too.
    """
    own = pool.score
    if not own.size:
        return
    best = np.maximum.reduceat(own, pool.starts)
    first = np.argsort(-best, kind="stable")[:PLACED_FILES]
    rows = np.flatnonzero(np.isin(pool.homes, first))
    looked_at = question_signals(snapshot, question, candidates, commits, rows)
    scores = load_weights().scores(looked_at.signals) + NAMED * _named(question, looked_at.names)
    homes = pool.homes[rows]
    mass = np.bincount(homes, np.exp(scores - scores.max()), best.size)
    chances = np.maximum(mass / mass.sum(), _LEAST_SHARE)
    pool.file_chance[:] = np.log(chances)[pool.homes]
    best *= (chances / chances.max()) ** FILE_EVENNESS
    top = np.full(best.size, -np.inf)
    np.maximum.at(top, homes, scores)
    behind = np.full(own.size, (scores - top[homes]).min())
    behind[rows] = scores - top[homes]
    shares = np.exp(EVENNESS * behind)
    pool.place[:] = np.divide(best[pool.homes] * shares, own, out=np.ones(own.size), where=own > 0)
    pool.places_chosen, pool.leading_commits = True, looked_at.leading_commits


def _named(question: Question, names: Sequence[Sequence[str]]) -> Column:
    """Return 1 for each passage that defines something named with all words of the question."""
    asked = set(map(stem, question.topic))
    begun = {word[:_BEGINNING] for word in asked}

    def has_all(name: str) -> bool:
        return asked <= set(map(stem, parts(name)))

    def may_have(own: Sequence[str]) -> bool:
        lower = " ".join(own).lower()
        return all(word in lower for word in begun)

    named = (len(asked) > 1 and may_have(own) and any(map(has_all, own)) for own in names)
    return np.fromiter(named, np.float64, len(names))


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def nearness(question: Question, candidates: Candidates) -> dict[str, float]:
    """Return how near the best passages come to a question: by meaning, and by the words they hold."""
    telling = sum(question.term_weights.values()) or 1.0
    best = {
        "cosine": float(np.nan_to_num(candidates.cosine).max(initial=0.0)),
        "words": float(np.nan_to_num(candidates.keyword).max(initial=0.0)) / telling,
    }
    return {name: max(value, LEAST_NEAR) for name, value in best.items()}


@lru_cache(maxsize=1)
def load_weights() -> LinearModel:
    """Read the weights that come with the package."""
    return LinearModel(read_weights("question_weights.json")["weights"])


class LookedAt(NamedTuple):
    """Candidates that are looked at closely."""

    numbers: Numbers
    names: list[list[str]]
    """What each of them defines."""
    leading_commits: LeadingCommits
    signals: Signals


def question_signals(
    snapshot: Snapshot,
    question: Question,
    candidates: Candidates,
    commits: CommitStore | None,
    rows: NDArray[np.int64] | None = None,
) -> LookedAt:
    """Return the candidates worth a closer look, or those of these rows, and what speaks for each."""
    roles = _roles(snapshot, candidates.numbers, question)
    source = roles == _SOURCE
    worded, near = np.nan_to_num(candidates.keyword), np.nan_to_num(candidates.cosine)
    worded, meaning = worded / _top(worded, source), near / _top(near, source)
    rough = worded + meaning - NOT_SOURCE * ~source
    rough[np.isin(candidates.numbers, list(candidates.defining))] += 2.0
    order = np.argsort(-rough, kind="stable")
    tests = candidates.numbers[order[roles[order] == _TEST][:MOST_TESTS]]
    kept = np.sort(order[:MOST_CANDIDATES]) if rows is None else rows
    numbers, roles = candidates.numbers[kept], roles[kept]
    worded, meaning = worded[kept], meaning[kept]
    homes = numbers >> ORDINAL_BITS
    extents = snapshot.chunks.extents(numbers.tolist())
    spans = [extents[number] for number in numbers.tolist()]
    names = [[last_name(name) for name in lines_of(span.names)] for span in spans]
    weights, defined = question.term_weights, _defined(names)
    held = snapshot.keywords[Corpus.CODE].held_terms([*weights, *defined], numbers)
    worth = np.maximum((worded + meaning) / 2, 0.0) ** 3 * (roles == _SOURCE)
    columns: dict[str, Any] = {
        "words": worded,
        "meaning": meaning,
        "file_words": _words_of_files(held[:, : len(weights)], list(weights.values()), homes),
        "calls": _calls(held[:, len(weights) :], list(defined.values()), worth),
        "tested": _tested(snapshot, tests, homes),
        "found": np.log1p([float(count) for count in _counts(homes)]),
        "size": np.log1p([float(snapshot.files.by_id[home].size) for home in homes.tolist()]),
        "lines": np.log1p([float(span.end_line - span.start_line) for span in spans]),
        "first": numbers & OUTLINE_ORDINAL == 0,
    }
    by_file, by_definition, leading = _commits(snapshot, question, commits, homes, names)
    columns["commit_file"], columns["commit_definition"] = by_file, by_definition
    for role in _ROLES:
        if role is not Role.SOURCE:
            columns[f"role_{role}"] = roles == _ROLES.index(role)
    kinds = np.array([span.kind for span in spans])
    for kind in _KINDS:
        columns[f"kind_{kind}"] = kinds == kind
    return LookedAt(numbers, names, leading, Signals.of(columns, numbers.size))


def _roles(snapshot: Snapshot, numbers: Numbers, question: Question) -> NDArray[np.uint8]:
    """Return the place in `_ROLES` of each candidate's; what was asked for counts as source."""
    wants_tests = question.query.include_tests is IncludeTests.YES or ASKS_FOR_TESTS.search(question.text)
    homes, rows = np.unique(numbers >> ORDINAL_BITS, return_inverse=True)
    found = np.array([_ROLES.index(about.role) for about in traits_of(snapshot, homes.tolist())], np.uint8)
    if wants_tests:
        found[found == _TEST] = _SOURCE
    return found[rows]


def _top(values: Column, source: NDArray[np.bool_]) -> float:
    """Return the best value of source code, or of all where there is none."""
    return float(values[source].max(initial=0.0) or values.max(initial=0.0)) or 1.0


def _counts(homes: Numbers) -> list[int]:
    counts = Counter(homes.tolist())
    return [counts[home] for home in homes.tolist()]


def _words_of_files(held: Mask, weights: Sequence[float], homes: Numbers) -> Column:
    """Return how much of the question the candidates of each one's file say together.

    `homes` are in order, `held` says which words each candidate holds, `weights` what each of them tells.
    """
    if not homes.size:
        return np.empty(0)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(homes)) + 1))
    shares = np.logical_or.reduceat(held, starts, axis=0) @ np.array(weights) / (sum(weights) or 1.0)
    return np.repeat(shares, np.diff((*starts, homes.size)))


def _defined(names: Sequence[Sequence[str]]) -> dict[str, set[int]]:
    """Return the names that candidates define, each with their rows; those that many define say nothing."""
    defined: dict[str, set[int]] = defaultdict(set)
    for row, own in enumerate(names):
        for name in own:
            for written in word_tokens(name)[:1] if len(name) >= LEAST_OF_A_NAME else ():
                defined[written].add(row)
    return {name: rows for name, rows in defined.items() if len(rows) <= MOST_NAMESAKES}


def _calls(held: Mask, defined: Sequence[set[int]], worth: Column) -> Column:
    """Return what the candidates are worth that each one names; `held` says which names it holds."""
    defining = np.zeros(held.shape, np.bool_)
    pairs = [(row, column) for column, rows in enumerate(defined) for row in rows]
    defining[tuple(zip(*pairs, strict=True)) or ([], [])] = True
    named = held & ~defining & (worth > 0)[:, np.newaxis]
    return np.log1p(named @ (worth @ defining))


def _tested(snapshot: Snapshot, tests: Numbers, homes: Numbers) -> list[float]:
    """Return how early tests are found that are named after each candidate's file."""
    early: dict[str, float] = defaultdict(float)
    for place, home in enumerate((tests >> ORDINAL_BITS).tolist()):
        early[_subject(snapshot.files.path_of[home])] += 1 / (1 + place)
    return [math.log1p(early.get(_subject(snapshot.files.path_of[home]), 0.0)) for home in homes.tolist()]


@lru_cache(maxsize=4096)
def _subject(path: str) -> str:
    """Return what a file is named after: `store` for `store.py` and for `test_store.py`."""
    return _TEST_IN_A_NAME.sub("", path.rpartition("/")[2].partition(".")[0].lower()).strip("_-")


def _commits(
    snapshot: Snapshot,
    question: Question,
    commits: CommitStore | None,
    homes: Numbers,
    names: Sequence[Sequence[str]],
) -> tuple[list[float], list[float], LeadingCommits]:
    """Return what the messages of commits that changed a file, and a definition, say about the question,
    and by file and definition the commit that says the most.
    """
    paths = [snapshot.files.path_of[home] for home in homes.tolist()]
    files: dict[str, float] = defaultdict(float)
    definitions: dict[tuple[str, str], float] = defaultdict(float)
    best: dict[tuple[str, str], tuple[float, int]] = {}
    for near in near_changes(commits, question.vector, question.scale, set(paths)):
        files[near.change.path] += near.worth
        for name in near.change.names:
            key = near.change.path, last_name(name).lower()
            definitions[key] += near.worth
            if near.worth >= LEADS_FROM:
                best[key] = max(best.get(key, (0.0, 0)), (near.worth, near.number))
    by_name = (
        max((definitions[path, name.lower()] for name in defined), default=0.0) if path in files else 0.0
        for path, defined in zip(paths, names, strict=True)
    )
    leading = {key: number for key, (_, number) in best.items()}
    by_file = [math.log1p(files.get(path, 0.0)) for path in paths]
    return by_file, [math.log1p(worth) for worth in by_name], leading
