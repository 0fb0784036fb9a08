"""What each ranking signal is worth: NDCG@10 without it, with a bootstrapped interval.

python -m benchmarks.ablation --sets FOLDER --mirrors FOLDER [--mode root|whole] [--only SET]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.metrics import paired_bootstrap
from benchmarks.quality import SETS, run_set
from benchmarks.sets import options
from findspot.rank import candidate_pool, signals
from findspot.rank.intent import Intent
from findspot.rank.roles import Role
from findspot.search import file_traits, hybrid, questions

ABLATIONS: dict[str, tuple[Any, str, Any]] = {
    "meaning (keywords alone)": (questions, "SEMANTIC_WEIGHT", dict.fromkeys(Intent, 0.0)),
    "keywords (meaning alone)": (questions, "SEMANTIC_WEIGHT", dict.fromkeys(Intent, 1.0)),
    "weights by intent (0.5 for all)": (questions, "SEMANTIC_WEIGHT", dict.fromkeys(Intent, 0.5)),
    "definition boost": (signals, "DEFINES_NAME", 0.0),
    "definition boost in sentences": (signals, "DEFINES_NAME_IN_SENTENCE", 0.0),
    "kinds of definitions": (signals, "KIND_WORTH", {}),
    "spelling of definitions": (signals, "OTHER_CASE", 1.0),
    "re-exports": (signals, "RE_EXPORTS_NAME", 0.0),
    "file named after the definition": (signals, "STEM_IS_NAME", 0.0),
    "path match": (signals, "PATH_MATCH", 0.0),
    "file name explained by the query": (signals, "NAME_SHARE", 0.0),
    "folders' own files": (file_traits, "_FILES_OF_A_FOLDER", ()),
    "file coherence": (candidate_pool, "COHERENCE", 0.0),
    "roles (tests, examples, data)": (signals, "ROLE_FACTOR", dict.fromkeys(Role, 1.0)),
    "headers beside their source": (hybrid, "declares_only", lambda path, others: False),
    "per-file diversity": (candidate_pool, "SAME_FILE_DECAY", 1.0),
    "headings (docs)": (signals, "HEADING_MATCH", 0.0),
    "document names (docs)": (signals, "DOCS_PATH_MATCH", 0.0),
    "docs weight (keywords alone)": (questions, "DOCS_WEIGHT", 0.0),
}
"""Signal → the constant that switches it off."""


@contextmanager
def without(module: Any, name: str, value: Any) -> Iterator[None]:
    """Switch a signal off; what is known of files may depend on it."""
    with patch.object(module, name, value):
        file_traits.file_traits.cache_clear()
        yield
    file_traits.file_traits.cache_clear()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--mode", choices=("root", "whole"), default="root")
    parser.add_argument("--only", action="append", choices=SETS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("FINDSPOT_HOME", home)
        for name in args.only or ("code_semble", "code_cosqa", "docs_anthropic"):
            _ablate(name, args)


def _ablate(name: str, args: argparse.Namespace) -> None:
    out = sys.stdout.write
    whole = _scores(name, args)
    everything = [value for values in whole.values() for value in values]
    out(f"\n{name} ({args.mode}): NDCG@10 {sum(everything) / len(everything):.4f} over all queries\n")
    for label, switch in ABLATIONS.items():
        with without(*switch):
            change, low, high = paired_bootstrap(whole, _scores(name, args))
        if change:
            out(f"  without {label:34} {change:+.4f}  ({low:+.4f} … {high:+.4f})\n")
            sys.stdout.flush()


def _scores(name: str, args: argparse.Namespace) -> dict[str, list[float]]:
    groups = defaultdict(list)
    for number, row in enumerate(run_set(name, args)):
        # Sets over one corpus have no repositories to resample: their queries stand for themselves.
        single = name in ("code_cosqa", "code_anthropic", "docs_anthropic")
        groups[f"{row['group']}{number if single else ''}"].append(row["ndcg10"])
    return groups


if __name__ == "__main__":
    main()
