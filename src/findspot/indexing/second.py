"""The second reading: a slower model reads what the fast one has indexed, in the background.

Searches answer from the fast model's vectors at once. What the slower one has read is kept batch
by batch, so that stopping at any time loses seconds at most.
"""

from __future__ import annotations

from findspot.core.model import SECOND_READING, Progress
from findspot.core.progress import CancelToken, ProgressSink
from findspot.embed.chunk_vectors import embed_chunks
from findspot.embed.embedder import Embedder
from findspot.indexing.embedding import embeddable
from findspot.store.second import SecondVectors
from findspot.store.store_protocol import Store

BATCH_CHUNKS = 16
"""About a second of a small transformer's work: what is lost when it is stopped."""

NAMES_WEIGHT = 0.0
"""A transformer finds the names of a chunk in its body; by themselves they drew questions in plain words
away from what the code does (code_cosqa 0.585, with the first model's weight 0.554)."""

READING_REVISION = "2"
"""Of how chunks are read here: vectors of another one are made anew."""


def read_again(
    store: Store, second: SecondVectors, embedder: Embedder, progress: ProgressSink, cancel: CancelToken
) -> int:
    """Embed every chunk that the slower model has not read yet; returns how many those were."""
    wanted, kept = _wanted(store), second.keys()
    second.drop(kept - wanted.keys())
    second.expect(len(wanted))
    missing = [number for key, number in wanted.items() if key not in kept]
    for first in range(0, len(missing), BATCH_CHUNKS):
        cancel.check()
        progress(Progress(len(wanted) - len(missing) + first, len(wanted), SECOND_READING))
        _read(store, second, embedder, missing[first : first + BATCH_CHUNKS])
    progress(Progress(len(wanted), len(wanted), SECOND_READING))
    return len(missing)


def _wanted(store: Store) -> dict[bytes, int]:
    """Return what there is to embed, and a chunk that holds it; in the order of the files."""
    with store.snapshot() as snapshot:
        return {key: number for number, key in snapshot.embedding_keys()}


def _read(store: Store, second: SecondVectors, embedder: Embedder, numbers: list[int]) -> None:
    """One batch; chunks that have gone since are passed by."""
    with store.snapshot() as snapshot:
        keys = dict(snapshot.embedding_keys(numbers))
        fields = snapshot.embedded_fields(numbers)
    if not fields:
        return
    vectors = embed_chunks(embedder, [embeddable(item) for item in fields], NAMES_WEIGHT)
    second.put(
        (keys[item.number], float(scale), values.tobytes())
        for item, scale, values in zip(fields, vectors.scales, vectors.values, strict=True)
    )
