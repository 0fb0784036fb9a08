"""Pairs as token ids, and the words worth adding to the vocabulary; shared by distil and train.

tokenise.py words     .cache/pairs.jsonl → .cache/words.json (counts, frequent whole words)
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.embed.static_model import WordPieces
from findspot.text.tokens import words

HERE = Path(__file__).parent
CACHE = HERE / ".cache"
EXTRA_WORDS = 8000
"""Frequent words that MiniLM spells in pieces (`async`, `tuple`, `regex`); the trial's 5,000 were
worth 0.005, and rows are cheap."""


def load_pairs(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def id_sets(texts: list[str], pieces: WordPieces) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Distinct ids of all texts end to end, and where each text starts, as the model reads them."""
    rows = [sorted(set(chain.from_iterable(map(pieces.__getitem__, set(words(text)))))) for text in texts]
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(counts.sum()))
    return flat, np.concatenate([[0], np.cumsum(counts)])


def count_words(pairs: list[dict[str, str]], base: list[str]) -> dict[str, object]:
    """How many texts hold each token, and the most frequent words that `base` cannot say whole."""
    from findspot.text.tokens import word_parts

    whole: Counter[str] = Counter()
    packages: dict[str, set[str]] = {}
    for pair in pairs:
        parts = set(chain.from_iterable(map(word_parts, words(pair["query"] + "\n" + pair["text"]))))
        whole.update(parts)
    known = set(base)
    for pair in pairs:
        for word in set(chain.from_iterable(map(word_parts, words(pair["query"])))):
            if word not in known:
                packages.setdefault(word, set()).add(pair["package"])
    candidates = [
        word
        for word, count in sorted(whole.items(), key=lambda item: (-item[1], item[0]))
        if word not in known
        and word.isalpha()
        and len(word) > 2
        and count >= 20
        and len(packages.get(word, ())) >= 4
    ]
    extra = candidates[:EXTRA_WORDS]
    pieces = WordPieces([*base, *extra])
    entries = [*base, *extra]
    counts: Counter[str] = Counter()
    for word, count in whole.items():
        for id_ in set(pieces[word]):
            counts[entries[id_]] += count
    return {"extra": extra, "counts": counts}


def main() -> None:
    from distil import vocabulary_of
    from minilm import MiniLM

    found = count_words(load_pairs(CACHE / "pairs.jsonl"), vocabulary_of(MiniLM(), []))
    (CACHE / "words.json").write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
