"""Whether a model can read an index: vectors of different models never meet."""

from __future__ import annotations

from findspot.core.errors import ModelMismatchError
from findspot.core.model import Mode, Query
from findspot.embed.protocol import Embedder, model_name
from findspot.store.lance.lance_commits import UNNAMED_MODEL

_BY_WORDS = "Searched by words alone: which model made the vectors of this index is not known."


def fitting(
    embedder: Embedder | None, stored: str | None, query: Query
) -> tuple[Embedder | None, str | None]:
    """Return the model, where it fits an index made by `stored`; else none, with what to tell the user of it.

    Another program's tables do not name their model: one of the same length of vectors is taken for it.
    """
    if embedder is None or stored in (None, model_name(embedder), f"{UNNAMED_MODEL}/{embedder.dimensions}"):
        return embedder, None
    if stored.startswith(f"{UNNAMED_MODEL}/") and query.mode is not Mode.SEMANTIC:
        return None, _BY_WORDS
    raise ModelMismatchError(stored, model_name(embedder))
