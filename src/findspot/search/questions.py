"""A query made ready: read for its intent, cleaned, tokenised, weighed and embedded."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import FileNotIndexedError, InvalidArgumentError
from findspot.core.model import Corpus, Mode, Query
from findspot.embed.chunk_vectors import QuantisedVectors, quantise, unit
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.rank.intent import SEMANTIC_WEIGHT, Intent, Reading, read_query
from findspot.store.keywords import KeywordReader
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import STOP_WORDS, parts, tokens, word_parts, word_tokens, words

MAX_QUERY_CHARS = 20_000
"""A whole file may be pasted; what stands beyond this would not change the answer."""

MAX_TERMS = 48
"""A long text is searched by its most telling terms; the rest cost time and add noise."""

TITLE_WEIGHT = 2.0
"""A report's first line says what it is about; what follows holds logs and templates too."""

ALSO_WEIGHT = 0.3
"""Words that an expansion adds are guesses: a few together may outweigh one of the query, none alone."""

DOCS_WEIGHT = 0.5
"""Prose shares words with questions about it; meaning and words count alike."""

MODE_WEIGHT = {Mode.SEMANTIC: 1.0, Mode.KEYWORD: 0.0}

_NO_VECTOR = QuantisedVectors(np.empty((1, 0), np.int8), np.zeros(1, np.float32))

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_PLACE = re.compile(r"^(?P<path>.+?):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?$")


@dataclass(frozen=True, slots=True)
class Question:
    """Everything about a query that retrieval and ranking look at."""

    query: Query
    text: str
    reading: Reading
    weight: float
    """Of meaning against keywords."""
    terms: dict[str, float]
    """What keyword search looks for."""
    term_weights: dict[str, float]
    """How much each word of the query says, whether or not the corpus has it."""
    word_shares: dict[str, float]
    """The share of the corpus's chunks that hold each word of the query."""
    vector: NDArray[np.int8]
    scale: float
    topic: tuple[str, ...]
    """Words of the query, or of a report's title, without fillers: what a path or heading may repeat."""
    is_unheard: bool = False
    """Whether the query is a name that stands nowhere in the corpus: what is found is something else."""
    except_chunks: frozenset[int] = frozenset()
    warning: str | None = None


LEAST_WORDS = 13
"""Of a sentence: a topic is named in fewer words, and is found by rules that look at names and paths."""


def is_sentence(text: str, reading: Reading) -> bool:
    """Return whether a query asks in a whole sentence what the code does, rather than names a topic."""
    return reading.intent in (Intent.QUESTION, Intent.NAMING) and len(words(text)) >= LEAST_WORDS


def asks_model(query: Query) -> bool:
    """Return whether a model has to read the query: not for words, patterns, or a place whose vectors are
    stored.
    """
    by_words = query.mode is Mode.KEYWORD or (query.mode is Mode.HYBRID and query.semantic_weight == 0)
    return not by_words and query.mode is not Mode.REGEX and query.similar_to is None


def shortened(query: Query) -> Query:
    """Return a query cut to what counts, and one character more, by which `understand` sees the cut."""
    if len(query.text) <= MAX_QUERY_CHARS + 1 or query.mode is Mode.REGEX:
        return query
    return replace(query, text=query.text.lstrip()[: MAX_QUERY_CHARS + 1])


def understand(snapshot: Snapshot, embedder: Embedder | None, query: Query) -> Question:
    """Read a query against the corpus it asks; without a model, by its words alone."""
    if query.similar_to is not None:
        return _like_place(snapshot, query)
    text = _CONTROL.sub(" ", query.text).strip()
    if not text:
        raise InvalidArgumentError("Query cannot be empty")
    warning = None
    if len(text) > MAX_QUERY_CHARS:
        text = text[:MAX_QUERY_CHARS]
        warning = f"The query was cut to its first {MAX_QUERY_CHARS:,} characters."
    vector = _embedded(embedder, text, query.also) if embedder else _NO_VECTOR
    return _question(snapshot, query, text, vector, warning=warning)


def _question(
    snapshot: Snapshot,
    query: Query,
    text: str,
    vector: QuantisedVectors,
    *,
    warning: str | None = None,
    except_chunks: frozenset[int] = frozenset(),
) -> Question:
    reading = read_query(text)
    counts = Counter(tokens(text))
    telling = {term: n for term, n in counts.items() if term not in STOP_WORDS} or dict(counts)
    reader = snapshot.keywords[query.corpus]
    rarity = _rarity(reader, telling)
    title = set(tokens(reading.title))
    weights = {t: (1 + math.log(n)) * (TITLE_WEIGHT if t in title else 1) for t, n in telling.items()}
    known = sorted((t for t in telling if rarity[t][1]), key=lambda t: (-rarity[t][0] * weights[t], t))
    if not telling and not vector.values.any():
        warning = "The query has no words to search for."
    return Question(
        query=query,
        text=text,
        reading=reading,
        weight=_weight(query, reading.intent),
        terms=_also_terms(query, telling) | {term: weights[term] for term in known[:MAX_TERMS]},
        term_weights={term: rarity[term][0] for term in telling},
        word_shares={term: rarity[term][1] for term in telling},
        vector=vector.values[0],
        scale=float(vector.scales[0]),
        topic=_topic(reading.title or text),
        is_unheard=reading.intent is Intent.SYMBOL and not _occurs(reader, reading),
        except_chunks=except_chunks,
        warning=warning,
    )


@lru_cache(maxsize=4)
def _embedded(embedder: Embedder, text: str, also: tuple[str, ...]) -> QuantisedVectors:
    """Return the meaning of a query, drawn a little towards the words it was expanded with.

    All members of a workspace are asked the same: a model reads it once.
    """
    if not also:
        return quantise(embedder.embed([text], EmbedMode.QUERY))
    rows = embedder.embed([text, " ".join(also)], EmbedMode.QUERY)
    return quantise(unit((rows[:1] + ALSO_WEIGHT * rows[1:]).astype(np.float32)))


def _also_terms(query: Query, telling: Collection[str]) -> dict[str, float]:
    added = tokens(" ".join(query.also))
    return {term: ALSO_WEIGHT for term in added if term not in telling and term not in STOP_WORDS}


def _topic(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in parts(text) if word not in STOP_WORDS))


def _rarity(reader: KeywordReader, terms: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Return each term's idf, and the share of the corpus's chunks that hold it."""
    found, size = {}, reader.size
    for term in terms:
        frequency = reader.document_frequency(term)
        idf = math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
        found[term] = (idf, frequency / size if size else 0.0)
    return found


def _occurs(reader: KeywordReader, reading: Reading) -> bool:
    """Return whether the name that a query is stands in the corpus, `likeThis`, `like_this` or as written."""
    name = reading.names[0]
    found = word_parts(name)
    spellings = {*word_tokens(name)[:1], "".join(found), "_".join(found)}
    return any(reader.document_frequency(spelling) for spelling in spellings)


_NUMBERS = re.compile(r"(?:(?:0[xX][\da-fA-F]+|[\d.,:+-]*\d[\d.,:+-]*)\s*)+")
"""Ports, codes and versions: what is looked for is the number itself."""


def _weight(query: Query, intent: Intent) -> float:
    if query.mode in MODE_WEIGHT:
        return MODE_WEIGHT[query.mode]
    if query.semantic_weight is not None:
        return query.semantic_weight
    if _NUMBERS.fullmatch(query.text.strip()):
        return SEMANTIC_WEIGHT[Intent.SYMBOL]
    return DOCS_WEIGHT if query.corpus is Corpus.DOCS else SEMANTIC_WEIGHT[intent]


def _like_place(snapshot: Snapshot, query: Query) -> Question:
    """Return more like `path:start-end`: the chunks there are the query, and not part of the answer."""
    place = _PLACE.match(query.similar_to or "")
    start, end = (int(place["start"]), int(place["end"] or place["start"])) if place else (0, -1)
    if not place or end < start:
        raise InvalidArgumentError(
            "similar_to must look like 'path:start-end'.", hint="For example 'src/app.py:10-40'."
        )
    path = place["path"].removeprefix("./")
    held = [chunk for chunk in snapshot.chunks.of_file(path) if chunk.kind != "outline"]
    if not held:
        raise FileNotIndexedError(path)
    chunks = [chunk for chunk in held if chunk.start_line <= end and start <= chunk.end_line]
    if not chunks:
        raise InvalidArgumentError(
            f"There is nothing at the lines {start}-{end} of {path}; its text is at the lines "
            f"{held[0].start_line}-{held[-1].end_line}."
        )
    text = "\n".join(chunk.text for chunk in chunks)[:MAX_QUERY_CHARS]
    numbers = frozenset(chunk.number for chunk in chunks)
    return _question(snapshot, query, text, _mean_vector(snapshot, chunks), except_chunks=numbers)


def _mean_vector(snapshot: Snapshot, chunks: list[StoredChunk]) -> QuantisedVectors:
    rows = [snapshot.chunks.vector(chunk.number) for chunk in chunks]
    total = np.sum([row.astype(np.float32) * scale for row, scale in rows], axis=0)
    return quantise(unit(total.reshape(1, -1).astype(np.float32)))
