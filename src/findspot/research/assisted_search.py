"""Search with help: the query expanded by related words, the results summed up in a few sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from findspot.core.errors import LanguageModelError
from findspot.core.model import Assistance, Corpus, Expansion, Hit, Mode, Query, Results, Synthesis
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.llm import LanguageModel, ask, clipped_list
from findspot.research.synthesis import synthesize_by_model, synthesize_from_hits
from findspot.search.questions import asks_model
from findspot.search.reader import IndexReader
from findspot.store.keywords import KeywordReader
from findspot.text.bm25 import lucene_idf
from findspot.text.tokens import STOP_WORDS, parts, stem, words


def assisted_search(
    open_reader: Callable[[], AbstractContextManager[IndexReader]],
    query: Query,
    wanted: Assistance,
    model: LanguageModel | None,
) -> Results:
    """Expand the query, search, and sum up the results, as far as `wanted`.

    Both searches of an expansion read the same snapshot. It is not open while a language model is asked.
    Where the model fails, the index does the work and the answer says so.
    """
    warnings: list[str] = []
    expands = wanted.expand and _can_expand(query)
    expansion = _expand_by_model(model, query, warnings) if expands else None
    with open_reader() as reader:
        if expands and expansion is None:
            expansion = expand_from_index(reader, query)
        results = reader.search(replace(query, also=expansion.terms) if expansion else query)
    synthesis = _synthesize(results, model, warnings) if wanted.synthesize else None
    warning = " ".join(filter(None, (results.warning, *dict.fromkeys(warnings)))) or None
    return replace(results, expansion=expansion, synthesis=synthesis, warning=warning)


def _can_expand(query: Query) -> bool:
    return bool(query.text.strip()) and query.mode is not Mode.REGEX and query.similar_to is None


def _expand_by_model(model: LanguageModel | None, query: Query, warnings: list[str]) -> Expansion | None:
    if model is None:
        return None
    try:
        return expand_by_model(model, query)
    except LanguageModelError as error:
        warnings.append(f"{error.user_message}. The query was expanded from the index instead.")
        return None


def _synthesize(results: Results, model: LanguageModel | None, warnings: list[str]) -> Synthesis:
    if model is not None and results.hits:
        try:
            return synthesize_by_model(model, results.query, results.hits)
        except LanguageModelError as error:
            warnings.append(f"{error.user_message}. The synthesis is drawn from the results instead.")
    return synthesize_from_hits(results.hits)


READ_HITS = 8
"""Answers whose words are looked at: further down they speak of other things."""

MOST_WORDS = 6
MOST_NAMES = 3
MOST_TERMS = 12
"""Of a model's; more would outweigh the query."""

COMMON_SHARE = 0.2
"""A word in every fifth chunk tells nothing apart."""

MIN_NEARNESS = 0.2
"""Cosine to the query: below it are words that merely stand beside the answer, such as `each` or `left`."""

CANDIDATES = 60
_MIN_CHARS, _MAX_CHARS = 3, 40
_ANSWER_TOKENS = 300
_QUERY_CHARS = 2_000

_TASK = (
    "You expand queries of a code search engine. Give at most ten words or short names that code about this "
    'would hold and the query lacks: synonyms, related concepts, variations as identifiers. {"terms": ["…"]}'
)


def expand_by_model(model: LanguageModel, query: Query) -> Expansion:
    """Return what a language model adds; raises `LanguageModelError`."""
    answer, made_by = ask(model, _TASK, query.text[:_QUERY_CHARS], _ANSWER_TOKENS)
    found = clipped_list(answer.get("terms"), 99, _MAX_CHARS)
    new = [term for term in found if not _stems(term) <= _stems(query.text)]
    if not new:
        raise LanguageModelError(f"{model.name}: its answer adds no words")
    return Expansion(tuple(new[:MOST_TERMS]), made_by)


def expand_from_index(reader: IndexReader, query: Query) -> Expansion:
    """Return words and names that the first answers share with each other and that are near to the query."""
    known = _stems(query.text)
    keywords, hits = reader.snapshot.keywords.get(query.corpus), reader.search(query).hits[:READ_HITS]
    if keywords is None or not hits:
        return Expansion(())
    names = _alike_names(hits, known) if query.corpus is Corpus.CODE else []
    scored = _scored_words(keywords, hits, known)
    first = sorted(scored, key=lambda word: (-scored[word], word))[:CANDIDATES]
    if first and asks_model(query):
        near = _nearness(reader.open_model(), query.text, first)
        first = [word for word in first if near[word] >= MIN_NEARNESS]
        first.sort(key=lambda word: (-scored[word] * near[word] ** 2, word))
    return Expansion(tuple(dict.fromkeys([*first[:MOST_WORDS], *names])))


def _stems(text: str) -> set[str]:
    return {stem(part) for part in parts(text)}


def _alike_names(hits: Sequence[Hit], known: set[str]) -> list[str]:
    """Compound names that hold a word of the query: how this project spells it."""
    names = (name for hit in hits for name in hit.symbols)
    alike = [n for n in dict.fromkeys(names) if known & _stems(n) and not _stems(n) <= known]
    return [name for name in alike if len(name) <= _MAX_CHARS][:MOST_NAMES]


def _scored_words(reader: KeywordReader, hits: Sequence[Hit], known: set[str]) -> dict[str, float]:
    """Return new words by how rare they are and how many of the best answers hold them."""
    held: dict[str, float] = {}
    for place, hit in enumerate(hits):
        for word in {word for word in _words_of(hit) if stem(word) not in known}:
            held[word] = held.get(word, 0.0) + 1 / (place + 2)
    scored = {}
    for word, share in held.items():
        frequency = reader.document_frequency(stem(word))
        if 0 < frequency <= max(2, COMMON_SHARE * reader.size):
            scored[word] = share * lucene_idf(reader.size, frequency)
    return scored


def _words_of(hit: Hit) -> Iterator[str]:
    """Yield what a passage says of itself: its names and its documentation rather than its statements."""
    said = " ".join(filter(None, (hit.breadcrumb, hit.signature, hit.doc_comment, *hit.symbols)))
    for word in words(said if hit.symbols else f"{said} {hit.text}"):
        for part in parts(word):
            if _MIN_CHARS <= len(part) <= _MAX_CHARS and part.isalpha() and part not in STOP_WORDS:
                yield part


def _nearness(embedder: Embedder, text: str, candidates: Sequence[str]) -> dict[str, float]:
    """Return how near each word is to the query."""
    rows = embedder.embed([text, *candidates], EmbedMode.QUERY)
    return dict(zip(candidates, map(float, rows[1:] @ rows[0]), strict=True))
