"""What an embedding provider is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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
