"""Chunks embedded a second of processor time, with all fields, and the time to open the model.

speed.py FOLDER     reads source files under FOLDER as chunks of about a thousand characters
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from findspot.core.model import Chunk, ChunkType, Span, Symbol
from findspot.embed.chunk_vectors import chunk_key, embed_chunks
from findspot.embed.embedder import EmbedMode
from findspot.embed.static_model import StaticEmbedder
from findspot.text.tokens import tokens

CHUNKS = 10_000
CHUNK_CHARS = 1000


def chunks_of(path: str, text: str) -> Iterator[Chunk]:
    """Whole lines up to about a thousand characters, with the names that Python defines in them."""
    lines: list[str] = []
    for line in [*text.splitlines(keepends=True), ""]:
        if lines and (not line or sum(map(len, lines)) + len(line) > CHUNK_CHARS):
            body = "".join(lines)
            names = re.findall(r"^\s*(?:def|class)\s+(\w+)", body, re.MULTILINE)
            symbols = tuple(Symbol(name, "function", 1) for name in names)
            yield Chunk(path, Span(1, 1), body, ChunkType.DEFINITIONS, "", "python", symbols=symbols)
            lines = []
        lines.append(line)


def main() -> None:
    chunks: list[Chunk] = []
    for path in sorted(Path(sys.argv[1]).rglob("*.py")):
        chunks.extend(chunks_of(str(path), path.read_text("utf-8", "replace")))
        if len(chunks) >= CHUNKS:
            break
    started = time.process_time()
    model = StaticEmbedder.open()
    opened = time.process_time()
    for at in range(0, len(chunks), 500):
        embed_chunks(model, chunks[at : at + 500])
    embedded = time.process_time()
    for chunk in chunks:
        chunk_key(model, chunk)
    keyed = time.process_time()
    for chunk in chunks:
        tokens(chunk.text)
    tokenised = time.process_time()
    for _ in range(1000):
        model.embed(["where is the configuration file read"], EmbedMode.QUERY)
    asked = time.process_time()
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
