# mypy: disable-error-code="import-not-found,untyped-decorator"
"""The table before training: each vocabulary entry as MiniLM sees it alone, in 256 dimensions."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from findspot.text.tokens import word_parts
from minilm import MiniLM

DIMENSIONS = 256
SIF = 1e-3
"""Smooth inverse frequency: a token of this share of the text counts half of a rare one."""


def vocabulary_of(teacher: MiniLM, extra_words: list[str]) -> list[str]:
    """The teacher's entries that our tokenizer can produce, then whole words of our own."""
    entries = sorted(teacher.tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [
        entry for entry, _ in entries if word_parts(entry.removeprefix("##")) == (entry.removeprefix("##"),)
    ]
    known = set(kept)
    return kept + [word for word in extra_words if word not in known]


@torch.no_grad()
def token_vectors(teacher: MiniLM, vocabulary: list[str]) -> NDArray[np.float32]:
    """Each entry's pooled vector; a continuation is given to the model as one."""
    ids = teacher.tokenizer.get_vocab()
    vectors = np.zeros((len(vocabulary), 384), dtype=np.float32)
    pieces = [row for row, entry in enumerate(vocabulary) if entry in ids]
    for start in range(0, len(pieces), 2048):
        rows = pieces[start : start + 2048]
        batch = torch.tensor([[101, ids[vocabulary[row]], 102] for row in rows], device=teacher.device)
        vectors[rows] = teacher.encode_ids(batch, torch.ones_like(batch)).cpu().numpy()
    words = [row for row, entry in enumerate(vocabulary) if entry not in ids]
    if words:
        lengths = np.linalg.norm(vectors[pieces], axis=1).mean()
        vectors[words] = teacher.embed([vocabulary[row] for row in words]) * lengths
    return vectors


def reduce(vectors: NDArray[np.float32], dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    """The principal components, which also removes what all tokens share."""
    centred = vectors - vectors.mean(axis=0)
    _, basis = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    top = basis[:, ::-1][:, :dimensions]
    top = top * np.sign(top[np.abs(top).argmax(axis=0), np.arange(dimensions)])
    return np.asarray(centred @ top, dtype=np.float32)


def weigh(vectors: NDArray[np.float32], vocabulary: list[str], counts: Counter[str]) -> NDArray[np.float32]:
    """Unit rows scaled by how rare each token is; without counts, by rank as Zipf would have it."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    if counts:
        total = sum(counts.values())
        shares = np.array([max(counts[entry], 1) / total for entry in vocabulary])
    else:
        shares = 1 / (np.arange(len(vocabulary)) + 2) / np.log(len(vocabulary))
    return np.asarray(unit * (SIF / (SIF + shares))[:, None], dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=Path, help="JSON: {token: count}, from vocabulary.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    counted = json.loads(options.words.read_text("utf-8")) if options.words else {"extra": [], "counts": {}}
    teacher = MiniLM(options.device)
    vocabulary = vocabulary_of(teacher, counted["extra"])
    table = weigh(reduce(token_vectors(teacher, vocabulary)), vocabulary, Counter(counted["counts"]))
    np.savez(options.out, table=table, vocabulary=np.array(vocabulary))


if __name__ == "__main__":
    main()
