"""Dense NDCG@10 of model folders on the development sets, beside BM25 on the same chunks.

evaluate.py EVALUATION [MODEL_FOLDER …] [--bodies-only]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.chunk.dispatch import chunk_file
from findspot.core.languages import language_of
from findspot.core.model import Chunk, Corpus, SourceFile
from findspot.embed.chunk_vectors import embed_chunks
from findspot.embed.embedder import EmbedMode
from findspot.embed.static_model import MODEL_FOLDER, StaticEmbedder
from findspot.text.tokens import tokens

SETS = {"code_cosqa": "cosqa", "code_anthropic": "anthropic_code", "docs_anthropic": "anthropic_docs"}
TOP = 10

Scores = NDArray[np.float32]
Hits = list[dict[str, Any]]
System = Callable[[list[Chunk]], Callable[[str], Scores]]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def chunks_of(path: str, text: str, corpus: Corpus) -> tuple[Chunk, ...]:
    """The chunks that an index would hold."""
    return chunk_file(SourceFile(path, corpus, language_of(path), len(text), 0), text).chunks


def dense(folder: Path, chunks: list[Chunk], *, bodies_only: bool) -> Callable[[str], Scores]:
    model = StaticEmbedder.open(folder)
    if bodies_only:
        rows = model.embed([chunk.text for chunk in chunks], EmbedMode.PASSAGE)
    else:
        stored = embed_chunks(model, chunks)
        rows = stored.values.astype(np.float32) * stored.scales[:, None]
    return lambda query: rows @ model.embed([query], EmbedMode.QUERY)[0]


def bm25(chunks: list[Chunk], k1: float = 1.2, b: float = 0.75) -> Callable[[str], Scores]:
    """Lucene's BM25 over the text, the path and the defined names."""
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    lengths = np.zeros(len(chunks))
    for row, chunk in enumerate(chunks):
        words = tokens(f"{chunk.text}\n{chunk.path}\n{' '.join(symbol.name for symbol in chunk.symbols)}")
        lengths[row] = len(words)
        for word, count in Counter(words).items():
            postings[word].append((row, count))
    norm = k1 * (1 - b + b * lengths / lengths.mean())

    def scores(query: str) -> Scores:
        found = np.zeros(len(chunks), dtype=np.float32)
        for word in set(tokens(query)):
            held = postings.get(word, [])
            weight = math.log(1 + (len(chunks) - len(held) + 0.5) / (len(held) + 0.5))
            for row, count in held:
                found[row] += weight * count / (count + norm[row])
        return found

    return scores


def ranked(chunks: list[Chunk], scores: Scores) -> Hits:
    """The best ten as the scorer wants them; ties by path and line."""
    best = np.argsort(-scores, kind="stable")[:TOP]
    return [
        {"path": chunks[row].path, "start_line": chunks[row].span.start, "end_line": chunks[row].span.end}
        for row in best
        if scores[row] > 0
    ]


def scorer(evaluation: Path) -> Callable[[Hits, list[dict[str, Any]]], dict[str, float]]:
    """The evaluation's own definitions, from its score.py."""
    spec = importlib.util.spec_from_file_location("score", evaluation / "score.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no score.py in {evaluation}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Hits, list[dict[str, Any]]], dict[str, float]] = module.score_code
    return found


def measure(evaluation: Path, systems: dict[str, System]) -> None:
    score = scorer(evaluation)
    for name, corpus in SETS.items():
        files = sorted(read(evaluation / "corpora" / f"{corpus}.jsonl"), key=lambda row: row["path"])
        kind = Corpus.DOCS if name.startswith("docs") else Corpus.CODE
        chunks = [chunk for row in files for chunk in chunks_of(row["path"], row["text"], kind)]
        queries = read(evaluation / "queries" / f"{name}.jsonl")
        for system, prepare in systems.items():
            scores = prepare(chunks)
            rows = [score(ranked(chunks, scores(row["query"])), row["relevant"]) for row in queries]
            mean = {
                key: sum(row[key] for row in rows) / len(rows) for key in ("ndcg10_semble", "hit1", "hit10")
            }
            figures = "  ".join(f"{key} {value:.3f}" for key, value in mean.items())
            print(f"{name:16}{system:28}{figures}", flush=True)  # noqa: T201 - a command's output


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("models", type=Path, nargs="*", default=[MODEL_FOLDER])
    parser.add_argument("--bodies-only", action="store_true", help="leave paths and names out")
    parser.add_argument("--bm25", action="store_true")
    options = parser.parse_args()
    systems: dict[str, System] = {}
    for folder in options.models:
        label = re.sub(r".*/", "", str(folder))
        systems[label] = partial(dense, folder, bodies_only=options.bodies_only)
    if options.bm25:
        systems["bm25"] = bm25
    measure(options.evaluation, systems)


if __name__ == "__main__":
    main()
