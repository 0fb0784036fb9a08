"""Embedding in the indexing process: for models that are too slow, or too far away, for each worker.

Workers cut files and leave the vectors out; here they are filled in, many chunks at a time. The
chunks of an index that changes its model are read back from the store: nothing is cut again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from findspot.core.model import Progress
from findspot.core.progress import CancelToken, ProgressSink
from findspot.embed.chunk_vectors import chunk_key, embed_chunks
from findspot.embed.embedder import Embedder
from findspot.indexing.workers import Indexed, Outcome
from findspot.store.records import ChunkRecord
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
        indexed = outcome if known_vectors is None else _with_known(outcome, known_vectors)
        waiting.append(indexed)
        missing += sum(map(_lacks_vector, indexed.record.chunks))
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
        chunks = [fields.as_chunk() for fields in batch]
        vectors = embed_chunks(embedder, chunks)
        writer.set_vectors(
            (fields.number, chunk_key(embedder, chunk), float(scale), values.tobytes())
            for fields, chunk, scale, values in zip(
                batch, chunks, vectors.scales, vectors.values, strict=True
            )
        )
        done += len(batch)
    return done


def _lacks_vector(record: ChunkRecord) -> bool:
    """Return whether a vector is still to be made: it has no bytes then, and is None where one is stored."""
    return record.vector == b""


def _with_known(outcome: Indexed, known_vectors: KnownVectors) -> Indexed:
    known = known_vectors(outcome.record.file.path)
    chunks = tuple(
        _with_vector(item, *known[item.key]) if _lacks_vector(item) and item.key in known else item
        for item in outcome.record.chunks
    )
    return replace(outcome, record=outcome.record.with_chunks(chunks))


def _filled(waiting: list[Indexed], embedder: Embedder, cancel: CancelToken) -> Iterator[Outcome]:
    lacking = [item.chunk for each in waiting for item in each.record.chunks if _lacks_vector(item)]
    made: list[tuple[float, bytes]] = []
    for first in range(0, len(lacking), BATCH_CHUNKS):
        cancel.check()
        vectors = embed_chunks(embedder, lacking[first : first + BATCH_CHUNKS])
        made += zip(vectors.scales.tolist(), map(bytes, vectors.values), strict=True)
    rows = iter(made)
    for each in waiting:
        chunks = tuple(
            _with_vector(item, *next(rows)) if _lacks_vector(item) else item for item in each.record.chunks
        )
        yield replace(each, record=each.record.with_chunks(chunks))


def _with_vector(record: ChunkRecord, scale: float, vector: bytes) -> ChunkRecord:
    return replace(record, scale=scale, vector=vector)
