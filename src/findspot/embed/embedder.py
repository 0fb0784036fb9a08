"""What an embedding provider is, and the checks on what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import ProviderError

Vectors = NDArray[np.float32]
"""One row a text."""


class EmbedMode(StrEnum):
    """Some models read a question and the text that answers it differently."""

    QUERY = "query"
    PASSAGE = "passage"


class Embedder(Protocol):
    """A model that turns texts into vectors; the same text always gives the same vector."""

    @property
    def id(self) -> str:
        """The provider's name in settings, such as `local:static`."""

    @property
    def revision(self) -> str:
        """Changes whenever the vectors of any text would."""

    @property
    def dimensions(self) -> int:
        """The length of every row."""

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row a text; a row of zeros where the model knows nothing of a text."""

    def close(self) -> None:
        """Release what the model holds; calling it twice is harmless."""


@runtime_checkable
class Lexicon(Protocol):
    """A model that can also tell words from what is none."""

    def knows(self, word: str) -> bool:
        """Return whether a lower-cased word is in the vocabulary as a whole."""


def model_name(embedder: Embedder) -> str:
    """Return what tells the vectors of one model from another's, as indexes and chunk files spell it."""
    return f"{embedder.id}@{embedder.revision}/{embedder.dimensions}"


class LaterEmbedder:
    """Rows of no length, in place of those that another process will make."""

    dimensions = 0

    def __init__(self, provider: str, revision: str) -> None:
        self.id, self.revision = provider, revision

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        del mode
        return np.zeros((len(texts), 0), np.float32)

    def close(self) -> None:
        """Nothing is held."""


def read_vectors(
    found: Any, texts: int, dimensions: int | None, failure: Callable[[str], ProviderError]
) -> Vectors:
    """Return rows for so many texts, all finite and of one length; `failure` makes the error that says why
    not.
    """
    try:
        vectors = np.array(found, np.float32)
    except (ValueError, TypeError) as error:
        raise failure("its answer holds no embeddings") from error
    if vectors.ndim != 2 or len(vectors) != texts or not vectors.size:
        raise failure(f"it gave no vector for each of {texts} texts")
    if not np.isfinite(vectors).all():
        raise failure("its vectors hold values that are no numbers")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise failure(f"its vectors have {vectors.shape[1]} dimensions, not {dimensions}")
    return vectors
