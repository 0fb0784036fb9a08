"""The worker process: reads, cuts, tokenises and embeds one file at a time.

It runs apart from the indexing process, so that a file that crashes or hangs a parser costs
that file only. Messages are pickled values on its standard input and output.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from findspot.chunk.dispatch import MINIFIED, UNPARSED, chunk_file
from findspot.core.facts import names_of, pack
from findspot.core.files import content_hash
from findspot.core.model import Chunk, ChunkType, Skip, SkipReason
from findspot.core.platforms import answers_on_stdout, memory_given_back
from findspot.discover.file_content import is_minified, masked_part, readable_text
from findspot.discover.root_folder import read_file
from findspot.embed.chunk_vectors import (
    QuantisedVectors,
    chunk_key,
    embed_chunks,
    joined,
)
from findspot.embed.embedder import Embedder, LaterEmbedder
from findspot.embed.provider_registry import open_embedder
from findspot.indexing.workers import (
    READY,
    Indexed,
    Job,
    Outcome,
    Rejected,
    Setup,
    Unchanged,
    file_limit_s,
)
from findspot.store.records import ChunkRecord, FileRecord, RecordRows
from findspot.text.tokens import keyword_text


def process(job: Job, setup: Setup, embedder: Embedder, content: bytes | None = None) -> Outcome:
    """Index one file: read (unless its content came along) → check → cut → tokenise → embed."""
    data = read_file(setup.root, job.file, setup.max_file_bytes) if content is None else content
    if isinstance(data, Skip):
        return Rejected(data, job.file)
    sha256 = content_hash(data)
    file = replace(job.file, size=len(data))
    if sha256 == job.known_sha256:
        return Unchanged(file)
    text = readable_text(file.path, data, setup.secret_scan)
    if isinstance(text, Skip):
        return Rejected(text, file)
    strategy = UNPARSED if job.unparsed else setup.strategy
    chunked = chunk_file(file, text, MINIFIED if is_minified(file.path, data) else strategy)
    if not chunked.chunks:
        return Rejected(Skip(file.path, SkipReason.EMPTY), file)
    rows = _rows(chunked.chunks, job, embedder)
    left_out = chunked.skip or masked_part(file.path, data, text)
    record = FileRecord(file, sha256, rows)
    if chunked.facts is not None:
        with contextlib.suppress(ValueError):  # more than can be read back: the file is not in the graph
            record = FileRecord(file, sha256, rows, pack(chunked.facts), names_of(chunked.facts))
    return Indexed(record, left_out)


def _rows(chunks: tuple[Chunk, ...], job: Job, embedder: Embedder) -> RecordRows:
    keys = [chunk_key(embedder, chunk) for chunk in chunks]
    fresh = [at for at, key in enumerate(keys) if key not in job.known_keys]
    vectors: list[tuple[float, bytes | None]] = [(0.0, None)] * len(chunks)
    if fresh:
        made = _embedded(embedder, [chunks[at] for at in fresh])
        for at, scale, values in zip(fresh, made.scales.tolist(), made.values, strict=True):
            vectors[at] = scale, values.tobytes()
    return RecordRows.of(
        [
            ChunkRecord(chunk, _keywords(chunk), key, scale, vector)
            for chunk, key, (scale, vector) in zip(chunks, keys, vectors, strict=True)
        ]
    )


def _embedded(embedder: Embedder, chunks: Sequence[Chunk]) -> QuantisedVectors:
    """Return the vectors of all at once, or where memory does not allow that, by halves."""
    try:
        return embed_chunks(embedder, chunks)
    except MemoryError:
        if len(chunks) == 1:
            raise
    middle = len(chunks) // 2
    return joined(_embedded(embedder, chunks[:middle]), _embedded(embedder, chunks[middle:]))


def _keywords(chunk: Chunk) -> str:
    """Return the tokens that keyword search reads; none of an outline: answers are lines of files."""
    if chunk.chunk_type is ChunkType.SYMBOLS:
        return ""
    return keyword_text(chunk.path, chunk.breadcrumb, chunk.context, chunk.text)


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each job of each batch with its outcome, in order, until the input ends."""
    setup: Setup = pickle.load(source)
    embedder = embedder_of(setup)
    gc.freeze()  # what was imported is no garbage
    sink.write(b"\n" + READY)
    sink.flush()
    while True:
        try:
            before, (setup, jobs) = setup, pickle.load(source)
        except EOFError:
            return
        if (before.provider, before.revision) != (setup.provider, setup.revision):
            embedder = embedder_of(setup)
        with memory_given_back():  # or each worker would keep what its largest files took
            for job in jobs:
                limit_time(file_limit_s(job.file.size))
                pickle.dump(outcome(job, setup, embedder), sink, pickle.HIGHEST_PROTOCOL)
                sink.flush()
            limit_time(0)


def limit_time(seconds: float) -> None:
    """End this process after so much processor time; 0 lifts the limit.

    The signal has no handler: Python would call it only after a parser or a query that does not end.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def embedder_of(setup: Setup) -> Embedder:
    """Return the model of a worker: an empty one where the indexing process embeds."""
    if setup.revision is not None:
        return LaterEmbedder(setup.provider, setup.revision)
    return open_embedder(setup.provider)


def outcome(job: Job, setup: Setup, embedder: Embedder, content: bytes | None = None) -> Outcome:
    """Index one file, or report why it was skipped: one bad file never fails a run."""
    try:
        return process(job, setup, embedder, content)
    except MemoryError:
        why = "there is not enough memory for this file"
    except Exception as error:  # noqa: BLE001  the boundary of one file of a run
        why = f"it could not be cut: {type(error).__name__}"
    return Rejected(Skip(job.file.path, SkipReason.WORKER_CRASHED, why), job.file)


def main() -> None:
    # Ctrl-C reaches every process of the terminal; the indexing process decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.stdin.buffer, answers_on_stdout())


if __name__ == "__main__":
    main()
