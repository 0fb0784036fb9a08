"""What a worker makes of a file."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

from findspot.chunk.dispatch import chunk_file
from findspot.core.model import ChunkType, Corpus, SourceFile
from findspot.embed.chunk_vectors import embed_chunks
from findspot.embed.provider_registry import open_embedder
from findspot.indexing.worker import process
from findspot.indexing.workers import Indexed, Job, Setup
from findspot.text.tokens import keyword_text

SOURCE = '''"""Money — “exact”, naïve rounding never."""
import decimal


class Cart:
    def total(self, rows):
        """Return the sum."""
        return sum(decimal.Decimal(row.price) for row in rows)
''' + "\n\n".join(f"def helper_{n}(value):\n    return value * {n}\n" for n in range(90))


def test_words_that_are_split_once_give_the_same_keywords_and_vectors(tmp_path: Path) -> None:
    file = SourceFile("shop/cart.py", Corpus.CODE, "python", len(SOURCE), 0, 0, 0)
    setup = Setup(tmp_path, "local:static", "syntax", 1_000_000)
    embedder = open_embedder("local:static")
    found = process(Job(file), setup, embedder, SOURCE.encode())
    assert isinstance(found, Indexed)
    chunks = chunk_file(file, SOURCE).chunks
    vectors = embed_chunks(embedder, chunks)
    assert len(chunks) > 4
    rows = found.record.rows
    for position, (row, keywords, chunk) in enumerate(zip(rows.chunks, rows.keywords, chunks, strict=True)):
        text = keyword_text(chunk.path, chunk.breadcrumb, chunk.context, chunk.text)
        assert keywords == ("" if chunk.chunk_type is ChunkType.SYMBOLS else text)
        assert row[-1] == vectors.values[position].tobytes()
        assert row[-2] == vectors.scales[position]


def test_a_worker_keeps_nothing_of_the_files_it_read(tmp_path: Path) -> None:
    source = "".join(
        f"def helper_{n % 90}(value):\n    return value * {n}\n\n\n" for n in range(1_500)
    ).encode()
    file = SourceFile("shop/cart.py", Corpus.CODE, "python", len(source), 0, 0, 0)
    setup = Setup(tmp_path, "local:static", "syntax", 1_000_000)
    embedder = open_embedder("local:static")
    process(Job(file), setup, embedder, source)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            process(Job(file), setup, embedder, source)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < len(source)
