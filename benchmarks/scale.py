"""A large index on an object store: how long it takes to write, to copy and to search.

    python -m benchmarks.scale --chunks 1000000 --text FOLDER

Text is real, from the files of a folder, read over and over from other places; vectors are made up.
The store is an S3 server on loopback in a process of its own. The reader is another process, with a
home of its own: it copies the index first and is then asked questions made of words in the text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.memory import PeakMemory, pss_mb
from findspot.core.files import content_hash
from findspot.core.model import Chunk, ChunkType, Corpus, Query, SourceFile, Span, Symbol
from findspot.embed.registry import open_embedder
from findspot.search.hybrid import search
from findspot.store.lance.store import LanceStore
from findspot.store.records import ChunkRecord, FileRecord
from findspot.text.document import keyword_text

DIMENSIONS = 256
CHUNKS_A_FILE = 20
LINES_A_CHUNK = 25
COMMIT_CHUNKS = 20_000
QUESTIONS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--text", type=Path, required=True, help="folder whose files are the text")
    parser.add_argument("--read", metavar="ADDRESS", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        print(json.dumps(read(args.read, args.text)))  # noqa: T201
        return
    port = _free_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _make_bucket(port)
        found = write("s3://bucket/index", args.text, args.chunks)
        command = [sys.executable, "-m", "benchmarks.scale", "--text", str(args.text)]
        reader = subprocess.run(
            [*command, "--read", "s3://bucket/index"], capture_output=True, text=True, check=True
        )
        found |= json.loads(reader.stdout)
    finally:
        server.kill()
        server.wait()
    for name, value in found.items():
        print(f"{name:28} {value:,.1f}")  # noqa: T201


def write(address: str, text: Path, chunks: int) -> dict[str, float]:
    """Fill the store, in commits."""
    with tempfile.TemporaryDirectory() as folder, PeakMemory(os.getpid()) as peak:
        started = time.monotonic()
        with LanceStore(Path(folder) / "index", "p", address).writer() as writer:
            waiting = 0
            for record in _records(text, chunks):
                writer.put(record)
                waiting += len(record.chunks)
                if waiting >= COMMIT_CHUNKS:
                    writer.commit()
                    waiting = 0
            writer.set_meta(build="complete", model="synthetic/256")
            writer.commit()
        return {"chunks": chunks, "write_s": time.monotonic() - started, "write_peak_mb": peak.mb}


def read(address: str, text: Path) -> dict[str, float]:
    """Copy the index, then ask it."""
    embedder = open_embedder("local:static")
    chance = random.Random(5)
    lines = [line for part in _texts(text, 400) for line in part.split("\n") if len(line.split()) > 3]
    questions = [" ".join(chance.choice(lines).split()[:8]) for _ in range(QUESTIONS)]
    with tempfile.TemporaryDirectory() as folder:
        store = LanceStore(Path(folder) / "index", "p", address)
        with PeakMemory(os.getpid()) as peak:
            started = time.monotonic()
            with store.snapshot() as snapshot:
                held = sum(chunks for _, chunks in snapshot.counts().values())
            copied_s = time.monotonic() - started
        taken = []
        for turn, question in enumerate(questions):
            started = time.monotonic()
            with store.snapshot() as snapshot:
                search(snapshot, embedder, Query(question))
            if turn >= QUESTIONS // 10:  # the first ones warm what the system keeps of files
                taken.append((time.monotonic() - started) * 1000)
        taken.sort()
        return {
            "chunks_read": held,
            "copy_s": copied_s,
            "copy_peak_mb": peak.mb,
            "search_p50_ms": statistics.median(taken),
            "search_p95_ms": taken[int(len(taken) * 0.95)],
            "memory_after_searches_mb": pss_mb(os.getpid()),
        }


def _records(text: Path, chunks: int) -> Iterator[FileRecord]:
    numbers = np.random.default_rng(3)
    parts = _texts(text, chunks)
    for file in range(-(-chunks // CHUNKS_A_FILE)):
        path = f"src/package{file % 97}/module{file}.py"
        texts = [part for _, part in zip(range(min(CHUNKS_A_FILE, chunks - file * CHUNKS_A_FILE)), parts)]  # noqa: B905
        vectors = numbers.integers(-127, 128, (len(texts), DIMENSIONS)).astype(np.int8)
        scales = 1 / np.linalg.norm(vectors.astype(np.float32), axis=1)
        source = SourceFile(path, Corpus.CODE, "python", sum(map(len, texts)), 1)
        yield FileRecord(
            source,
            content_hash("".join(texts).encode()),
            tuple(
                _chunk(path, place, part, vectors[place].tobytes(), float(scales[place]))
                for place, part in enumerate(texts)
            ),
        )


def _chunk(path: str, place: int, text: str, vector: bytes, scale: float) -> ChunkRecord:
    first = place * LINES_A_CHUNK + 1
    span = Span(first, first + text.count("\n"))
    name = Symbol(f"name_{hash(text) % 50_000}", "function", first)
    chunk = Chunk(path, span, text, ChunkType.DEFINITIONS, "function", "python", (name,))
    return ChunkRecord(chunk, keyword_text(path, None, "", text), vector[:16], scale, vector)


def _texts(folder: Path, count: int) -> Iterator[str]:
    """Pieces of the files of a folder, from another line each time round."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    given = 0
    for start in range(LINES_A_CHUNK):
        for path in files:
            lines = path.read_text(errors="replace").split("\n")[start:]
            for first in range(0, len(lines), LINES_A_CHUNK):
                if given == count:
                    return
                given += 1
                yield "\n".join(lines[first : first + LINES_A_CHUNK])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _make_bucket(port: int) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
    for _ in range(200):
        try:
            urllib.request.urlopen(request).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the S3 server did not start")


if __name__ == "__main__":
    main()
