"""How well tools are found, in every mode, through the library with its defaults.

python -m benchmarks.tools --sets FOLDER [--only SET] [--off-topic] [--mode MODE] [--final]

`tools_real` asks the tools of ten real servers everyday requests; they and the catalogue are in `queries/`.
Its final half is for measuring what is settled (asked twice so far): choose nothing by it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.metrics import TOP, ndcg
from findspot import Engine
from findspot.catalogue.catalogue import BuildOptions, Catalogue
from findspot.catalogue.tool_record import SearchMode, ToolResults, ToolSearchOptions

CATALOGUES = {
    "tools_livemcp_step": "tools_livemcp",
    "tools_livemcp_task": "tools_livemcp",
    "tools_mcpproxy": "tools_mcpproxy",
    "tools_metatool": "tools_metatool",
    "tools_bfcl": "tools_bfcl",
    "tools_sealtools": "tools_sealtools",
    "tools_real": "tools_real",
}
"""Query set → the catalogue that is searched."""

OWN = Path(__file__).parent / "queries"
OWN_SET = "tools_real"

MODES = (SearchMode.BM25, SearchMode.EMBEDDING, SearchMode.HYBRID)
FIGURES = ("ndcg10", "mrr", "recall5", "recall10", "hit1", "hit5")
OTHER_SETS = ("code_cosqa", "code_semble", "code_anthropic", "docs_anthropic", "code_swebench_lite")
"""Their queries are about code and documents: none of the catalogues was made for them."""

OFF_TOPIC_PER_SET = 100


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def score(found: Sequence[str], gold: Sequence[Sequence[str]]) -> dict[str, float]:
    """The figures of one query; each wanted tool may be any of several interchangeable ones."""
    first = [next((rank for rank, id_ in enumerate(found[:TOP], 1) if id_ in ids), None) for ids in gold]
    ranks = [rank for rank in first if rank is not None]
    return {
        "ndcg10": ndcg(ranks, len(gold)),
        "mrr": 1 / min(ranks) if ranks else 0.0,
        "recall5": sum(rank <= 5 for rank in ranks) / len(gold),
        "recall10": len(ranks) / len(gold),
        "hit1": float(1 in ranks),
        "hit5": float(any(rank <= 5 for rank in ranks)),
    }


def make(sets: Path, name: str, folder: Path, engine: Engine) -> tuple[Catalogue, dict[str, str]]:
    """An indexed catalogue, and the id of each of its tools in the set."""
    tools = lines((OWN if name == OWN_SET else sets / "catalogues") / f"{name}_catalogue.jsonl")
    source = folder / "tools.json"
    folder.mkdir(parents=True)
    source.write_text(json.dumps([{**tool, "serverName": tool["server"]} for tool in tools]), "utf-8")
    catalogue = engine.catalogue(folder)
    catalogue.indexer.index([source], BuildOptions(), provider="local:static")
    prefixes = ((tool["server"] + "__" if tool["server"] else "", tool) for tool in tools)
    return catalogue, {prefix + " ".join(tool["name"].split()): tool["id"] for prefix, tool in prefixes}


def answers(catalogue: Catalogue, queries: Iterable[str], mode: SearchMode) -> list[ToolResults]:
    options = ToolSearchOptions(mode=mode, top_k=TOP)
    return [catalogue.search(query, options) for query in queries]


def mean(found: Sequence[ToolResults], items: Sequence[dict[str, Any]], ids: dict[str, str]) -> list[float]:
    """The figures of a whole set, in their order."""
    pairs = zip(found, items, strict=True)
    rows = [score([ids[tool.name] for tool in given.tools], item["gold_tools"]) for given, item in pairs]
    return [sum(row[figure] for row in rows) / len(rows) for figure in FIGURES]


def off_topic(sets: Path) -> list[str]:
    """Queries of other sets, the same ones every time."""
    chosen = random.Random(0)
    queries: list[str] = []
    for name in OTHER_SETS:
        own = [item["query"] for item in lines(sets / "queries" / f"{name}.jsonl")]
        queries += chosen.sample(own, min(OFF_TOPIC_PER_SET, len(own)))
    return queries


def requests(args: argparse.Namespace, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The requests of a set, and those that no tool fits."""
    if name != OWN_SET:
        return lines(args.sets / "queries" / f"{name}.jsonl"), off_topic(args.sets) if args.off_topic else []
    half = "final" if args.final else "development"
    items = [item for item in lines(OWN / f"{name}.jsonl") if item["half"] == half]
    others = [item["query"] for item in items if not item["gold_tools"]]
    return [item for item in items if item["gold_tools"]], others


def run(args: argparse.Namespace, engine: Engine, folder: Path) -> None:
    out = sys.stdout.write
    made: dict[str, tuple[Catalogue, dict[str, str]]] = {}
    means: dict[str, list[float]] = {}
    for name in args.only or CATALOGUES:
        kind = CATALOGUES[name]
        if kind not in made:
            made[kind] = make(args.sets, kind, folder / kind, engine)
        catalogue, ids = made[kind]
        items, others = requests(args, name)
        out(f"\n{name} ({len(items)} queries, {len(ids)} tools)\n")
        out(f"{'':12}" + "".join(f"{figure:>10}" for figure in FIGURES) + f"{'no fit':>10}")
        out(f"{'off-topic no fit':>18}\n" if others else "\n")
        for mode in args.mode or MODES:
            found = answers(catalogue, [item["query"] for item in items], mode)
            figures = mean(found, items, ids)
            if name != OWN_SET:
                means.setdefault(mode, []).append(figures[0])
            empty = sum(not given.fits for given in found) / len(found)
            out(f"{mode:12}" + "".join(f"{figure:10.3f}" for figure in figures) + f"{empty:10.4f}")
            if others:
                away = sum(not given.fits for given in answers(catalogue, others, mode)) / len(others)
                out(f"{away:18.3f}")
            out("\n")
    out("\nmean NDCG@10: " + ", ".join(f"{m} {sum(v) / len(v):.3f}" for m, v in means.items()) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True, help="folder with queries/ and catalogues/")
    parser.add_argument("--only", action="append", choices=list(CATALOGUES), help="a set; default: all")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="a mode; default: all")
    parser.add_argument("--final", action="store_true", help="the final half of tools_real")
    parser.add_argument("--off-topic", action="store_true", help="also ask what no tool is for")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINDSPOT_HOME"] = str(Path(folder, "home"))
        os.environ["HOME"] = folder
        engine = Engine()
        run(args, engine, Path(folder))
        engine.close()


if __name__ == "__main__":
    main()
