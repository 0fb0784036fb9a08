"""Answer quality through the public API with the shipped defaults.

python -m benchmarks.quality --sets FOLDER --mirrors FOLDER [--mode root|whole] [--only SET]
                             [--save NAME] [--against NAME] [--published]

`--published` publishes each index in a folder, and asks a reader of that.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.metrics import TOKEN_BUDGETS, Place, mean, paired_bootstrap, score
from benchmarks.sets import RESULTS, Case, by_checkout, load, materialise, options, save
from findspot import Engine, Query
from findspot.core.model import Corpus
from findspot.core.utc_time import utc_now
from findspot.project import Project
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.serve.search_answers import fitted_values, full_values

SETS = (
    "code_semble",
    "code_swebench_lite",
    "code_swebench_verified",
    "code_cosqa",
    "code_anthropic",
    "docs_anthropic",
)
SHOWN = ("ndcg10", "ndcg10_file", "mrr", "hit1", "hit5", "hit10", "recall10", "recall@500t", "recall@1000t")


def run_set(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a query: what it is, and its figures."""
    rows = []
    engine = Engine()
    for (_, _, root), cases in by_checkout(load(args.sets, name)).items():
        checkout = materialise(cases[0], args.sets, args.mirrors, args.cache)
        folder = checkout / root if args.mode == "root" else checkout
        project = engine.project(folder)
        project.update()
        if args.published:
            project = published(project, args.cache)
        for case in cases:
            hits, within = _answer(project, case, root if args.mode == "root" else "")
            about = {"group": case.group, "language": case.language, "category": case.category}
            rows.append({**about, "query": case.query[:200], **score(hits, case.targets, within)})
    engine.close()
    return rows


def published(project: Project, cache: Path) -> Project:
    """Publish an index in a folder, and return a reader of it that has no files."""
    folder = Path(tempfile.mkdtemp(dir=cache))
    status = project.status(check_disk=False)
    meta = project.store.meta()
    version = Version(
        "0" * 40, "main", utc_now(), status.total_files, status.total_chunks, meta["model"], meta["pipeline"]
    )
    Publisher(PublishedIndex(str(folder))).add(version, project.store)
    return Project(tempfile.mkdtemp(), {"store": str(folder)})


def _answer(project: Project, case: Case, prefix: str) -> tuple[list[Place], dict[int, list[Place]]]:
    """The ranked passages, and those that are left when the answer must fit a number of tokens."""
    corpus = Corpus.DOCS if case.set.startswith("docs_") else Corpus.CODE
    results = project.search(Query(case.query, corpus=corpus, limit=10))

    def places(answer: dict[str, Any]) -> list[Place]:
        return [
            Place(f"{prefix}/{hit['path']}".lstrip("/"), hit["startLine"], hit["endLine"])
            for hit in answer["results"]
        ]

    whole = places(full_values(results, results.hits, corpus))
    return whole, {limit: places(fitted_values(results, corpus, limit)) for limit in TOKEN_BUDGETS}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Overall (as published: the mean over repositories) and by category, language, repository."""
    found: dict[str, Any] = {"queries": len(rows)}
    groups = _split(rows, "group")
    found["overall"] = mean([mean(members) for members in groups.values()])
    for key in ("category", "language", "group"):
        found[key] = {name: mean(members) for name, members in sorted(_split(rows, key).items())}
    return found


def _split(rows: list[dict[str, Any]], key: str) -> dict[str, list[dict[str, Any]]]:
    split = defaultdict(list)
    for row in rows:
        split[row[key]].append(row)
    return split


def report(name: str, found: dict[str, Any], detail: bool) -> None:
    out = sys.stdout.write
    out(f"\n{name} ({found['queries']} queries)\n{'':34}" + "".join(f"{n:>13}" for n in SHOWN) + "\n")
    lines = [("overall", found["overall"])]
    if detail:
        lines += [(f"  {k}", v) for key in ("category", "group") for k, v in found[key].items() if k]
    for label, figures in lines:
        out(f"{label:34}" + "".join(f"{figures[n]:13.3f}" for n in SHOWN) + "\n")


def compare(name: str, rows: list[dict[str, Any]], earlier: list[float], groups: list[str]) -> None:
    before: dict[str, list[float]] = defaultdict(list)
    after: dict[str, list[float]] = defaultdict(list)
    for row, old, group in zip(rows, earlier, groups, strict=True):
        before[group].append(old)
        after[group].append(row["ndcg10"])
    change, low, high = paired_bootstrap(before, after)
    sys.stdout.write(
        f"{name}: NDCG@10 {change:+.4f} against the earlier run (95 %: {low:+.4f} … {high:+.4f})\n"
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--mode", choices=("root", "whole"), default="root")
    parser.add_argument("--only", action="append", choices=SETS, help="a set (repeatable); default: all")
    parser.add_argument("--published", action="store_true", help="ask a reader of published tables")
    parser.add_argument("--against", metavar="NAME", help="compare with results/NAME.json")
    parser.add_argument("--detail", action="store_true", help="also by category and repository")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        kept: dict[str, Any] = {"mode": args.mode, "sets": {}}
        earlier = json.loads((RESULTS / f"{args.against}.json").read_text()) if args.against else None
        for name in args.only or SETS:
            rows = run_set(name, args)
            found = summary(rows)
            report(name, found, args.detail)
            scores = [round(row["ndcg10"], 4) for row in rows]
            kept["sets"][name] = found | {"ndcg10": scores, "groups": [row["group"] for row in rows]}
            if earlier and name in earlier["sets"]:
                compare(name, rows, earlier["sets"][name]["ndcg10"], earlier["sets"][name]["groups"])
    if args.save:
        save(kept, args.save)


if __name__ == "__main__":
    main()
