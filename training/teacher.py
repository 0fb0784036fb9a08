"""MiniLM's vectors of every pair, for the KL term: minutes on an accelerator, hours without one."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from minilm import MiniLM
from tokenise import CACHE, load_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, default=CACHE / "pairs.jsonl")
    parser.add_argument("--out", type=Path, default=CACHE / "teacher.npy")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    pairs = load_pairs(options.pairs)
    model = MiniLM(options.device)
    batch_tokens = 262_144 if options.device == "cuda" else 8_192
    sides = [
        [pair["query"] for pair in pairs],
        [pair.get("asked") or pair["query"] for pair in pairs],
        [pair["text"] for pair in pairs],
    ]
    columns = [model.embed(side, batch_tokens) for side in sides]
    np.save(options.out, np.stack(columns).astype(np.float16))


if __name__ == "__main__":
    main()
