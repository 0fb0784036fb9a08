"""Search with help: the query expanded by related words, the results summed up in a few sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from findspot.core.errors import LanguageModelError
from findspot.core.model import (
    Assistance,
    CodeReference,
    Corpus,
    Expansion,
    Hit,
    Mode,
    Query,
    Results,
    Synthesis,
)
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.llm import LanguageModel, ask, clipped, clipped_list
from findspot.search.questions import asks_model
from findspot.search.reader import IndexReader
from findspot.store.keywords import KeywordReader
from findspot.text.bm25 import lucene_idf
from findspot.text.snippet import shorten
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
    keywords, hits = reader.snapshot.keywords[query.corpus], reader.search(query).hits[:READ_HITS]
    if not hits:
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


MOST_REFERENCES = 5
MOST_FOLLOW_UPS = 3

_PASSAGE_CHARS = 1_500
_LINE_CHARS = 200
_SUMMARY_CHARS = 1_500
_SYNTHESIS_TOKENS = 900

_TYPES = frozenset({"class", "interface", "protocol", "trait", "struct", "enum", "type"})

_SYNTHESIS_TASK = (
    "You explain what a code search found. From the question and the numbered passages, and from nothing "
    "else, write: summary (a few sentences that answer the question), references (numbers of the passages "
    'that it stands on), followUps (at most three questions). {"summary": "…", "references": [1], '
    '"followUps": ["…"]}'
)


def synthesize_by_model(model: LanguageModel, query: str, hits: Sequence[Hit]) -> Synthesis:
    """Return what a language model makes of the results; raises `LanguageModelError`."""
    read = hits[:READ_HITS]
    excerpts = (shorten(h.text, _line(h) - h.span.start, _PASSAGE_CHARS, h.focus_column) for h in read)
    passages = "\n\n".join(
        f"[{number}] {hit.path}:{hit.span.start}-{hit.span.end}\n{excerpt}"
        for number, (hit, excerpt) in enumerate(zip(read, excerpts, strict=True), 1)
    )
    answer, made_by = ask(
        model, _SYNTHESIS_TASK, f"Question: {query[:_QUERY_CHARS]}\n\n{passages}", _SYNTHESIS_TOKENS
    )
    summary = clipped(answer.get("summary"), _SUMMARY_CHARS)
    if not summary:
        raise LanguageModelError(f"{model.name}: its answer has no summary")
    return Synthesis(
        summary,
        tuple(map(_reference_to, _named(answer.get("references"), read))),
        clipped_list(answer.get("followUps"), MOST_FOLLOW_UPS, _LINE_CHARS),
        made_by,
    )


def synthesize_from_hits(hits: Sequence[Hit]) -> Synthesis:
    """Return the best results, described by their names and lines."""
    if not hits:
        return Synthesis("Nothing in the index answers this.", (), ())
    best = hits[:MOST_REFERENCES]
    files = list(dict.fromkeys(hit.path for hit in hits))
    where = ", ".join(f"{_symbol(hit) or hit.kind} ({hit.path}:{_line(hit)})" for hit in best[:3])
    counted = f"{len(hits)} passage{'s' * (len(hits) > 1)} in {len(files)} file{'s' * (len(files) > 1)}"
    return Synthesis(
        f"{counted}; the best: {where}.",
        tuple(map(_reference_to, best)),
        tuple(dict.fromkeys(_follow_ups(best)))[:MOST_FOLLOW_UPS],
    )


def _reference_to(hit: Hit) -> CodeReference:
    """Return the line of a result that matches best."""
    return CodeReference(hit.path, _line(hit), _line_text(hit)[:_LINE_CHARS], _symbol(hit))


def _line(hit: Hit) -> int:
    last = hit.span.start + hit.text.count("\n")
    return min(max(hit.focus or hit.span.start, hit.span.start), last)


def _line_text(hit: Hit) -> str:
    return hit.text.split("\n")[_line(hit) - hit.span.start].strip()


def _symbol(hit: Hit) -> str | None:
    """Return what the best line is about: a name that it holds, else the passage's own."""
    held = words(_line_text(hit))
    here = (name for name in hit.symbols if name in held)
    return next(here, None) or hit.breadcrumb or (hit.symbols[0] if hit.symbols else None)


def _follow_ups(hits: Sequence[Hit]) -> Iterator[str]:
    """Questions that `code_research` answers."""
    for hit in hits:
        name = (_symbol(hit) or "").rpartition(".")[2]
        if name.isidentifier() and hit.language and hit.symbols:
            yield f"all implementations of {name}" if hit.kind in _TYPES else f"what calls {name}()"


def _named(numbers: object, read: Sequence[Hit]) -> list[Hit]:
    """Return the passages that an answer names by number; without any, the first ones it was given."""
    given = numbers if isinstance(numbers, list) else []
    valid = [n for n in given if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= len(read)]
    return [read[number - 1] for number in dict.fromkeys(valid)] or list(read[:MOST_FOLLOW_UPS])
