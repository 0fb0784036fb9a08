"""A large index on an object store: how long it takes to write, to copy and to search, and how true it is.

    python -m benchmarks.scale --chunks 1000000 --text FOLDER --keep FOLDER

Text is real, pieces of the files of some folders. Where it runs out, it is cut again from another line,
under other paths and with a mark in every piece, so that no two chunks are the same. The first 200,000
vectors are those of the built-in model, further ones are made up around some of these. With `--keep`,
tables and the reader's copy stay in a folder: what is there is not made again, and a build that was
stopped goes on.

The tables are written to a folder and put onto an S3 server on loopback, in a process of its own, object
by object. The reader is another process: it copies the index first, unless its copy is there already, and
is then asked questions made of words in the text.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.memory import PeakMemory, pss_mb
from benchmarks.objects import ADDRESS, object_server
from findspot.core.files import content_hash
from findspot.core.languages import language_of
from findspot.core.model import Chunk, ChunkType, Corpus, Query, SourceFile, Span, Symbol
from findspot.embed.chunk_vectors import quantise, unit
from findspot.embed.embedder import Embedder, EmbedMode, Vectors, model_name
from findspot.embed.provider_registry import open_embedder
from findspot.publishing.published_tables import PublishedTables
from findspot.publishing.shared_copy import SharedCopy
from findspot.search.hybrid import search
from findspot.search.retrieve import POOL
from findspot.store.lance.lance_store import CACHE, LanceStore
from findspot.store.records import ChunkRecord, FileRecord
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import keyword_text

LINES_A_CHUNK = 25
MAX_CHUNKS_A_FILE = 200
COMMIT_CHUNKS = 40_000
QUESTIONS = 200
MODEL = "local:static"
EMBEDDED_CHUNKS = 200_000
KNOWN_VECTORS = 20_000
NOISE = 0.5
"""What a vector that is made up is away from the real one it is made of: their cosine is about 0.9."""
_LANGUAGES = {"python", "javascript", "typescript", "go", "rust", "java", "kotlin", "c", "cpp", "ruby", "php"}
_DEFINED = re.compile(r"^\s*(?:\w+ )?(def|class|func|fn|fun|function) +(\w+)", re.MULTILINE)


def main() -> None:
    args = _arguments()
    if args.read:
        print(json.dumps(read(args.keep, args.text)))  # noqa: T201
        return
    with contextlib.ExitStack() as stack:
        keep = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keep.mkdir(parents=True, exist_ok=True)
        found = write(keep, args.text, args.chunks, args.minutes * 60)
        if found["chunks"] >= args.chunks:
            if args.handed_over and not (keep / "reader").exists():
                shutil.copytree(keep / "tables" / CACHE, keep / "reader" / CACHE)
            found |= stack.enter_context(object_server(keep / "tables"))
            command = [sys.executable, "-m", "benchmarks.scale", "--read", "--keep", str(keep), "--text"]
            reader = subprocess.run([*command, *map(str, args.text)], stdout=subprocess.PIPE, check=True)
            found |= json.loads(reader.stdout)
    for name, value in found.items():
        print(f"{name:28} {value:,.3f}" if value < 10 else f"{name:28} {value:,.1f}")  # noqa: T201


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument(
        "--text", type=Path, nargs="+", required=True, help="folders whose files are the text"
    )
    parser.add_argument("--keep", type=Path, help="where tables and copy are, or are made and stay")
    parser.add_argument("--handed-over", action="store_true", help="give the reader the indexer's copy")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop building after so many")
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def write(keep: Path, text: Sequence[Path], chunks: int, limit_s: float) -> dict[str, float]:
    """Fill the tables in commits, from where the last run stopped; what was asked for, to the file."""
    embedder = open_embedder(MODEL)
    store = LanceStore(keep / "tables", "p")
    with PeakMemory(os.getpid(), every_s=1.0) as peak, store.writer() as writer:
        files, before = writer.files.totals()
        known = _known_vectors(embedder, text) if before < chunks > EMBEDDED_CHUNKS else None
        stored, waiting, started = before, 0, time.monotonic()
        for path, pieces in islice(_sources(text), files, None) if before < chunks else ():
            if known is None or stored < EMBEDDED_CHUNKS:
                vectors = embedder.embed(pieces, EmbedMode.PASSAGE)
            else:
                vectors = _around(known, stored, len(pieces))
            record = _record(path, pieces, vectors)
            writer.put(record)
            stored, waiting = stored + len(record.chunks), waiting + len(record.chunks)
            late = time.monotonic() - started > limit_s
            if waiting >= COMMIT_CHUNKS or stored >= chunks or late:
                writer.set_meta(
                    build="complete" if stored >= chunks else "incomplete", model=model_name(embedder)
                )
                writer.commit()
                waiting = 0
            if stored >= chunks or late:
                break
    taken = {
        "chunks_written": stored - before,
        "write_s": time.monotonic() - started,
        "write_peak_mb": peak.mb,
    }
    return {"chunks": stored} | (taken if stored > before else {})


def read(keep: Path, text: Sequence[Path]) -> dict[str, float]:
    """Copy the index, then ask it."""
    embedder = open_embedder(MODEL)
    questions = _questions(text)
    store = SharedCopy(keep / "reader", keep / "reader", PublishedTables(ADDRESS))
    with PeakMemory(os.getpid()) as peak:
        started = time.monotonic()
        with store.snapshot() as snapshot:
            held = sum(chunks for _, chunks in snapshot.files.counts().values())
        opened_s = time.monotonic() - started
    taken, used = [], time.process_time()
    for question in questions:
        started = time.monotonic()
        with store.snapshot() as snapshot:
            search(snapshot, embedder, Query(question))
        taken.append((time.monotonic() - started) * 1000)
    used = time.process_time() - used
    memory = pss_mb(os.getpid())
    with store.snapshot() as snapshot:
        recall = _recall(snapshot, embedder, questions)
    taken = sorted(taken[QUESTIONS // 10 :])  # the first ones warm what the system keeps of files
    return {
        "chunks_read": held,
        "open_or_copy_s": opened_s,
        "open_or_copy_peak_mb": peak.mb,
        "search_p50_ms": statistics.median(taken),
        "search_p95_ms": taken[int(len(taken) * 0.95)],
        "search_cpu_ms": used * 1000 / len(questions),
        "memory_after_searches_mb": memory,
    } | recall


def _recall(snapshot: Snapshot, embedder: Embedder, questions: Sequence[str]) -> dict[str, float]:
    """How much of what an exact scan finds the searches' own way finds too."""
    mask = snapshot.files.whole(Corpus.CODE.value).mask
    shares = []
    for values in quantise(embedder.embed(questions, EmbedMode.QUERY)).values:
        found = set(snapshot.vectors.nearest(values, mask, POOL)[0].tolist())
        exact = snapshot.vectors.nearest(values, mask, POOL, exact=True)[0].tolist()
        shares.append((len(found.intersection(exact[:10])) / 10, len(found.intersection(exact)) / POOL))
    at_10, at_pool = np.mean(shares, axis=0)
    return {"recall_of_best_10": at_10, f"recall_of_best_{POOL}": at_pool}


def _questions(text: Sequence[Path]) -> list[str]:
    chance = random.Random(5)
    pieces = (piece for _, pieces in islice(_sources(text), 400) for piece in pieces)
    lines = [line for piece in pieces for line in piece.split("\n") if len(line.split()) > 3]
    return [" ".join(chance.choice(lines).split()[:8]) for _ in range(QUESTIONS)]


def _known_vectors(embedder: Embedder, text: Sequence[Path]) -> Vectors:
    pieces = (piece for _, pieces in _sources(text) for piece in pieces)
    return embedder.embed(list(islice(pieces, KNOWN_VECTORS)), EmbedMode.PASSAGE)


def _around(known: Vectors, seed: int, count: int) -> Vectors:
    chance = np.random.default_rng(seed)
    away = chance.normal(scale=NOISE / known.shape[1] ** 0.5, size=(count, known.shape[1]))
    return unit((known[chance.integers(0, known.shape[0], count)] + away).astype(np.float32))


def _record(path: str, pieces: Sequence[str], embedded: Vectors) -> FileRecord:
    vectors = quantise(embedded)
    language = language_of(path)
    source = SourceFile(path, Corpus.CODE, language, sum(map(len, pieces)), 1)
    chunks = []
    for place, piece in enumerate(pieces):
        first = place * LINES_A_CHUNK + 1
        names = tuple(Symbol(name, kind, first) for kind, name in _DEFINED.findall(piece))
        span = Span(first, first + piece.count("\n"))
        chunk = Chunk(path, span, piece, ChunkType.DEFINITIONS, "function", language, names)
        key = bytes.fromhex(content_hash(piece.encode("utf-8", "replace")))[:16]
        words = keyword_text(path, None, "", piece)
        chunks.append(
            ChunkRecord(chunk, words, key, float(vectors.scales[place]), vectors.values[place].tobytes())
        )
    return FileRecord(source, content_hash("".join(pieces).encode("utf-8", "replace")), tuple(chunks))


def _sources(folders: Sequence[Path]) -> Iterator[tuple[str, list[str]]]:
    """Paths with the pieces of their files, without end: cut again from another line each time round."""
    files = [(place, path) for place, folder in enumerate(folders) for path in sorted(folder.rglob("*.*"))]
    files = [
        (place, path) for place, path in files if language_of(path.name) in _LANGUAGES and path.is_file()
    ]
    random.Random(7).shuffle(files)
    for turn in range(1_000_000):
        for place, path in files:
            lines = path.read_text(errors="replace").split("\n")[turn % LINES_A_CHUNK :]
            cuts = range(0, min(len(lines), MAX_CHUNKS_A_FILE * LINES_A_CHUNK), LINES_A_CHUNK)
            mark = f"\n# copy {turn}" if turn else ""
            name = path.relative_to(folders[place]).as_posix()
            yield f"copy{turn}/{place}/{name}", ["\n".join(lines[n : n + LINES_A_CHUNK]) + mark for n in cuts]


if __name__ == "__main__":
    main()
