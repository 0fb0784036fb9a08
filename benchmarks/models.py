"""The same questions with each embedding model: by meaning alone, mixed, and by words alone.

python -m benchmarks.models --sets FOLDER [--mirrors FOLDER] [--provider NAME …] [--only SET …]

An index is made once for a set and then changed from model to model, which embeds its stored
chunks anew and cuts nothing. A transformer (`local:minilm`) reads after the model in the box, and both
have their say: its rows are of the two together. The last column tells how far the mixed answer is from the one
without any model, with the interval that 95 % of paired bootstrap samples lie in.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.metrics import Place, paired_bootstrap, score
from benchmarks.quality import SETS
from benchmarks.sets import Case, by_checkout, load, materialise
from findspot import Engine, Query
from findspot.core.model import Corpus, Mode
from findspot.project import Project

HERE = Path(__file__).parent
MODES = (Mode.SEMANTIC, Mode.HYBRID, Mode.KEYWORD)

Scores = dict[Mode, dict[str, list[float]]]
"""NDCG@10 of each question, by mode and group."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True, help="folder with queries/ and corpora/")
    parser.add_argument("--mirrors", type=Path, help="folder of git mirrors; without it, clones are made")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="where checkouts are kept")
    parser.add_argument("--provider", action="append", help="a provider (repeatable); default: local:static")
    parser.add_argument("--only", action="append", choices=SETS, help="a set (repeatable); default: all")
    args = parser.parse_args()
    sys.stdout.write(f"{'':40}" + "".join(f"{mode:>12}" for mode in MODES) + "     hybrid over keyword\n")
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        for name in args.only or SETS:
            for provider in args.provider or ["local:static"]:
                started = time.perf_counter()
                scores = measure(name, provider, args)
                _report(f"{name} {provider}", scores, time.perf_counter() - started)


def measure(name: str, provider: str, args: argparse.Namespace) -> Scores:
    os.environ["FINDSPOT_EMBEDDING_PROVIDER"] = provider
    scores: Scores = {mode: defaultdict(list) for mode in MODES}
    engine = Engine()
    for (_, _, root), cases in by_checkout(load(args.sets, name)).items():
        project = engine.project(materialise(cases[0], args.sets, args.mirrors, args.cache) / root)
        project.update(force=project.store.exists)
        if reading := project.second_reading():  # both speeds together, not what is there at once
            reading.read()
        for case in cases:
            for mode in MODES:
                scores[mode][case.group].append(_ndcg(project, case, mode, root))
        project.close()
    engine.close()
    return scores


def _ndcg(project: Project, case: Case, mode: Mode, root: str) -> float:
    corpus = Corpus.DOCS if case.set.startswith("docs_") else Corpus.CODE
    results = project.search(Query(case.query, corpus=corpus, limit=10, mode=mode))
    places = [Place(f"{root}/{hit.path}".lstrip("/"), hit.span.start, hit.span.end) for hit in results.hits]
    return float(score(places, case.targets, {})["ndcg10"])


def _report(label: str, scores: Scores, seconds: float) -> None:
    means = [_mean([_mean(group) for group in scores[mode].values()]) for mode in MODES]
    change, low, high = paired_bootstrap(_units(scores[Mode.KEYWORD]), _units(scores[Mode.HYBRID]))
    sys.stdout.write(f"{label:40}" + "".join(f"{value:12.3f}" for value in means))
    sys.stdout.write(f"     {change:+.3f} ({low:+.3f} … {high:+.3f})  [{seconds:.0f} s]\n")
    sys.stdout.flush()


def _units(groups: dict[str, list[float]]) -> dict[str, list[float]]:
    """What is drawn again and again: groups, or the questions of a set that has one group only."""
    if len(groups) > 1:
        return groups
    return {str(place): [value] for group in groups.values() for place, value in enumerate(group)}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
