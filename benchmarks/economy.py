"""What answers cost: the tokens of a default call, and how soon the wanted lines appear in it.

python -m benchmarks.economy --sets FOLDER --mirrors FOLDER [--only SET] [--save NAME] [--json FILE]

Every question goes through `findspot serve` on a pipe, with no argument but the query. The three views of an
answer, and what counts as naming and as showing lines, are described in `benchmarks.mcp_answers`. A wanted
file without lines is found by any passage of it.

- tokens: of the whole answer
- links: of these, the links to resources, which end every view
- named: tokens until a wanted file and, where the set has them, its lines have been named
- shown: tokens until lines of a wanted passage have been shown
- recall: the share of wanted passages shown (or named) within the first 500, 1,000 and 2,000 tokens *as sent*
- file: the share of questions whose answer names a wanted file at all
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.mcp_answers import VIEWS, Project, View, serving
from benchmarks.sets import NEVER, Case, by_checkout, load, options, rounded, save
from findspot.search.token_budget import CHARS_PER_TOKEN

SETS = ("code_semble", "code_anthropic", "docs_anthropic")
BUDGETS = (500, 1_000, 2_000)

Row = dict[str, Any]


def run_set(name: str, args: argparse.Namespace) -> Iterator[Row]:
    """Yield one row per question and view."""
    for cases in by_checkout(load(args.sets, name)).values():
        with serving(cases[0], args.sets, args.mirrors, args.cache) as project:
            for case in cases:
                yield from measure(project, case)


def search_tool(case: Case) -> str:
    """Return the tool that answers the questions of a set."""
    return "search_docs" if case.set.startswith("docs_") else "search_code"


def prefix_of(case: Case) -> str:
    """Return what comes before the paths of an answer in the paths of a set."""
    return f"{case.root}/" if case.root else ""


def measure(project: Project, case: Case) -> Iterator[Row]:
    """Ask one question and yield the figures of each view."""
    result, seconds = project.ask(search_tool(case), query=case.query)
    about = {"group": case.group, "category": case.category, "query": case.query, "ms": seconds * 1000}
    for name, view in project.views(result).items():
        yield {**about, "view": name, "links": view.links, **figures(view, case)}


def figures(view: View, case: Case) -> Row:
    """Return where the wanted passages appear in a view, in tokens."""
    prefix = prefix_of(case)
    files = {target.path for target in case.targets}
    shown = [_first(passage.seen_at(target, prefix) for passage in view.passages) for target in case.targets]
    named = [_first(passage.names_at(target, prefix) for passage in view.passages) for target in case.targets]
    row: Row = {
        "tokens": view.tokens,
        "named": min(named),
        "shown": min(shown),
        "file": float(any(prefix + passage.path in files for passage in view.passages)),
    }
    for budget in BUDGETS:
        row[f"shown@{budget}"] = sum(at <= budget for at in shown) / len(shown)
        row[f"named@{budget}"] = sum(at <= budget for at in named) / len(named)
    row["shown_at_all"] = sum(at < NEVER for at in shown) / len(shown)
    return row


def _first(ends: Iterable[int | None]) -> float:
    return min((math.ceil(end / CHARS_PER_TOKEN) for end in ends if end is not None), default=NEVER)


def quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return medians, 90th percentiles and means over all questions of a view."""
    found: dict[str, Any] = {"questions": len(rows)}
    for name in ("tokens", "named", "shown", "ms"):
        for label, share in (("p50", 0.5), ("p90", 0.9)):
            value = quantile((row[name] for row in rows), share)
            found[f"{name}_{label}"] = None if value == NEVER else value
    found["links_p50"] = quantile((row["links"] for row in rows), 0.5)
    recalls = [f"{kind}@{budget}" for kind in ("shown", "named") for budget in BUDGETS]
    for name in (*recalls, "shown_at_all", "file"):
        found[name] = sum(row[name] for row in rows) / len(rows)
    return found


def report(name: str, views: dict[str, dict[str, Any]]) -> None:
    """Print one line per view."""
    out = sys.stdout.write
    questions = next(iter(views.values()))["questions"]
    out(f"\n{name} ({questions} questions){'':4}median/p90: tokens, named, shown; call in ms\n")
    heads = ("tokens", "links", "named", "shown", *(f"shown@{b}" for b in BUDGETS))
    heads = (*heads, *(f"named@{b}" for b in BUDGETS), "file", "ms")
    out(f"{'':12}" + "".join(f"{head:>12}" for head in heads) + "\n")
    for view, found in views.items():
        pairs = [
            _pair(found, "tokens"),
            _number(found["links_p50"]),
            *(_pair(found, n) for n in ("named", "shown")),
        ]
        shares = [f"{found[f'{kind}@{b}']:.3f}" for kind in ("shown", "named") for b in BUDGETS]
        cells = [*pairs, *shares, f"{found['file']:.3f}", _pair(found, "ms")]
        out(f"{view:12}" + "".join(f"{cell:>12}" for cell in cells) + "\n")


def _pair(found: dict[str, Any], name: str) -> str:
    return f"{_number(found[f'{name}_p50'])}/{_number(found[f'{name}_p90'])}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=SETS, help="a set (repeatable); default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one row per question and view")
    args = parser.parse_args()
    every: dict[str, list[Row]] = {}
    summaries: dict[str, Any] = {}
    for name in args.only or SETS:
        every[name] = list(run_set(name, args))
        by_view: dict[str, list[Row]] = defaultdict(list)
        for row in every[name]:
            by_view[row["view"]].append(row)
        summaries[name] = {view: summary(by_view[view]) for view in VIEWS}
        report(name, summaries[name])
    if args.json:
        args.json.write_text(json.dumps(rounded(every), indent=1) + "\n")
    if args.save:
        save({"sets": summaries}, args.save)


if __name__ == "__main__":
    main()
