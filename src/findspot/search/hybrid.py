"""Search: the flow from a query to ranked answers, in one function."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from findspot.core.errors import IndexCorruptError
from findspot.core.git import History
from findspot.core.model import Corpus, Hit, IncludeTests, Mode, Query, Results
from findspot.embed.embedder import Embedder
from findspot.history.commit_log import Commit
from findspot.history.commit_store import CommitStore
from findspot.rank import candidate_pool, signals
from findspot.rank.calibration import FITTED_MODEL, recipe_for
from findspot.rank.candidate_pool import LeadingCommits, Pool
from findspot.rank.intent import Intent
from findspot.rank.roles import ASKS_FOR_EXAMPLES, ASKS_FOR_TESTS, Role, declares_only
from findspot.rank.wording import Wording
from findspot.search.file_traits import Traits, stem_of, traits_of
from findspot.search.hits import grouped, to_hits
from findspot.search.query_filters import allowed_files, nothing_to_search
from findspot.search.question_ranking import choose_places, rank_question
from findspot.search.questions import Question, is_sentence, understand
from findspot.search.report_ranking import rank_report
from findspot.search.retrieve import Candidates, find_candidates
from findspot.store.derived import Selection
from findspot.store.records import ORDINAL_BITS, last_name
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import parts, tokens


def search(
    snapshot: Snapshot,
    embedder: Embedder | None,
    query: Query,
    history: Callable[[], History] = tuple,
    commits: CommitStore | None = None,
) -> Results:
    """intent → retrieve → fuse → boost → penalise → diversify → cut → explain.

    Reports, and questions in whole sentences, are ranked by fitted models instead. `history` returns what the
    last commits changed; only reports ask for it. `commits` has what their messages say.
    """
    started = time.perf_counter()
    question = understand(snapshot, embedder, query)
    files = allowed_files(snapshot, query)
    belongs = None
    is_fitted = _may_rank_fitted(snapshot, embedder, question)
    if is_fitted and question.reading.is_long:
        pool, belongs = rank_report(snapshot, embedder, question, files, history=history(), commits=commits)
    elif is_fitted and is_sentence(question.text, question.reading):
        pool, belongs = _ranked_by_chance(snapshot, question, files, commits)
    else:
        pool = _ranked(snapshot, question, files, commits, is_fitted=is_fitted)
    ranking = pool.ranked()
    shown, total = grouped(snapshot, ranking, question)
    fitted = embedder is None or embedder.id == FITTED_MODEL
    meaning = fitted and bool(question.vector.any())
    recipe = recipe_for(query.corpus, words=question.weight < 1, meaning=meaning)
    hits, nothing_fits, nearness = to_hits(snapshot, shown, ranking, question, recipe, belongs=belongs)
    first = hits[:SHOWN_WITH_COMMIT]
    hits[:SHOWN_WITH_COMMIT] = _with_leading_commits(first, pool.leading_commits, commits)
    return Results(
        query=query.text,
        mode=query.mode,
        hits=tuple(hits),
        total=total,
        offset=query.offset,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warning=question.warning if files.files else nothing_to_search(snapshot, query),
        nothing_fits=nothing_fits,
        nearness=nearness,
        word_shares=question.word_shares,
    )


SHOWN_WITH_COMMIT = 2
"""Hits that name the commit that led to them: those that an answer shows with their code."""


def _with_leading_commits(
    hits: Sequence[Hit], leading: LeadingCommits, commits: CommitStore | None
) -> Iterator[Hit]:
    """Yield hits, each with the commit whose message led to it."""
    keys = [(hit.path, last_name(hit.symbol or "").lower()) for hit in hits]
    numbers = sorted({leading[key] for key in keys if key in leading})
    found: dict[int, Commit] = {}
    with contextlib.suppress(IndexCorruptError):  # it is read again with the next question about history
        found = commits.commits(numbers) if commits is not None and numbers else {}
    for hit, key in zip(hits, keys, strict=True):
        commit = found.get(leading.get(key, -1))
        yield replace(hit, via=f'{commit.hash[:9]} "{commit.subject}"') if commit else hit


def _may_rank_fitted(snapshot: Snapshot, embedder: Embedder | None, question: Question) -> bool:
    """Return whether a fitted model may rank a query: one about code, without special wishes.

    Their weights know the cosines of one embedding model alone.
    """
    query = question.query
    return (
        (embedder is None or embedder.id == FITTED_MODEL)
        and query.corpus is Corpus.CODE
        and query.mode is Mode.HYBRID
        and query.semantic_weight is None
        and query.similar_to is None
        and snapshot.keywords[Corpus.CODE].size > 0
    )


def _ranked_by_chance(
    snapshot: Snapshot, question: Question, files: Selection, commits: CommitStore | None
) -> tuple[Pool, float | None]:
    """Return the candidates of a sentence, by a fitted model, and how likely the project answers it.

    A pasted message is no sentence; what the sentence names is lifted as ever.
    """
    candidates = find_candidates(snapshot, question, files)
    pool, belongs = rank_question(snapshot, question, candidates, commits)
    boost_wording(snapshot, pool, question)
    if pool.wording.any():
        return _ranked(snapshot, question, files, commits, is_fitted=False), None
    boost_definitions(pool, replace(candidates, re_exporting=frozenset()), question)
    return pool, 1.0 if pool.defines.any() else belongs


def _ranked(
    snapshot: Snapshot, question: Question, files: Selection, commits: CommitStore | None, *, is_fitted: bool
) -> Pool:
    """Return the candidates of a short query, scored by rules.

    If `is_fitted`, a model chooses the places in files; not where the query is a name, names a definition or
    a file, was pasted, or asks for tests or examples.
    """
    candidates = find_candidates(snapshot, question, files)
    pool = fuse(snapshot, candidates, question)
    traits = traits_of(snapshot, pool.file_ids.tolist())
    boost_wording(snapshot, pool, question)
    if question.query.corpus is Corpus.CODE:
        boost_definitions(pool, candidates, question)
        boost_paths(pool, traits, question, signals.PATH_MATCH)
        boost_mentions(pool, candidates)
        wanted = _requested_roles(candidates, question)
        penalise(pool, traits, wanted)
        candidate_pool.add_coherence(pool)
        is_known = wanted or pool.wording.any() or pool.defines.any() or pool.mention.any()
        if is_fitted and question.reading.intent is not Intent.SYMBOL and not is_known:
            choose_places(snapshot, pool, question, candidates, commits)
    else:
        boost_headings(snapshot, pool, question)
        boost_paths(pool, traits, question, signals.DOCS_PATH_MATCH)
    candidate_pool.spread_files(pool, signals.PLACED_DECAY if pool.places_chosen else signals.SAME_FILE_DECAY)
    return pool


def fuse(snapshot: Snapshot, candidates: Candidates, question: Question) -> Pool:
    """Return one pool of candidates with keyword and semantic scores mixed."""
    numbers = candidates.numbers
    found = candidates.keyword, candidates.cosine
    pool = Pool(numbers, numbers >> ORDINAL_BITS, snapshot.files.path_of, found)
    candidate_pool.fuse(pool, question.weight)
    return pool


def boost_definitions(pool: Pool, candidates: Candidates, question: Question) -> None:
    """Lift the chunks that define what the query names, or at least hand it on."""
    for number in candidates.re_exporting:
        pool.defines[pool.row(number)] = signals.RE_EXPORTS_NAME
    names = question.reading.names
    alone = question.reading.intent is Intent.SYMBOL
    for number, definitions in candidates.defining.items():
        row = pool.row(number)
        stem = stem_of(pool.path(int(pool.homes[row])))
        for definition in definitions:
            whole = alone and definition.name == names[0].lower()
            weight = signals.DEFINES_NAME if whole else signals.DEFINES_NAME_IN_SENTENCE
            worth = weight * signals.definition_worth(definition.kind, definition.display, names)
            if worth > pool.defines[row]:
                pool.defines[row] = worth
                pool.stem[row] = signals.STEM_IS_NAME if signals.same_name(stem, definition.name) else 0.0


def boost_paths(pool: Pool, traits: Sequence[Traits], question: Question, weight: float) -> None:
    """Lift files whose name or folder says what the query asks about."""
    asked = signals.beginnings(question.topic)
    shares = np.zeros(pool.file_ids.size)
    for home, about in enumerate(traits):
        if not asked.isdisjoint(about.beginnings):
            shares[home] = weight * signals.path_share(question.topic, about.name, about.folder)
    pool.path_match = shares[pool.homes]


def boost_mentions(pool: Pool, candidates: Candidates) -> None:
    """Lift files that a report or a stack trace names."""
    if candidates.mentioned:
        named = np.isin(pool.file_ids, list(candidates.mentioned))
        pool.mention = np.where(named, signals.MENTIONED, 0.0)[pool.homes]


READ_FOR_WORDING = 12
"""Candidates whose text is compared with the query: those that hold most of its words. A long chunk that
holds a message may rank low by words, but it has them all."""


def boost_wording(snapshot: Snapshot, pool: Pool, question: Question) -> None:
    """Lift the chunks that hold the query word for word, as what a message was pasted from does."""
    reader = snapshot.keywords[question.query.corpus]
    wording = Wording(question.text)
    if not wording.is_message or question.weight == 1 or question.query.similar_to:
        return
    rows = np.flatnonzero(pool.keyword)
    held = reader.held_terms(list(dict.fromkeys(tokens(question.text))), pool.numbers[rows]).sum(1)
    rows = rows[np.lexsort((-pool.keyword[rows], -held))[:READ_FOR_WORDING]]
    for number, text in snapshot.chunks.texts(pool.numbers[rows].tolist()).items():
        pool.wording[pool.row(number)] = signals.WORDING * wording.share(text)


def boost_headings(snapshot: Snapshot, pool: Pool, question: Question) -> None:
    """Lift sections whose heading, or one above it, says what the query asks about."""
    for number, breadcrumb in snapshot.chunks.breadcrumbs(pool.numbers.tolist()).items():
        share = signals.heading_share(question.topic, parts(breadcrumb))
        pool.defines[pool.row(number)] = signals.HEADING_MATCH * share


def penalise(pool: Pool, traits: Sequence[Traits], stay: Collection[Role]) -> None:
    """Push down what usually is not the answer, unless the query asks for it."""
    paths = {about.path for about in traits}

    def factor(about: Traits) -> float:
        only_declares = about.role is Role.SOURCE and declares_only(about.path, paths)
        role = Role.DECLARATION if only_declares else about.role
        return 1.0 if role in stay else signals.ROLE_FACTOR[role]

    pool.role = np.array(list(map(factor, traits)))[pool.homes]


def _requested_roles(candidates: Candidates, question: Question) -> set[Role]:
    """Roles that the query asks for; tests too when they alone know the names it speaks of."""
    is_long = question.reading.is_long  # every report speaks of tests, and of names that are not ours
    asked = "" if is_long else question.text
    stay = set()
    named = candidates.only_tests and not is_long
    if question.query.include_tests is not IncludeTests.AUTO or named or ASKS_FOR_TESTS.search(asked):
        stay.add(Role.TEST)
    if ASKS_FOR_EXAMPLES.search(asked):
        stay.add(Role.EXAMPLE)
    return stay
