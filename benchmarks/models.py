"""The same questions with each embedding model: by meaning alone, mixed, and by words alone.

python -m benchmarks.models --sets FOLDER [--mirrors FOLDER] [--provider NAME …] [--only SET …]

An index is made once for a set and then changed from model to model, which embeds its stored
chunks anew and cuts nothing. `bare` is the likeness of vectors by itself, without any ranking rule. The
last column tells how far the mixed answer is from the one without any model, with the interval that 95 % of
paired bootstrap samples lie in.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks.metrics import TOP, Place, paired_bootstrap, score
from benchmarks.quality import SETS
from benchmarks.sets import Case, by_checkout, load, materialise
from findspot import Engine, Query
from findspot.core.model import Corpus, Mode
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import EmbedMode
from findspot.project import Project
from findspot.search.query_filters import allowed_files

HERE = Path(__file__).parent
BARE = "bare"
MODES = (Mode.SEMANTIC, Mode.HYBRID, Mode.KEYWORD)
COLUMNS = (BARE, *MODES)

Scores = dict[str, dict[str, list[float]]]
"""NDCG@10 of each question, by mode and group."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True, help="folder with queries/ and corpora/")
    parser.add_argument("--mirrors", type=Path, help="folder of git mirrors; without it, clones are made")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="where checkouts are kept")
    parser.add_argument("--provider", action="append", help="a provider (repeatable); default: local:static")
    parser.add_argument("--only", action="append", choices=SETS, help="a set (repeatable); default: all")
    args = parser.parse_args()
    sys.stdout.write(f"{'':40}" + "".join(f"{mode:>12}" for mode in COLUMNS) + "     hybrid over keyword\n")
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        for name in args.only or SETS:
            for provider in args.provider or ["local:static"]:
                started = time.perf_counter()
                scores = measure(name, provider, args)
                _report(f"{name} {provider}", scores, time.perf_counter() - started)


def measure(name: str, provider: str, args: argparse.Namespace) -> Scores:
    os.environ["FINDSPOT_EMBEDDING_PROVIDER"] = provider
    scores: Scores = {mode: defaultdict(list) for mode in COLUMNS}
    engine = Engine()
    for (_, _, root), cases in by_checkout(load(args.sets, name)).items():
        project = engine.project(materialise(cases[0], args.sets, args.mirrors, args.cache) / root)
        project.update(force=project.store.exists)
        bare = _bare(project)
        for case in cases:
            scores[BARE][case.group].append(_ndcg(bare(case), case, root))
            for mode in MODES:
                scores[mode][case.group].append(_ndcg(_asked(project, case, mode), case, root))
        project.close()
    engine.close()
    return scores


def _asked(project: Project, case: Case, mode: Mode) -> list[Place]:
    results = project.search(Query(case.query, corpus=_corpus(case), limit=TOP, mode=mode))
    return [Place(hit.path, hit.span.start, hit.span.end) for hit in results.hits]


def _bare(project: Project) -> Callable[[Case], list[Place]]:
    """Nearest chunks by their vectors alone."""
    model = project.index.open_embedder(project.settings)

    def nearest(case: Case) -> list[Place]:
        query = Query(case.query, corpus=_corpus(case), mode=Mode.SEMANTIC)
        vector = quantise(model.embed([case.query], EmbedMode.QUERY)).values[0]
        with project.store.snapshot() as snapshot:
            numbers, _ = snapshot.vectors.nearest(vector, allowed_files(snapshot, query).mask, TOP)
            chunks = snapshot.chunks.by_number(numbers.tolist())
        found = [chunks[number] for number in numbers.tolist()]
        return [Place(chunk.path, chunk.start_line, chunk.end_line) for chunk in found]

    return nearest


def _corpus(case: Case) -> Corpus:
    return Corpus.DOCS if case.set.startswith("docs_") else Corpus.CODE


def _ndcg(hits: list[Place], case: Case, root: str) -> float:
    places = [hit._replace(path=f"{root}/{hit.path}".lstrip("/")) for hit in hits]
    return float(score(places, case.targets, {})["ndcg10"])


def _report(label: str, scores: Scores, seconds: float) -> None:
    means = [_mean([_mean(group) for group in scores[mode].values()]) for mode in COLUMNS]
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
