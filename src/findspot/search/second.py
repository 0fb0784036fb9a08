"""What a second, slower model says of the candidates, as far as it has read them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from findspot.core.errors import ProviderError
from findspot.core.log import get_logger
from findspot.core.model import Corpus, Mode
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.rank.intent import Intent
from findspot.search.questions import Question
from findspot.store.second import SecondVectors
from findspot.store.snapshot import Snapshot

_log = get_logger("second")

BOTH_WEIGHT = 0.8
"""Two models of different kinds err in different places: of a question in plain words they are believed
more than one is (0.6). `docs/ranking.md` has what each of these is worth."""

SHARE = 0.5
"""Neither of the two is better everywhere."""

SHARE_OF_NAMED = 0.35
"""A transformer knows little of the identifiers that a question may name: words and the first do."""


@dataclass(frozen=True, slots=True)
class SecondReader:
    """A slower model and the vectors it has made so far."""

    embedder: Embedder
    vectors: SecondVectors

    def likeness(self, snapshot: Snapshot, text: str, numbers: Collection[int]) -> dict[int, float]:
        """Return the cosine of each candidate that the model has read."""
        keys = dict(snapshot.embedding_keys(sorted(numbers)))
        known = self.vectors.of(list(set(keys.values())))
        read = [number for number, key in keys.items() if key in known]
        if not read:
            return {}
        try:
            query = self.embedder.embed([text], EmbedMode.QUERY)[0]
        except ProviderError as error:  # the first model's answer is one, too
            _log.warning("the second model has no say: %s", error.developer_message)
            return {}
        rows = np.stack([np.frombuffer(known[keys[number]][1], np.int8) for number in read])
        scales = np.array([known[keys[number]][0] for number in read], np.float32)
        cosines = (rows.astype(np.float32) @ query) * scales
        return dict(zip(read, cosines.tolist(), strict=True))


def mixture(question: Question) -> tuple[float, float]:
    """Return the weight of meaning against words where both models have read, and the second one's part of
    it.
    """
    query, reading = question.query, question.reading
    if reading.names:
        return question.weight, SHARE_OF_NAMED
    plain = query.corpus is Corpus.CODE and reading.intent is Intent.QUESTION
    asked = query.semantic_weight is not None or query.mode is not Mode.HYBRID
    return BOTH_WEIGHT if plain and not asked else question.weight, SHARE


@dataclass(frozen=True, slots=True)
class Models:
    """Who reads a query: the model that the index was made with, and a slower one where it is chosen."""

    first: Embedder | None
    second: SecondReader | None = None
