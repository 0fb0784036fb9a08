"""Write a float table and its vocabulary as the model folder that the package loads."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MODEL_FOLDER = Path(__file__).parents[1] / "src" / "findspot" / "embed" / "models" / "static-v0"


def export(table: NDArray[np.float32], vocabulary: Sequence[str], folder: Path) -> str:
    """Quantise each row to int8 with its own scale; returns the revision."""
    rows = np.zeros(len(table), dtype=[("scale", "<f4"), ("vector", "i1", (table.shape[1],))])
    rows["scale"] = np.abs(table).max(axis=1) / 127
    scale = np.where(rows["scale"] > 0, rows["scale"], 1)[:, None]
    rows["vector"] = np.clip(np.rint(table / scale), -127, 127)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", rows)
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", "utf-8", newline="\n")
    revision = "v0-" + digest(folder)[:12]
    about = {"id": "local:static", "revision": revision, "dimensions": table.shape[1], "tokens": len(table)}
    (folder / "model.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8", newline="\n")
    return revision


def digest(folder: Path) -> str:
    """What the revision is made of: the bytes of the vectors and the vocabulary."""
    found = hashlib.sha256()
    for name in ("vectors.npy", "vocabulary.txt"):
        found.update((folder / name).read_bytes())
    return found.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="an .npz with `table` and `vocabulary`")
    parser.add_argument("--to", type=Path, default=MODEL_FOLDER)
    options = parser.parse_args()
    with np.load(options.table) as saved:
        export(saved["table"], [str(entry) for entry in saved["vocabulary"]], options.to)


if __name__ == "__main__":
    main()
