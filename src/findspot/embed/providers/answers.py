"""Vectors as services send them, checked before anything else sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from findspot.core.errors import ProviderError
from findspot.embed.protocol import Vectors


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
