"""Chunks embedded a second on one core, with all fields, and the time to open the model.

speed.py FOLDER     reads source files under FOLDER as chunks of about a thousand characters
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from evaluate import chunks_of
from findspot.core.model import Chunk
from findspot.embed.batch import chunk_key, embed_chunks
from findspot.embed.protocol import EmbedMode
from findspot.embed.providers.static import StaticEmbedder
from findspot.text.tokens import tokens

CHUNKS = 10_000


def main() -> None:
    chunks: list[Chunk] = []
    for path in sorted(Path(sys.argv[1]).rglob("*.py")):
        chunks.extend(chunks_of(str(path), path.read_text("utf-8", "replace")))
        if len(chunks) >= CHUNKS:
            break
    started = time.perf_counter()
    model = StaticEmbedder.open()
    opened = time.perf_counter()
    for at in range(0, len(chunks), 500):
        embed_chunks(model, chunks[at : at + 500])
    embedded = time.perf_counter()
    for chunk in chunks:
        chunk_key(model, chunk)
    keyed = time.perf_counter()
    for chunk in chunks:
        tokens(chunk.text)
    tokenised = time.perf_counter()
    for _ in range(1000):
        model.embed(["where is the configuration file read"], EmbedMode.QUERY)
    asked = time.perf_counter()
    characters = sum(len(chunk.text) for chunk in chunks) / len(chunks)
    sys.stdout.write(
        f"{len(chunks)} chunks of {characters:.0f} characters\n"
        f"open {1000 * (opened - started):.0f} ms\n"
        f"embed {len(chunks) / (embedded - opened):.0f} chunks/s\n"
        f"keys {len(chunks) / (keyed - embedded):.0f} chunks/s\n"
        f"keyword tokens {len(chunks) / (tokenised - keyed):.0f} chunks/s\n"
        f"query {asked - tokenised:.3f} ms\n"
    )


if __name__ == "__main__":
    main()
