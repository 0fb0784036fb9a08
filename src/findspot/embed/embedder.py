"""The protocol of an embedding provider."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row per text."""


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
        """A text that changes whenever the vectors of any text change."""

    @property
    def dimensions(self) -> int:
        """The length of every row."""

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row per text; a row of zeros if the model knows nothing of a text."""

    def close(self) -> None:
        """Release what the model holds; calling it twice is harmless."""

    def __hash__(self) -> int:
        """Return the hash of this open model, so that results can be cached by it."""


def model_name(embedder: Embedder) -> str:
    """Return the identity of a model's vectors, as indexes and chunk files write it."""
    return f"{embedder.id}@{embedder.revision}/{embedder.dimensions}"


class LaterEmbedder:
    """A stand-in that names a model and gives empty rows: another process embeds the texts."""

    dimensions = 0

    def __init__(self, provider: str, revision: str) -> None:
        self.id, self.revision = provider, revision

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        del mode
        return np.zeros((len(texts), 0), np.float32)

    def close(self) -> None:
        """Do nothing: no resource is held."""
