"""Embedding in the indexing process: for models that are too slow, or too far away, for each worker.

Workers cut files and leave the vectors out; here they are filled in, many chunks at a time. The
chunks of an index that changes its model are read back from the store: nothing is cut again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from findspot.core.model import Chunk, Progress
from findspot.core.progress import CancelToken, ProgressSink
from findspot.embed.chunk_vectors import chunk_key, embed_chunks
from findspot.embed.embedder import Embedder
from findspot.indexing.workers import Indexed, Outcome
from findspot.store.writer import Writer

BATCH_CHUNKS = 64
"""Enough for services to fill their requests, few enough to stop within seconds on request."""


KnownVectors = Callable[[str], Mapping[bytes, tuple[float, bytes]]]
"""Returns scale and vector by key, of a path."""


def embedded(
    outcomes: Iterable[Outcome],
    embedder: Embedder,
    cancel: CancelToken,
    known_vectors: KnownVectors | None = None,
) -> Iterator[Outcome]:
    """Yield the same outcomes, with the vectors that their chunks lack; whole files only."""
    waiting: list[Indexed] = []
    missing = 0
    for outcome in outcomes:
        if not isinstance(outcome, Indexed):
            yield outcome
            continue
        path = outcome.record.file.path
        indexed = outcome if known_vectors is None else _with_vectors(outcome, known_vectors(path))
        waiting.append(indexed)
        missing += len(indexed.record.rows.lacking(path))
        if missing >= BATCH_CHUNKS:
            yield from _filled(waiting, embedder, cancel)
            waiting, missing = [], 0
    yield from _filled(waiting, embedder, cancel)


def renew_vectors(writer: Writer, embedder: Embedder, progress: ProgressSink, cancel: CancelToken) -> int:
    """Embed every stored chunk again and return how many; nothing counts until the writer commits."""
    _, total = writer.files.totals()
    done = 0
    writer.forget_vectors()
    for batch in writer.chunks.embedded_batches(BATCH_CHUNKS):
        cancel.check()
        progress(Progress(done, total, "embedding"))
        numbers, chunks = zip(*batch, strict=True)
        vectors = embed_chunks(embedder, chunks)
        writer.set_vectors(
            (number, chunk_key(embedder, chunk), float(scale), values.tobytes())
            for number, chunk, scale, values in zip(
                numbers, chunks, vectors.scales, vectors.values, strict=True
            )
        )
        done += len(batch)
    return done


def _with_vectors(outcome: Indexed, known: Mapping[bytes, tuple[float, bytes]]) -> Indexed:
    rows = outcome.record.rows.with_vectors(known)
    return replace(outcome, record=replace(outcome.record, rows=rows))


def _filled(waiting: list[Indexed], embedder: Embedder, cancel: CancelToken) -> Iterator[Outcome]:
    lacking: dict[bytes, Chunk] = {}
    for each in waiting:
        lacking |= each.record.rows.lacking(each.record.file.path)
    made: dict[bytes, tuple[float, bytes]] = {}
    left = iter(lacking)
    while keys := list(islice(left, BATCH_CHUNKS)):
        cancel.check()
        vectors = embed_chunks(embedder, [lacking[key] for key in keys])
        made |= zip(keys, zip(vectors.scales.tolist(), map(bytes, vectors.values), strict=True), strict=True)
    yield from (_with_vectors(each, made) for each in waiting)
